// sluice/visit/session.h - one visit to this machine: environment, data, rows, result file, report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/scenario/scenario.h"
#include "sluice/visit/visit.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::visit {

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

/// Measures and writes results/<name>.json after every block, env.json, resolved_config.yaml and,
/// at the end, the reports. An interruption is not an Error: what was measured is in the folder.
Result<Visited> run_session(const Caller& caller, const SessionPlan& plan);

}  // namespace sluice::visit
