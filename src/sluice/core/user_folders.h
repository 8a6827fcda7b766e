// sluice/core/user_folders.h - where what can be made again is kept between runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <filesystem>

namespace sluice {

/// SLUICE_CACHE_DIR, $XDG_CACHE_HOME/sluice, ~/.cache/sluice; it need not be there yet. Errc::usage
/// where none of the variables is set.
Result<std::filesystem::path> user_cache_folder();

}  // namespace sluice
