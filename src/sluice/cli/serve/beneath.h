// sluice/cli/serve/beneath.h - opens files of one folder for reading, and none outside it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/descriptor.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace sluice::cli {

struct OpenedFile {
  Descriptor fd;  // not open: there is no such file, or it may not be given out
  std::int64_t bytes = 0;
};

/// `relative` names a regular file by plain components: "..", ".", empty ones and those that begin
/// with a dot are refused, and no link is followed on the way.
OpenedFile open_beneath(const std::filesystem::path& folder, std::string_view relative);

}  // namespace sluice::cli
