// sluice/publish/history.h - is a commit in the history of the repository that a snapshot goes to?
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <filesystem>
#include <string>

namespace sluice::publish {

/// The work tree of Sluice that holds `path`, which need not exist yet; empty in any other
/// repository and outside of one: there nobody can ask for a commit of Sluice.
std::filesystem::path sluice_tree_of(const std::filesystem::path& path);

/// An Error of one line that says why not, after "its program was built at COMMIT, "; asked of git.
Status check_in_history(const std::string& commit, const std::filesystem::path& tree);

}  // namespace sluice::publish
