// sluice/storage/object_store.cpp - a checksum over part of an object, read in pieces.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/object_store.h"

#include "sluice/storage/excerpt.h"
#include "sluice/storage/format/crc32c.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace sluice::storage {
namespace {

/// Of a read that is summed while it lies in the second cache; smaller ones cost more calls.
constexpr std::uint64_t kSumPiece = std::uint64_t{128} << 10U;

}  // namespace

Result<std::uint32_t> ObjectStore::sum(const Object& object, std::uint64_t offset,
                                       std::uint64_t size, std::span<const Excerpt> parts,
                                       ReadBuffer& buffer) {
  assert(excerpts_inside(offset, size, parts));
  const std::uint64_t step = std::max<std::uint64_t>(kSumPiece, request_bytes());
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < size; done += step) {
    const auto wanted = static_cast<std::size_t>(std::min(step, size - done));
    SLUICE_TRY(const auto piece, read(object, offset + done, wanted, buffer));
    crc = crc32c(piece, crc);
    (void)keep_excerpts(piece, offset + done, parts,
                        [](std::byte* to, const std::byte* from, std::size_t count) {
                          std::memcpy(to, from, count);
                          return true;
                        });
  }
  return crc;
}

}  // namespace sluice::storage
