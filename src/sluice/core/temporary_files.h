// sluice/core/temporary_files.h - what write_file_atomic() writes under before it renames, and what
// killed processes leave of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace sluice {

/// Removes temporary files whose writer is gone; never those of a living one, which holds a lock on
/// them. The first write of a process into a folder does this.
void remove_stale_temporaries(const std::filesystem::path& folder);

/// Names such a file, wherever it lies.
bool is_temporary_name(std::string_view file_name);

}  // namespace sluice
