// sluice/storage/cache/scan.h - what lies in the folder of a cache, looked at file by file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sluice::storage {

inline constexpr const char* kCacheHeader = "sluice-cache";
inline constexpr const char* kCacheObjects = "objects";
inline constexpr const char* kCacheTemporaries = "tmp";

struct FoundEntry {
  std::int64_t used_ns = 0;     // when it was last read
  std::uint64_t bytes = 0;      // on disk
  std::array<char, 44> path{};  // below objects/, as EntryId::path() gives it
};

/// 0, or errno: every entry below objects/ of the folder `root`; files that are no entries are left
/// out.
int scan_entries(int root, std::vector<FoundEntry>& entries);

/// 0, or errno: removes the files of tmp/ whose writer is gone; `bytes`: on disk of the others.
int sweep_temporaries(int root, std::uint64_t& bytes);

/// A name in the folder that no cache has; empty: there is none, or the folder is a cache.
std::string foreign_name(int root);

}  // namespace sluice::storage
