// sluice/storage/cache/entry.cpp - names, trailers and proofs of cache files.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/cache/entry.h"

#include "sluice/core/sha256.h"
#include "sluice/storage/format/checksum.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace sluice::storage {
namespace {

constexpr std::string_view kTrailerMagic = "SLUICEB1";

void put_u64(std::byte* at, std::uint64_t value) {
  for (unsigned i = 0; i < 8; ++i)
    at[i] = static_cast<std::byte>(value >> (8 * i));
}

/// Length before content, so that no two lists of fields look the same.
void add_field(Sha256& hash, std::string_view field) {
  std::array<std::byte, 8> length{};
  put_u64(length.data(), field.size());
  hash.update(length);
  hash.update(field);
}
void add_field(Sha256& hash, std::uint64_t value) {
  std::array<std::byte, 8> bytes{};
  put_u64(bytes.data(), value);
  hash.update(bytes);
}

bool proven(int fd, const EntryId& id, std::uint64_t payload_bytes, std::uint64_t checksum) {
  Trailer found{};
  return read_at(fd, payload_bytes, found) && found == make_trailer(id, payload_bytes, checksum);
}

bool has_size(int fd, std::uint64_t payload_bytes) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 &&
         static_cast<std::uint64_t>(info.st_size) == payload_bytes + kTrailerBytes;
}

}  // namespace

std::string EntryId::path() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string path;
  for (std::size_t i = 0; i < 1 + kNameDigits; ++i) {
    path += kDigits[i % 2 == 0 ? digest[i / 2] >> 4U : digest[i / 2] & 15U];
    if (i == 0) path += '/';
  }
  return path;
}

EntryId entry_id(std::string_view store, const Object& object, std::uint64_t block_bytes,
                 std::uint64_t block) {
  Sha256 hash;
  add_field(hash, store);
  add_field(hash, object.key);
  add_field(hash, object.version);
  for (const std::uint64_t value : {object.size, block_bytes, block})
    add_field(hash, value);
  return {hash.digest()};
}

Trailer make_trailer(const EntryId& id, std::uint64_t payload_bytes, std::uint64_t payload_sum) {
  Trailer trailer{};
  std::memcpy(trailer.data(), kTrailerMagic.data(), kTrailerMagic.size());
  put_u64(trailer.data() + 8, payload_bytes);
  put_u64(trailer.data() + 16, payload_sum);
  std::memcpy(trailer.data() + 24, id.digest.data(), id.digest.size());
  put_u64(trailer.data() + 56, checksum(std::span(trailer).first(56)));
  return trailer;
}

bool read_at(int fd, std::uint64_t offset, std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t n = ::pread(fd, out.data(), out.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    offset += static_cast<std::uint64_t>(n);
    out = out.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

bool read_verified(int fd, const EntryId& id, std::span<std::byte> out) {
  return has_size(fd, out.size()) && read_at(fd, 0, out) &&
         proven(fd, id, out.size(), checksum(out));
}

bool verify(int fd, const EntryId& id, std::uint64_t payload_bytes) {
  if (!has_size(fd, payload_bytes)) return false;
  std::vector<std::byte> piece(std::min<std::uint64_t>(payload_bytes, 256U << 10U));
  Checksum sum;
  for (std::uint64_t at = 0; at < payload_bytes;) {
    const auto part =
        std::span(piece).first(std::min<std::uint64_t>(piece.size(), payload_bytes - at));
    if (!read_at(fd, at, part)) return false;
    sum.update(part);
    at += part.size();
  }
  return proven(fd, id, payload_bytes, sum.value());
}

}  // namespace sluice::storage
