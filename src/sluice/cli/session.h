// sluice/cli/session.h - one visit to this machine: environment, data, rows, result file, report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"
#include "sluice/cli/sampling_flags.h"
#include "sluice/measure/policy.h"
#include "sluice/measure/runner.h"
#include "sluice/results/result_file.h"
#include "sluice/scenario/scenario.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::cli {

/// A worker program of someone else, measured beside ours: --peer
/// opencv=build/release/opencv_worker.
struct Peer {
  std::string name;
  std::vector<std::string> command;
  std::map<std::string, std::string> environment{};  // added to ours
  std::string thread_policy{};                       // sent with `configure`; empty: none
  Json spec{};                                       // sent with `prepare`; null: none
  std::string only_case{};                           // empty: every row but the canary
};

/// What a part of a visit that follows its wave works with.
struct LaterPart {
  results::ResultFile& file;  // with the rows of the wave; the part adds its own
  const std::filesystem::path& data_dir;
  const std::filesystem::path& folder;  // of the run
  measure::RunnerContext runner;        // without on_block
  std::function<Status()> write;        // the file as it is now
};

/// What the user asked for.
struct SessionPlan {
  std::string name;  // "quick": of the run folder and the result file
  std::vector<scenario::Kind> kinds;
  std::vector<std::string> scenarios;       // names; empty: all of these kinds
  std::vector<Peer> peers;                  // measured beside ours
  std::filesystem::path data_dir;           // empty: generated
  int images = 64;                          // when generated
  std::optional<std::uint64_t> order_seed;  // empty: another order and layout each time
  bool resume = false;
  measure::Policy policy;
  /// "CASE in LIBRARY" of the rows that `afterwards` adds: part of what a resumed run must share.
  std::vector<std::string> later_rows;
  /// Called after the last block, unless interrupted; may add rows and to what the file says beside
  /// them. Of a resumed run its rows are there already. Errc::interrupted: what is in the file
  /// stays.
  std::function<Status(const LaterPart& part)> afterwards;
};

struct SessionResult {
  results::ResultFile file;
  std::filesystem::path folder;
  bool interrupted = false;
};

/// The flags that every measuring command shares.
struct SessionFlags : SamplingFlags {
  std::filesystem::path data_dir;
  int images = 64;
  int runs = 5;
  int samples = 2;
  std::string cpus;
  std::vector<std::string> peers;
};
void add_session_flags(CLI::App& command, SessionFlags& flags);
/// Checks the flags against each other and this machine.
Result<SessionPlan> make_plan(const SessionFlags& flags, const Globals& globals,
                              const std::string& name);

/// Measures and writes results/<name>.json after every block, env.json, resolved_config.yaml and,
/// at the end, the reports. An interruption is not an Error: what was measured is in the folder.
Result<SessionResult> run_session(Context& context, const SessionPlan& plan);

/// Prints the table (or the result file, with --json) and says where the report is. `brief`: rows
/// beside other libraries stand in their comparison only, and a diagnosis in the report.
Result<ExitCode> show_session(const Context& context, const SessionResult& session,
                              bool brief = false);

}  // namespace sluice::cli
