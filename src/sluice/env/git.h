// sluice/env/git.h - commit and cleanliness of a repository, asked of the git program within a time
// limit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/env/environment.h"

#include <chrono>
#include <filesystem>
#include <string>

namespace sluice::env {

struct GitOptions {
  std::string program = "git";  // looked up in PATH
  std::filesystem::path folder = ".";
  std::chrono::milliseconds time_limit{400};  // for all questions together
};

/// Sha "unknown" and the reason in `dirty` when there is no git, no repository, no commit or no
/// answer in time.
Git read_git(const GitOptions& options);

/// The branch that is checked out; unknown with a reason where there is none (a detached head, no
/// repository, no git).
Known<std::string> read_branch(const GitOptions& options);

}  // namespace sluice::env
