// sluice/core/process/child.h - runs a helper program to its end: time limit, log, line by line.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct ChildOptions {
  std::vector<std::string> command;  // the first is a path
  /// Added to our environment; without a value: taken out of it.
  std::map<std::string, std::optional<std::string>> environment{};
  std::filesystem::path folder{};    // to start in; empty: ours
  std::filesystem::path log_file{};  // stdout and stderr, appended; empty: not kept
  bool stdout_apart = false;         // keep what it prints apart from what it complains of
  double timeout_s = 60;
  double grace_s = 0;  // how long what it started may outlive it; it counts as running so long
  int cancel_fd = -1;  // readable: end it
  std::function<void()> on_tick{};                       // about once a second
  std::function<void(std::string_view line)> on_line{};  // of stdout and stderr, in order
};

struct ChildResult {
  int status = 0;       // exit code; 128 + number when a signal ended it
  std::string output;   // the last 64 KiB of stdout and stderr; with stdout_apart of stderr alone
  std::string printed;  // with stdout_apart: the last 64 KiB of stdout
  std::int64_t wall_ns = 0;              // monotonic, from before the fork until its end was seen
  double user_s = 0, system_s = 0;       // CPU time, as ProcessEnd
  std::int64_t peak_rss_bytes = 0;       // of the largest process of it that was waited for
  std::vector<std::string> survivors{};  // what it left running, by name; killed
};

/// The child has its own process group, which is killed when the limit passes (Errc::timeout), when
/// `cancel_fd` becomes readable (Errc::interrupted) and when it ends, whatever it started, in the
/// group or out of it. It dies with us.
Result<ChildResult> run_child(const ChildOptions& options);

}  // namespace sluice
