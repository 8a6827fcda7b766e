// sluice/gate/bisect/simulation.h - searches over scripted noise: how often the right commit is
// named, and what it takes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/bisect/search.h"
#include "sluice/gate/pairs/paired_simulation.h"

#include <cstdint>
#include <vector>

namespace sluice::gate {

struct BisectSimulationOptions {
  NoiseModel noise;
  BisectOptions search;
  std::size_t commits = 64;
  std::vector<double> slowdowns = {0.03, 0.05, 0.10};  // drops in speed, each by one commit
  double broken_share = 0;                             // of commits that do not build
  int trials = 500;                                    // per slowdown, and without one
  std::uint64_t seed = 0;
};

/// Trials of one slowdown; 0: nothing is slower.
struct SimulatedBisect {
  double slowdown = 0;
  Share right;           // one commit named, the right one
  Share wrong;           // one named that is not it, or a range without it, or one where none is
  Share in_range;        // a range named that holds it
  Share no_verdict;      // BAD was not shown to be slower
  Share interval_holds;  // the true change, of searches that printed one with a commit or a range
  double probes = 0;     // revisions measured, on average, BAD included
  int most_probes = 0;
  double pairs = 0;  // on average
};

/// Without a slowdown first, then each; the guilty commit is drawn anew for every trial.
Result<std::vector<SimulatedBisect>> simulate_bisect(const BisectSimulationOptions& options);

Json to_json(const SimulatedBisect& one);

}  // namespace sluice::gate
