// sluice/visit/gate/repository.cpp - one process a question, outside of hooks.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/gate/repository.h"

#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/peers/timed_command.h"

#include <fmt/format.h>

#include <utility>

namespace sluice::visit {
namespace fs = std::filesystem;
namespace {

constexpr double kGitTimeoutS = 120;

}  // namespace

std::map<std::string, std::optional<std::string>> outside_hooks() {
  std::map<std::string, std::optional<std::string>> variables;
  for (const char* name : {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"})
    variables[name] = std::nullopt;
  return variables;
}

Result<std::string> git(const std::string& arguments, const fs::path& folder, int cancel_fd) {
  peers::TimedCommand command{.name = "git", .command = "git " + arguments};
  command.folder = folder;
  command.environment = outside_hooks();
  command.environment["GIT_TERMINAL_PROMPT"] = "0";
  command.environment["LC_ALL"] = "C";
  command.timeout_s = kGitTimeoutS;
  command.cancel_fd = cancel_fd;
  SLUICE_TRY(peers::CommandRun done, peers::run_timed(command));
  while (!done.printed.empty() && done.printed.back() == '\n')
    done.printed.pop_back();
  return std::move(done.printed);
}

Result<fs::path> repository_root(const std::string& flag, int cancel_fd) {
  const auto root = git("rev-parse --show-toplevel", {}, cancel_fd);
  if (!root && root.error().code == Errc::usage)
    return Error{Errc::usage, flag + ": git cannot be started; it reads the revision"};
  if (!root && root.error().code == Errc::measurement)
    return Error{Errc::usage,
                 flag + ": the current folder is in no git work tree; expected a repository"};
  if (!root) return root.error();
  return fs::path(*root);
}

Result<std::string> commit_of(const std::string& revision, const std::string& flag, int cancel_fd) {
  auto sha = git(
      "rev-parse --verify --quiet --end-of-options " + peers::shell_quoted(revision + "^{commit}"),
      {}, cancel_fd);
  if (!sha && sha.error().code == Errc::measurement)
    return Error{Errc::usage, fmt::format("{} {}: unknown revision; expected a commit, branch or "
                                          "tag of this repository",
                                          flag, printable(revision))};
  return sha;
}

Result<FolderAtRevision> folder_at(const std::string& revision, const fs::path& dir,
                                   const fs::path& to, const std::string& flag, int cancel_fd) {
  if (dir.is_absolute())
    return Error{Errc::usage, fmt::format("{} {}: {} is no folder of the repository; expected a "
                                          "relative path",
                                          flag, printable(revision), shown(dir))};
  SLUICE_CHECK(repository_root(flag, cancel_fd));
  SLUICE_TRY(const std::string sha, commit_of(revision, flag, cancel_fd));
  const std::string quoted = peers::shell_quoted((dir / "").string());
  SLUICE_TRY(const std::string there,
             git(fmt::format("ls-tree --name-only {} -- {}", sha, quoted), {}, cancel_fd));
  FolderAtRevision found{to / dir, {}};
  if (!there.empty()) {
    SLUICE_CHECK(create_folders(to));
    SLUICE_CHECK(git(fmt::format("archive --format=tar {} -- {} | tar -x -C {}", sha, quoted,
                                 peers::shell_quoted(to.string())),
                     {}, cancel_fd));
  }
  SLUICE_TRY(const std::string changed,
             git(fmt::format("diff --name-only {} -- {}", sha, quoted), {}, cancel_fd));
  if (!changed.empty()) found.changed = split(changed, '\n');
  return found;
}

}  // namespace sluice::visit
