// sluice/gate/pairs/paired_noise.h - scripted noise of a machine: sessions, drift, runs,
// iterations, stalls.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/rng.h"

#include <vector>

namespace sluice::gate {

/// Of log speeds. A session is one visit to a machine; a run a fresh process; an iteration one step
/// of a run.
struct NoiseModel {
  double session_sd = 0.015;
  double drift_sd = 0.02;  // change from the first to the last run of 16 in a session
  double run_sd = 0.008;
  double iteration_sd = 0.02;  // AR(1) with this coefficient
  double iteration_phi = 0.7;
  double stall_share = 0.01;  // iterations that lose up to `stall_most` of their speed
  double stall_most = 0.15;
  int iterations = 50;
};

/// One visit: every run of it shares the offset and the drift.
class NoisySession {
 public:
  NoisySession(const NoiseModel& noise, Rng& rng);

  /// Log speeds of the iterations of the next run, at `log_change` from the usual speed.
  const std::vector<double>& run(double log_change);
  /// Items over elapsed time of the next run, as a logarithm: stalls count.
  double run_speed(double log_change);
  /// Log ratio of a pair in random order, whose B is at `log_change` from A.
  double pair(double log_change);

 private:
  const NoiseModel& noise_;
  Rng& rng_;
  double offset_;
  double drift_;  // per run
  int runs_ = 0;
  std::vector<double> iterations_;
};

}  // namespace sluice::gate
