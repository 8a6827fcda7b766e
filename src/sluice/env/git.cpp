// sluice/env/git.cpp - runs git without a shell; the child dies with its time limit.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/git.h"

#include "sluice/core/result.h"
#include "sluice/env/system_root.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

namespace sluice::env {
namespace {

using Time = std::chrono::steady_clock::time_point;

struct Output {
  int exit_code = -1;
  std::string text;  // the beginning of stdout
};

int milliseconds_until(Time deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

// The current environment, with git told to ask nothing, write nothing and speak English.
std::vector<std::string> child_environment() {
  std::vector<std::string> variables = {"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
                                        "LC_ALL=C"};
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string variable = *entry;
    if (!variable.starts_with("LC_ALL=")) variables.push_back(variable);
  }
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts)
    result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

Result<pid_t> spawn(std::vector<std::string> argv, const std::filesystem::path& folder, int out) {
  std::vector<std::string> variables = child_environment();
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0].c_str(), &actions, &attributes,
                                 pointers(argv).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return pid;
  return Error{Errc::not_found,
               "git could not be started: " + std::generic_category().message(error)};
}

// Reads until the other side closes or the deadline passes; keeps the first 4 KiB.
std::string drain(int fd, Time deadline) {
  constexpr std::size_t kKeep = 4096;
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    pollfd entry{fd, POLLIN, 0};
    const int ready = ::poll(&entry, 1, milliseconds_until(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return text;
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    const auto room = kKeep - text.size();
    text.append(buffer.data(), std::min(room, static_cast<std::size_t>(n)));
  }
}

// Exit code, or nothing when the deadline passed and the process group had to be killed.
std::optional<int> wait_for(pid_t pid, Time deadline) {
  int state = 0;
  for (;;) {
    const pid_t done = ::waitpid(pid, &state, WNOHANG);
    if (done == pid) return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    if (done < 0 && errno != EINTR) return -1;
    if (std::chrono::steady_clock::now() >= deadline) break;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  ::kill(-pid, SIGKILL);
  while (::waitpid(pid, &state, 0) < 0 && errno == EINTR) {
  }
  return std::nullopt;
}

Result<Output> run(std::vector<std::string> argv, const GitOptions& options, Time deadline) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error{Errc::io, "no pipe for git: " + std::generic_category().message(errno)};
  }
  const auto pid = spawn(std::move(argv), options.folder, ends[1]);
  ::close(ends[1]);
  if (!pid) {
    ::close(ends[0]);
    return pid.error();
  }
  Output output;
  output.text = drain(ends[0], deadline);
  ::close(ends[0]);
  const auto code = wait_for(*pid, deadline);
  if (!code) {
    return Error{Errc::timeout,
                 fmt::format("git gave no answer within {} ms", options.time_limit.count())};
  }
  output.exit_code = *code;
  return output;
}

bool is_sha(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

Git read_git(const GitOptions& options) {
  const Time deadline = std::chrono::steady_clock::now() + options.time_limit;
  Git git;
  const auto head = run({options.program, "rev-parse", "--verify", "HEAD"}, options, deadline);
  if (!head) {
    git.dirty = Known<bool>::unknown(head.error().message);
    return git;
  }
  const std::string sha(trim(head->text));
  if (head->exit_code != 0 || !is_sha(sha)) {
    git.dirty = Known<bool>::unknown("the current directory is in no git repository with a commit");
    return git;
  }
  git.sha = sha;
  // fsmonitor off: a repository's own settings must not start programs here.
  const auto status = run({options.program, "-c", "core.fsmonitor=false", "status", "--porcelain",
                           "--untracked-files=no"},
                          options, deadline);
  if (!status) {
    git.dirty = Known<bool>::unknown(status.error().message);
  } else if (status->exit_code != 0) {
    git.dirty = Known<bool>::unknown(fmt::format("git status ended with {}", status->exit_code));
  } else {
    git.dirty = !trim(status->text).empty();
  }
  return git;
}

Known<std::string> read_branch(const GitOptions& options) {
  const Time deadline = std::chrono::steady_clock::now() + options.time_limit;
  const auto head =
      run({options.program, "symbolic-ref", "--quiet", "--short", "HEAD"}, options, deadline);
  if (!head) return Known<std::string>::unknown(head.error().message);
  const std::string branch(trim(head->text));
  if (head->exit_code == 0 && !branch.empty()) return branch;
  return Known<std::string>::unknown(head->exit_code == 1
                                         ? "no branch is checked out"
                                         : "the current directory is in no git repository");
}

}  // namespace sluice::env
