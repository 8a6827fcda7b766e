// sluice/cli/completion.h - shell completion made from the command tree, so that it cannot go
// stale.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"

#include <string>
#include <vector>

namespace sluice::cli {

/// A script that teaches bash the commands, flags and known values of `root`. Hidden ones (an empty
/// group) are left out.
std::string bash_completion(const CLI::App& root);
/// The same for zsh, with descriptions; works from a folder of $fpath and through `source`.
std::string zsh_completion(const CLI::App& root);

/// Subcommands of `app` that are shown in its help, in that order.
std::vector<const CLI::App*> visible_commands(const CLI::App& app);

}  // namespace sluice::cli
