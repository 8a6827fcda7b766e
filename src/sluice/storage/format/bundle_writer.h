// sluice/storage/format/bundle_writer.h - packs many small objects into few large files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/progress.h"
#include "sluice/core/result.h"
#include "sluice/storage/object_store.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sluice::storage {

struct BundleOptions {
  std::filesystem::path out{};  // a folder that is not there yet, or is empty
  std::uint64_t bundle_bytes = std::uint64_t{1} << 30;  // at least 1; a larger sample has its own
  std::function<bool(const Object&)> wanted{};          // empty: every object
  std::function<bool()> stop{};
};

struct BundleReport {
  struct Bundle {
    std::string file;
    std::uint64_t bytes, samples;
  };
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  std::uint64_t left_out = 0;  // objects that were not wanted
  std::vector<Bundle> bundles{};

  /// total_bundles, total_arrays, total_bytes, total_size_mb, avg_bundle_size_mb, bundles[].
  [[nodiscard]] Json json() const;
};

/// Sorted by size, largest first (same size: by key), each goes into the current bundle if it fits
/// and begins the next one if not. All is written into a hidden folder beside `out`, which takes
/// its name at the end: it is there whole or not at all, and nothing is left after an error. What a
/// killed run left is removed by the next; two at a time are refused (io).
Result<BundleReport> write_bundles(ObjectStore& from, const BundleOptions& options,
                                   Progress& progress = Progress::silent());

}  // namespace sluice::storage
