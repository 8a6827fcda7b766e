// sluice/visit/gate/repository.h - questions to the git program about the repository around us.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::visit {

/// Variables set inside hooks, where they would point every git command at the wrong tree: unset.
std::map<std::string, std::optional<std::string>> outside_hooks();

/// What `git ARGUMENTS` printed in `folder` (empty: the current one), without the end of the line.
/// ARGUMENTS are a line of a shell. Errc::usage: it cannot be started; Errc::measurement: it said
/// no.
Result<std::string> git(const std::string& arguments, const std::filesystem::path& folder,
                        int cancel_fd);

/// The folder of the repository around us. Errc::usage, in the name of `flag`: no git, no
/// repository.
Result<std::filesystem::path> repository_root(const std::string& flag, int cancel_fd);

/// The commit of a revision of that repository. Errc::usage, in the name of `flag`: there is none.
Result<std::string> commit_of(const std::string& revision, const std::string& flag, int cancel_fd);

/// Copies folder `dir`, as `revision` has it, below `to`; returns its place there, which does not
/// exist where the revision has no such folder. `changed`: files of it that differ here.
struct FolderAtRevision {
  std::filesystem::path path;
  std::vector<std::string> changed;
};
Result<FolderAtRevision> folder_at(const std::string& revision, const std::filesystem::path& dir,
                                   const std::filesystem::path& to, const std::string& flag,
                                   int cancel_fd);

}  // namespace sluice::visit
