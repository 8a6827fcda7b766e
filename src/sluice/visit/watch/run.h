// sluice/visit/watch/run.h - one visit of `sluice watch`: a user's program started, marked, and
// made into a run folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/visit/visit.h"

#include <cstdint>
#include <optional>
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
  std::int64_t samples_per_step = 0;  // where the marks do not tell; 0: steps are counted
  std::int64_t tokens_per_step = 0;   // likewise; 0: as samples
  int gpu_index = -1;                 // whose utilisation is watched; -1: none
  bool profile = false;               // leave a trace, and Python stacks where py-spy is there
  std::optional<double> peak_tflops;  // of the device, for MFU where the marks tell FLOP
};

struct WatchResult : Visited {
  bool timed_out = false;
  std::vector<std::string> profile;  // files, as of the folder
  std::string no_stacks;             // why there are no Python stacks; empty: there are
};
/// One line for a program that went wrong, with the error of its kind; ok: it did not.
Status watch_failure(const WatchResult& result, const WatchPlan& plan);

/// Runs the program, writes results/watch.json, env.json, metrics.json and the reports. What went
/// wrong with the program stands in the row; an Error is what kept us from running it. `folder`:
/// one that is open already.
Result<WatchResult> run_watch(const Caller& caller, const WatchPlan& plan,
                              const results::RunFolder* folder = nullptr);

/// The machine as such a visit sees it, before the program has told what it computes with.
backend::VisitOptions watch_visit(const WatchPlan& plan);

}  // namespace sluice::visit
