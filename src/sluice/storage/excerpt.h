// sluice/storage/excerpt.h - what ObjectStore::sum() keeps of the bytes it goes over.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/storage/object_store.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::storage {

/// `copy(to, from, size)` of what of `parts` lies in `piece`, which begins at `offset` of the
/// object; false as soon as that gives false.
template <class Copy>
[[nodiscard]] bool keep_excerpts(std::span<const std::byte> piece, std::uint64_t offset,
                                 std::span<const ObjectStore::Excerpt> parts, Copy copy) {
  const std::uint64_t end = offset + piece.size();
  for (const ObjectStore::Excerpt& part : parts) {
    const std::uint64_t first = std::max(offset, part.offset);
    const std::uint64_t last = std::min(end, part.offset + part.to.size());
    if (first < last &&
        !copy(part.to.data() + (first - part.offset), piece.data() + (first - offset),
              static_cast<std::size_t>(last - first)))
      return false;
  }
  return true;
}

/// All of them lie in the `size` bytes from `offset` on.
[[nodiscard]] inline bool excerpts_inside(std::uint64_t offset, std::uint64_t size,
                                          std::span<const ObjectStore::Excerpt> parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const ObjectStore::Excerpt& part) {
    return part.offset >= offset && part.offset - offset <= size &&
           part.to.size() <= size - (part.offset - offset);
  });
}

}  // namespace sluice::storage
