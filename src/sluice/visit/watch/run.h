// sluice/visit/watch/run.h - one visit of `sluice watch`: a user's program started, marked, and
// made into a run folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/marks.h"
#include "sluice/visit/visit.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::visit {

struct WatchPlan {
  std::vector<std::string> command;   // the first is a path
  std::string name = "step";          // the row is watch/<name>
  int runs = 1;                       // fresh processes, one after the other
  std::int64_t warmup = 5;            // first steps of each run, not counted
  std::int64_t steps = 0;             // counted steps, then the program is ended; 0: till it ends
  double limit_s = 0;                 // of each run; 0: none
  std::int64_t samples_per_step = 0;  // 0: not said; steps are counted
  std::int64_t tokens_per_step = 0;   // 0: as samples
  int gpu_index = -1;                 // whose utilisation is watched; -1: none
};

struct WatchResult : Visited {
  bool timed_out = false;
};

/// The counted steps of a process as one run: samples, phases and their sums in `details`. Nothing
/// of the steps before `warmup`, at most `steps` of those after (0: all).
measure::Run watched_run(const measure::Marks& marks, std::int64_t warmup, std::int64_t steps);

/// The process that marked most steps: the first of equals. Precondition: not empty.
std::size_t main_process(const std::vector<measure::Marks>& all);

/// Runs the program, writes results/watch.json, env.json, metrics.json and the reports. What went
/// wrong with the program stands in the row; an Error is what kept us from running it.
Result<WatchResult> run_watch(const Caller& caller, const WatchPlan& plan);

}  // namespace sluice::visit
