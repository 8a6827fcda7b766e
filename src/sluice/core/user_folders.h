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

/// SLUICE_CACHE_DIR, $XDG_CACHE_HOME/sluice, ~/.cache/sluice; it need not be there yet. Errc::usage
/// where none of the variables is set.
Result<std::filesystem::path> user_cache_folder();

}  // namespace sluice
