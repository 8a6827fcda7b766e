// sluice/gate/pairs/paired_simulation.h - gates over scripted noise: how often each cries wolf, and
// what it sees.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/gate/pairs/paired_noise.h"
#include "sluice/gate/pairs/paired_rule.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::gate {

struct SimulationOptions {
  NoiseModel noise;
  PairedOptions gate;
  std::vector<double> slowdowns = {0.03, 0.05};  // drops in speed
  int trials = 2000;                             // per design and slowdown, and without one
  std::uint64_t seed = 0;
};

/// How many of the trials ended so.
struct Share {
  int count = 0;
  int trials = 0;
};

struct SimulatedDesign {
  std::string name;
  double runs = 0;  // fresh processes per verdict, on average without a slowdown
  Share false_alarms;
  std::vector<Share> found;  // per slowdown of the options
  bool ours = false;         // the configured gate
};

/// The usual designs beside the configured gate, in the order of the table in docs/selftest.md.
Result<std::vector<SimulatedDesign>> simulate_gates(const SimulationOptions& options);

/// {"count", "trials", "share", "low", "high"}: Wilson's interval at 95 %; null without trials.
Json to_json(const Share& share);

}  // namespace sluice::gate
