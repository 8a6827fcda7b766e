// sluice/storage/local/mapped_sum.h - a checksum of part of a file, taken where the page cache
// lies.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/storage/object_store.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

namespace sluice::storage {

/// As ObjectStore::sum(), in maps that pass: one that is kept counts as memory of the process, page
/// by page. Nothing, and then `parts` are undefined: the file is shorter, it cannot be mapped, its
/// disk failed, nothing guards against that (guarded_copy.h), or `cancelled`. Who reads it is told.
[[nodiscard]] std::optional<std::uint32_t> mapped_sum(int fd, std::uint64_t offset,
                                                      std::uint64_t size,
                                                      std::span<const ObjectStore::Excerpt> parts,
                                                      const std::atomic<bool>& cancelled);

}  // namespace sluice::storage
