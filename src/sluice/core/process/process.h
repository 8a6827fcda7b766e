// sluice/core/process/process.h - another program as a process: started, signalled, waited for,
// gone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/descriptor.h"
#include "sluice/core/result.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace sluice {

/// A descriptor of ours under the number that the program will know it by.
struct Redirect {
  int ours = -1;
  int theirs = -1;
};

struct ProcessOptions {
  std::vector<std::string> command;  // the first is a path, as of `folder`
  /// Added to our environment, or replaced in it; without a value: taken out of it.
  std::map<std::string, std::optional<std::string>> environment{};
  std::filesystem::path folder{};  // to start in; empty: ours
  /// All that it is given; of 0, 1 and 2 those not named here are /dev/null.
  std::vector<Redirect> descriptors{};
  /// The last thing before the program takes over: async-signal-safe calls only. Returns what went
  /// wrong, or null.
  std::function<const char*()> before_exec{};
  double grace_s = 0;  // how long what it started may outlive it before that is killed and named
};

struct ProcessEnd {
  int status = 0;  // as wait() gives it
  std::int64_t peak_rss_bytes = 0;
  double user_s = 0, system_s = 0;  // CPU time, with that of what it started and waited for
  /// When the last of it had ended, itself or within the grace what it started; steady_clock.
  std::int64_t ended_ns = 0;
  /// What it had started and left running, by name; killed.
  std::vector<std::string> survivors{};

  [[nodiscard]] int exit_code() const;     // 128 + number when a signal ended it
  [[nodiscard]] std::string text() const;  // "exited with code 3"
};

/// Leads a process group of its own. The group is killed when its leader ends, with this object,
/// and with the thread that started it; so is what left the group (core/process/survivors.h).
class Process {
 public:
  /// Comes back when the program runs. not_found: there is no such program or folder.
  static Result<Process> start(const ProcessOptions& options);
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { kill(); }

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Readable when it has ended, though a grandchild may hold its pipes open.
  [[nodiscard]] int ended_fd() const { return ended_.get(); }
  /// To the whole group; to nobody once it has ended.
  void signal(int number) const;
  /// True: it has ended, within `limit_s`.
  bool wait(double limit_s);
  void kill();
  /// Known after a wait() that came true, and after kill().
  [[nodiscard]] const std::optional<ProcessEnd>& end() const { return end_; }

 private:
  Process(pid_t pid, std::string lineage, double grace_s);
  bool reap(int flags);

  pid_t pid_;
  std::string lineage_;
  double grace_s_;
  Descriptor ended_;
  std::optional<ProcessEnd> end_;
};

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
  static Result<Pipe> make();  // both ends are closed in every program that we start
};

/// The file that this process runs.
Result<std::filesystem::path> own_program();
/// A file that this user may run.
bool is_program(const std::filesystem::path& path);
/// `word` as a path: itself when it holds a slash, else the first in `search_path` (PATH).
Result<std::string> find_command(const std::string& word, const std::string& search_path);

}  // namespace sluice
