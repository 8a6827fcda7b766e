// sluice/visit/gate/against.cpp - git work tree, two builds, pairs.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/gate/against.h"

#include "sluice/core/folder_guard.h"
#include "sluice/core/text.h"
#include "sluice/visit/gate/repository.h"
#include "sluice/visit/gate/work_tree.h"

#include <fmt/format.h>

#include <unistd.h>

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

}  // namespace

Result<AbResult> run_against(const AgainstPlan& plan, const AbContext& context) {
  SLUICE_TRY(const Place place, find_place(plan, context.cancel_fd));
  const std::string short_sha = place.sha.substr(0, 12);
  const std::string base = fmt::format("revision {}", short_sha);
  const FolderGuard scratch(fs::temp_directory_path() / fmt::format("sluice-against-{}", getpid()));
  WorkTree other(place.root, scratch.path() / "tree");
  SLUICE_CHECK(other.make(place.sha, context.cancel_fd));
  const TreeBuild build{plan.build, plan.build_timeout_s};
  SLUICE_CHECK(build_tree(build, base, other.tree(), *context.progress, context.cancel_fd));
  SLUICE_CHECK(build_tree(build, "this tree", place.root, *context.progress, context.cancel_fd));
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
