// sluice/core/file.h - whole-file reads and atomic writes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A path as an error names it: printable().
std::string shown(const std::filesystem::path& path);

/// The whole file. Errors name the path; a file over `limit_bytes` is refused, a folder is not a
/// file.
Result<std::string> read_text_file(const std::filesystem::path& path,
                                   std::uint64_t limit_bytes = std::uint64_t{1} << 30);
Result<std::vector<std::uint8_t>> read_binary_file(const std::filesystem::path& path,
                                                   std::uint64_t limit_bytes = std::uint64_t{1}
                                                                               << 30);

enum class Flush {
  now,    // on disk when the call returns
  later,  // when the system likes: what a power cut may cost can be made again
};

/// Replaces `path` with `content`: written to a temporary file beside it, flushed, renamed. A
/// reader sees the old file or the new one, never a part; on any error (full disk, read-only
/// folder) the old file stays and no temporary file is left.
Status write_file_atomic(const std::filesystem::path& path, std::string_view content,
                         Flush flush = Flush::now);

/// Makes `path` another name of the file `from`, in place of what it named; both in one folder, and
/// neither ever changed but by write_file_atomic(). False, and nothing is changed: the file system
/// has no such names, or `path` is a symbolic link.
bool link_file_atomic(const std::filesystem::path& from, const std::filesystem::path& path);

/// mkdir -p, with an error that names the path and says why it cannot be a folder.
Status create_folders(const std::filesystem::path& path);

}  // namespace sluice
