// sluice/core/user_folders.h - variables of the environment, and where they say that what can be
// made again is kept between runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <filesystem>
#include <string>

namespace sluice {

/// Empty where it is not set. Only cli's start-up changes the environment, before any thread
/// exists.
std::string environment_variable(const char* name);

/// SLUICE_CACHE_DIR, $XDG_CACHE_HOME/sluice, $HOME/.cache/sluice, the same in the home that the
/// user database names (an empty environment); it need not be there yet. Errc::usage where there is
/// none of them.
Result<std::filesystem::path> user_cache_folder();

}  // namespace sluice
