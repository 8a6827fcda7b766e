// sluice/gate/pairs/paired_noise.cpp - draws the speeds of runs and pairs.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/pairs/paired_noise.h"

#include <cmath>

namespace sluice::gate {
namespace {

constexpr int kRunsOfDrift = 16;

}  // namespace

NoisySession::NoisySession(const NoiseModel& noise, Rng& rng)
    : noise_(noise),
      rng_(rng),
      offset_(noise.session_sd * rng.normal()),
      drift_(noise.drift_sd * rng.normal() / (kRunsOfDrift - 1)) {}

const std::vector<double>& NoisySession::run(double log_change) {
  const double level = offset_ + drift_ * runs_ + noise_.run_sd * rng_.normal() + log_change;
  ++runs_;
  const double phi = noise_.iteration_phi;
  const double step_sd = noise_.iteration_sd * std::sqrt(1 - phi * phi);
  double wave = noise_.iteration_sd * rng_.normal();
  iterations_.resize(static_cast<std::size_t>(noise_.iterations));
  for (double& iteration : iterations_) {
    iteration = level + wave;
    if (rng_.uniform() < noise_.stall_share)
      iteration += std::log1p(-noise_.stall_most * rng_.uniform());
    wave = phi * wave + step_sd * rng_.normal();
  }
  return iterations_;
}

double NoisySession::run_speed(double log_change) {
  double elapsed = 0;
  for (const double iteration : run(log_change))
    elapsed += std::exp(-iteration);
  return std::log(noise_.iterations / elapsed);
}

double NoisySession::pair(double log_change) {
  const bool b_first = rng_.below(2) == 1;
  const double first = run_speed(b_first ? log_change : 0);
  const double second = run_speed(b_first ? 0 : log_change);
  return b_first ? first - second : second - first;
}

}  // namespace sluice::gate
