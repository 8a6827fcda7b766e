// sluice/storage/cache/cache.h - a size-bounded folder on a near disk before a store that is far
// away.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/storage/object_store.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace sluice::storage {

struct CacheOptions {
  std::filesystem::path folder;  // made when it is not there; refused when it holds other things
  std::uint64_t max_bytes = std::uint64_t{64} << 30U;  // files in flight are counted too
  /// Objects up to this size are kept whole, larger ones in blocks of it. Part of the identity of
  /// what is kept: another value finds nothing of what was kept before. A multiple of 4096.
  std::uint64_t block_bytes = std::uint64_t{8} << 20U;
  /// Tells stores apart; empty: the name of the store.
  std::string store_id{};
  /// An access is written down at most so often per entry: how exact "least recently used" is.
  std::chrono::milliseconds touch_interval{1000};
  /// After a full disk or a lock that could not be had: how long reads pass by the folder.
  std::chrono::milliseconds retry_after{2000};
  /// How long open_cached() waits for the folder's lock before it goes on without sweeping.
  std::chrono::milliseconds open_wait{3000};
};

/// The store `inner` seen through the folder. What lies there is named after store, key, version,
/// size and block, so a changed object is another entry; objects without a version are never kept.
/// Several processes may use one folder at the same time. Entries are written to a temporary file
/// and renamed, without fsync: a kill at any point leaves whole entries only, and what a power cut
/// tears fails its checksum when it is first read by a process, is removed and fetched again.
/// A fill that fails (disk full, folder gone) costs nothing but the entry: the bytes come from
/// `inner`, one warning is logged, the failure is counted.
///
/// counters(): hits, misses (blocks asked for and not there), shared (misses that waited for the
/// same fetch of another thread), hit_bytes, miss_bytes, fills, fill_failures, corrupt, evictions,
/// evicted_bytes, bypassed (never kept: no version, or larger than max_bytes), bytes (now in the
/// folder), inner (those of the inner store).
///
/// Errors: usage (options), invalid_input (a folder of another version, or one that holds other
/// things), io (it cannot be made or written).
Result<std::shared_ptr<ObjectStore>> open_cached(std::shared_ptr<ObjectStore> inner,
                                                 const CacheOptions& options);

}  // namespace sluice::storage
