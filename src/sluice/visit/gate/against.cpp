// sluice/visit/gate/against.cpp - git work tree, two builds, pairs.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/gate/against.h"

#include "sluice/core/file.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/text.h"
#include "sluice/peers/timed_command.h"
#include "sluice/visit/gate/repository.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <unistd.h>
#include <utility>

namespace sluice::visit {
namespace fs = std::filesystem;
namespace {

struct Place {
  fs::path root;       // of the repository
  std::string prefix;  // of the current folder below it
  std::string sha;     // of the revision
};

Result<Place> find_place(const AgainstPlan& plan, int cancel_fd) {
  Place place;
  SLUICE_TRY(place.root, repository_root("--against", cancel_fd));
  SLUICE_TRY(place.sha, commit_of(plan.revision, "--against", cancel_fd));
  SLUICE_TRY(place.prefix, git("rev-parse --show-prefix", {}, cancel_fd));
  SLUICE_TRY(const std::string changes,
             git("-c core.fsmonitor=false status --porcelain --untracked-files=no", {}, cancel_fd));
  if (!changes.empty() && !plan.allow_dirty)
    return Error{Errc::usage,
                 fmt::format("--against {}: {} has uncommitted changes ({}); commit or stash them, "
                             "or add --allow-dirty",
                             printable(plan.revision), printable(place.root.string()),
                             printable(changes.substr(0, changes.find('\n'))))};
  return place;
}

/// A work tree that goes with its guard; the repository forgets it.
class WorkTree {
 public:
  WorkTree(fs::path root, fs::path path) : root_(std::move(root)), folder_(std::move(path)) {}
  ~WorkTree() {
    if (!made_) return;
    const auto removed =
        git("worktree remove --force --force " + peers::shell_quoted(tree().string()), root_, -1);
    if (removed) return;
    std::error_code ignored;
    fs::remove_all(tree(), ignored);
    const auto pruned = git("worktree prune", root_, -1);
    (void)pruned;  // the next prune of git does it
  }
  WorkTree(const WorkTree&) = delete;
  WorkTree& operator=(const WorkTree&) = delete;

  Status make(const std::string& sha, int cancel_fd) {
    SLUICE_CHECK(create_folders(folder_.path()));
    made_ = true;  // an interrupted checkout is removed, too
    const auto added = git(fmt::format("worktree add --quiet --force --detach {} {}",
                                       peers::shell_quoted(tree().string()), sha),
                           root_, cancel_fd);
    if (!added) return added.error();
    return ok;
  }
  [[nodiscard]] fs::path tree() const { return folder_.path() / "tree"; }

 private:
  fs::path root_;
  FolderGuard folder_;
  bool made_ = false;
};

Status build(const AgainstPlan& plan, const std::string& what, const fs::path& folder,
             const AbContext& context) {
  if (plan.build.find_first_not_of(" \t\n") == std::string::npos) return ok;
  const auto bar = context.progress->bar("building " + what, 0);
  peers::TimedCommand command{.name = "build of " + what, .command = plan.build};
  command.folder = folder;
  command.environment = outside_hooks();
  command.timeout_s = plan.build_timeout_s;
  command.cancel_fd = context.cancel_fd;
  const auto done = peers::run_timed(command);
  if (done) return ok;
  const Error& error = done.error();
  if (error.code != Errc::measurement && error.code != Errc::usage) return error;
  return Error{Errc::invalid_input, error.message + "; it does not build"};
}

}  // namespace

Result<AbResult> run_against(const AgainstPlan& plan, const AbContext& context) {
  SLUICE_TRY(const Place place, find_place(plan, context.cancel_fd));
  const std::string short_sha = place.sha.substr(0, 12);
  const std::string base = fmt::format("revision {}", short_sha);
  WorkTree other(place.root,
                 fs::temp_directory_path() / fmt::format("sluice-against-{}", getpid()));
  SLUICE_CHECK(other.make(place.sha, context.cancel_fd));
  SLUICE_CHECK(build(plan, base, other.tree(), context));
  SLUICE_CHECK(build(plan, "this tree", place.root, context));
  AbPlan ab = plan.ab;
  ab.a = {.name = base, .command = plan.command, .folder = other.tree() / place.prefix};
  ab.b = {.name = "this tree", .command = plan.command, .folder = place.root / place.prefix};
  ab.a.environment = outside_hooks();
  ab.b.environment = outside_hooks();
  SLUICE_TRY(AbResult result, run_ab(ab, context));
  result.report.base_name = fmt::format("{} ({}): {}", short_sha, plan.revision, plan.command);
  result.report.candidate_name = "this tree: " + plan.command;
  result.document["base"] = result.report.base_name;
  result.document["candidate"] = result.report.candidate_name;
  result.document["against"] = {
      {"revision", plan.revision}, {"sha", place.sha}, {"build", plan.build}};
  return result;
}

}  // namespace sluice::visit
