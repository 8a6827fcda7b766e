// sluice/env/git.cpp - what is asked of git, and how its answers read.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/git.h"

#include "sluice/core/process/child.h"
#include "sluice/core/process/process.h"
#include "sluice/core/user_folders.h"
#include "sluice/env/system_root.h"

#include <fmt/format.h>

#include <vector>

namespace sluice::env {
namespace {

using Time = std::chrono::steady_clock::time_point;

/// Git told to ask nothing, write nothing and speak English.
Result<ChildResult> run(std::vector<std::string> command, const GitOptions& options,
                        Time deadline) {
  auto program = find_command(command[0], environment_variable("PATH"));
  if (!program)
    return Error{Errc::not_found, "git could not be started: " + program.error().message};
  command[0] = std::move(*program);
  ChildOptions child;
  child.command = std::move(command);
  child.environment = {{"GIT_OPTIONAL_LOCKS", "0"}, {"GIT_TERMINAL_PROMPT", "0"}, {"LC_ALL", "C"}};
  child.folder = options.folder;
  child.stdout_apart = true;
  child.timeout_s =
      std::chrono::duration<double>(deadline - std::chrono::steady_clock::now()).count();
  auto done = run_child(child);
  if (!done && done.error().code == Errc::timeout)
    return Error{Errc::timeout,
                 fmt::format("git gave no answer within {} ms", options.time_limit.count())};
  return done;
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
  const std::string sha(trim(head->printed));
  if (head->status != 0 || !is_sha(sha)) {
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
  } else if (status->status != 0) {
    git.dirty = Known<bool>::unknown(fmt::format("git status ended with {}", status->status));
  } else {
    git.dirty = !trim(status->printed).empty();
  }
  return git;
}

Known<std::string> read_branch(const GitOptions& options) {
  const Time deadline = std::chrono::steady_clock::now() + options.time_limit;
  const auto head =
      run({options.program, "symbolic-ref", "--quiet", "--short", "HEAD"}, options, deadline);
  if (!head) return Known<std::string>::unknown(head.error().message);
  const std::string branch(trim(head->printed));
  if (head->status == 0 && !branch.empty()) return branch;
  return Known<std::string>::unknown(head->status == 1
                                         ? "no branch is checked out"
                                         : "the current directory is in no git repository");
}

}  // namespace sluice::env
