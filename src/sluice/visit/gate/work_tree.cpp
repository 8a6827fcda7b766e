// sluice/visit/gate/work_tree.cpp - checks out, builds, and leaves nothing behind.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/gate/work_tree.h"

#include "sluice/core/file.h"
#include "sluice/peers/timed_command.h"
#include "sluice/visit/gate/repository.h"

#include <fmt/format.h>

#include <utility>

namespace sluice::visit {
namespace fs = std::filesystem;

WorkTree::WorkTree(fs::path root, fs::path tree) : root_(std::move(root)), tree_(std::move(tree)) {}

Result<std::string> forget_work_tree(const fs::path& root, const fs::path& tree) {
  return git("worktree remove --force --force " + peers::shell_quoted(tree.string()), root, -1);
}

WorkTree::~WorkTree() {
  if (!made_) return;
  const auto removed = forget_work_tree(root_, tree_);
  std::error_code ignored;
  fs::remove_all(tree_, ignored);
  if (removed) return;
  const auto forgotten = forget_work_tree(root_, tree_);  // one that is gone can be forgotten
  (void)forgotten;                                        // or was never known
}

Status WorkTree::make(const std::string& sha, int cancel_fd) {
  SLUICE_CHECK(create_folders(tree_.parent_path()));
  made_ = true;  // an interrupted checkout is removed, too
  const auto added = git(fmt::format("worktree add --quiet --force --detach {} {}",
                                     peers::shell_quoted(tree_.string()), sha),
                         root_, cancel_fd);
  if (!added) return added.error();
  return ok;
}

Status WorkTree::keep() {
  fs::path aside = tree_;
  aside += ".aside";
  std::error_code failed;
  fs::remove(tree_ / ".git", failed);
  if (!failed) fs::rename(tree_, aside, failed);
  if (failed)
    return Error{Errc::io, fmt::format("{}: cannot be kept: {}", shown(tree_), failed.message())};
  const auto forgotten = forget_work_tree(root_, tree_);
  fs::rename(aside, tree_, failed);
  if (!forgotten) return forgotten.error();
  if (failed)
    return Error{Errc::io, fmt::format("{}: cannot be kept: {}", shown(tree_), failed.message())};
  made_ = false;
  return ok;
}

Status build_tree(const TreeBuild& build, const std::string& what, const fs::path& folder,
                  Progress& progress, int cancel_fd) {
  if (build.command.find_first_not_of(" \t\n") == std::string::npos) return ok;
  const auto bar = progress.bar("building " + what, 0);
  peers::TimedCommand command{.name = "build of " + what, .command = build.command};
  command.folder = folder;
  command.environment = outside_hooks();
  command.timeout_s = build.timeout_s;
  command.cancel_fd = cancel_fd;
  const auto done = peers::run_timed(command);
  if (done) return ok;
  const Error& error = done.error();
  if (error.code != Errc::measurement && error.code != Errc::usage) return error;
  return Error{Errc::invalid_input, error.message + "; it does not build"};
}

}  // namespace sluice::visit
