// sluice/storage/local/store.h - a folder, or one file, of this machine as an ObjectStore.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/storage/object_store.h"

#include <filesystem>
#include <memory>

namespace sluice::storage {

enum class ReadMode : std::uint8_t {
  buffered,  // pread through the page cache
  mmap,      // shards copied out of a map, small files as `buffered`
  direct,    // O_DIRECT: past the page cache, aligned around what is asked for
  // sum() goes over the page cache in a map in the first two, and reads in the third.
};
const char* to_string(ReadMode mode);
Result<ReadMode> parse_read_mode(std::string_view text);

struct LocalOptions {
  std::filesystem::path path{};  // a folder; or a file, which is then the only object
  ReadMode read_mode = ReadMode::buffered;
  int keep_open = 32;  // files of which parts are read stay open, at most so many; at least 1
};

/// What is read whole is opened, read and closed; what is read in parts (a shard) stays open.
///
/// A file with fewer bytes than asked for is Errc::invalid_input. So it is in a map, too: bytes are
/// copied out of it under a guard (guarded_copy.h) and the size of the file is looked at after the
/// copy, so that neither SIGBUS nor the zeros behind the end of a shortened file reach the caller.
///
/// Errc::unsupported for `direct` on a file system without it: nothing is read another way than
/// the mode says. Listing, links and hidden files: local_list.h.
Result<std::unique_ptr<ObjectStore>> open_local(const LocalOptions& options);

}  // namespace sluice::storage
