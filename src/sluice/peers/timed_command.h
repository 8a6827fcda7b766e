// sluice/peers/timed_command.h - any shell command as a subject: run once in a fresh process, with
// its wall and CPU time and what it prints.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::peers {

struct TimedCommand {
  std::string name;     // what errors call it: "A"
  std::string command;  // for /bin/sh -c
  std::filesystem::path folder{};
  std::map<std::string, std::optional<std::string>> environment{};  // as ChildOptions
  double timeout_s = 600;
  int cancel_fd = -1;
};

struct CommandRun {
  double wall_s = 0;
  std::string printed;              // the end of stdout
  double user_s = 0, system_s = 0;  // CPU time, with that of what it waited for
};

/// The command must end with code 0. Otherwise: Errc::usage when the shell cannot find or start it
/// (126, 127), Errc::measurement with its last words when it fails, or with the names of what it
/// left running for more than a second, Errc::timeout when the limit passes, Errc::interrupted on
/// `cancel_fd`; whatever it started is killed in each case.
Result<CommandRun> run_timed(const TimedCommand& command);

/// The last number in the last line that is not empty; a unit behind it ("12.5ms", "93%") is not
/// looked at. Absent: that line holds none.
std::optional<double> last_number(std::string_view printed);

/// That number as seconds, where a unit of time stands behind it ("12.5 ms", "3ms/step").
std::optional<double> last_seconds(std::string_view printed);

/// `text` as one word of a command for /bin/sh.
std::string shell_quoted(std::string_view text);

/// The last line that is not empty, fit to be shown, at most 200 bytes.
std::string last_line(std::string_view text);

}  // namespace sluice::peers
