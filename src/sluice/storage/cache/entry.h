// sluice/storage/cache/entry.h - one file of the cache: the bytes of a block, then what proves
// them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/storage/object_store.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sluice::storage {

/// Names one block of one version of one object: SHA-256 over all that tells it from others.
struct EntryId {
  std::array<std::uint8_t, 32> digest{};

  static constexpr std::size_t kNameDigits = 40;
  /// Hexadecimal digits: one, a slash, kNameDigits more. Sixteen folders: few enough to be listed
  /// at every eviction from a small cache, enough that writers rarely wait for each other's.
  [[nodiscard]] std::string path() const;
};
EntryId entry_id(std::string_view store, const Object& object, std::uint64_t block_bytes,
                 std::uint64_t block);

/// At the end of the file, so that the bytes before it are aligned: magic, payload size, checksum
/// of the payload, digest of the id, checksum of the trailer. Little endian.
inline constexpr std::size_t kTrailerBytes = 64;
using Trailer = std::array<std::byte, kTrailerBytes>;
Trailer make_trailer(const EntryId& id, std::uint64_t payload_bytes, std::uint64_t checksum);

/// What a file of so many bytes of payload costs on disk.
constexpr std::uint64_t disk_bytes(std::uint64_t payload_bytes) {
  return (payload_bytes + kTrailerBytes + 4095) / 4096 * 4096;
}

/// Reads exactly out.size() bytes; false when the file ends before or cannot be read.
bool read_at(int fd, std::uint64_t offset, std::span<std::byte> out);

/// The payload into `out`, which has the size it must have; false when anything about the file is
/// not as it was written.
bool read_verified(int fd, const EntryId& id, std::span<std::byte> out);
/// The same without keeping the payload.
bool verify(int fd, const EntryId& id, std::uint64_t payload_bytes);

}  // namespace sluice::storage
