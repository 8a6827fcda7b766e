// sluice/measure/runner.h - measures a wave of subjects, interleaved, each run in a fresh process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/clock.h"
#include "sluice/core/progress.h"
#include "sluice/core/result.h"
#include "sluice/measure/policy.h"
#include "sluice/measure/record.h"
#include "sluice/measure/worker/worker.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::measure {

/// One row to be: which case, in which worker program.
struct SubjectSpec {
  std::string case_name;
  std::map<std::string, std::string> params;
  std::string library = "sluice";
  std::vector<std::string> command;  // argv of the worker program
  int threads = 1;
  std::filesystem::path data_dir;
  std::string unit = "img/s";
  Better better = Better::higher;
  Json spec{};                                       // sent with `prepare`; null: none
  std::map<std::string, std::string> environment{};  // added to ours
  std::string thread_policy{};                       // sent with `configure`; empty: none
  std::optional<double> cpu_limit{};  // cores busy above which the policy is violated; absent: that
                                      // of Policy for `threads`
  std::int64_t min_items = 0;         // per sample, however short its passes are
  bool single_pass = false;           // a sample is one pass, which none comes before
  CpuList cpus{};                     // empty: those of Policy
};

/// What a row takes over from its spec.
void put_spec(Row& row, const SubjectSpec& spec);
/// The row of a spec that cannot be measured: unsupported, or failed for any other reason.
Row refused_row(const SubjectSpec& spec, const Error& error);

/// What the runner needs from outside.
struct RunnerContext {
  Clock* clock = nullptr;
  Launcher* launcher = nullptr;
  Progress* progress = nullptr;  // may be Progress::silent()
  std::string session_id;
  std::filesystem::path log_dir;      // one log file per library; empty: discarded
  int cancel_fd = -1;                 // readable: the user wants to stop
  std::function<bool()> interrupted;  // asked between steps; empty: never
  /// Whether a wave goes on after a row that could not be measured; empty: always. One that does
  /// not ends as if it were interrupted.
  std::function<bool(const Row&)> goes_on;
  /// Called after every block with all rows of the wave; what it writes is what a crash leaves.
  std::function<Status(const std::vector<Row>&)> on_block;
};

struct WaveResult {
  std::vector<Row> rows;     // one per subject, in order
  bool interrupted = false;  // rows then hold the runs that were finished
};

/// A block: every subject starts afresh, is checked, and takes its samples in turn, in random
/// order, while the others are stopped. Blocks are repeated until the stop rule is satisfied for
/// every row that still can be measured. `so_far` (empty, or one row per subject, itself
/// empty where there is none yet) continues an interrupted wave: its finished blocks are kept, a
/// case that is finished in all its libraries is not measured again, a failed row is, from the
/// start. A subject that fails costs its row only; an Error is one that no row can carry (a bad
/// policy, rows of something else, on_block failed).
Result<WaveResult> run_wave(const std::vector<SubjectSpec>& subjects, const Policy& policy,
                            const RunnerContext& context, std::vector<Row> so_far = {});

}  // namespace sluice::measure
