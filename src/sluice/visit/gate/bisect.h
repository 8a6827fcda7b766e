// sluice/visit/gate/bisect.h - which commit between two made a command slower: builds, pairs, a
// search that can be continued.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/bisect/record.h"
#include "sluice/visit/caller.h"
#include "sluice/visit/gate/ab.h"
#include "sluice/visit/gate/work_tree.h"

#include <filesystem>
#include <string>

namespace sluice::visit {

inline constexpr const char* kBisectFile = "bisect.json";

struct BisectPlan {
  std::string good, bad;  // commits, branches or tags; GOOD is an ancestor of BAD
  TreeBuild build;        // in every tree, at its root
  std::string command;    // as AbSide::command, in the current folder below either root
  AbMetric metric{kWallMetric, true};
  measure::Better stdout_better = measure::Better::lower;
  double timeout_s = 600;  // of one run
  gate::BisectOptions search;
  std::uint64_t seed = 0;   // of the order within pairs
  bool resume = false;      // go on with what the folder holds
  bool begin_anew = false;  // a search there that has not ended may be lost
  std::size_t kept_trees = 16;
};

struct BisectResult {
  gate::BisectRecord record;
  std::filesystem::path file;  // where it is stored
  bool interrupted = false;
};

/// Builds each revision once (`kept_trees.h`), measures it beside GOOD in pairs until `search.h`
/// has its answer, and keeps `bisect.json` in the caller's folder (default
/// `runs/<UTC>-bisect-<profile>`) true after every pair. A revision that does not build or run, or
/// takes too long, is passed over; GOOD and BAD must. Errc::usage: no repository, no such revision,
/// no ancestor, a folder in use or with another search.
Result<BisectResult> run_bisect(const BisectPlan& plan, const Caller& caller);

}  // namespace sluice::visit
