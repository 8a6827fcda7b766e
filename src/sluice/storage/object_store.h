// sluice/storage/object_store.h - where bytes lie by name: a folder, a bucket, a cache before
// either.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/storage/local/read_buffer.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace sluice::storage {

/// Of an object that list_names() gave: stat() tells it.
constexpr std::uint64_t kSizeUnknown = UINT64_MAX;

struct Object {
  std::string key;  // relative to the root of the store, '/' between parts
  std::uint64_t size = 0;
  std::string version{};  // ETag or generation; empty: the store has none
};

/// Thread-safe. Every wait inside has a time limit. Errors are one line that names the store, the
/// key and the cause, and never a secret: not_found (bucket, key), usage (credentials refused),
/// invalid_input (bytes are not of the version asked for, or fewer than asked for), timeout, io
/// (everything else outside), interrupted (after cancel()).
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  /// For messages and results: "photos", "s3://bucket/prefix".
  [[nodiscard]] virtual std::string name() const = 0;

  /// Every object whose key begins with `prefix`, in the order of key bytes, a few thousand at a
  /// time: memory does not grow with their number. An Error of `page` ends the listing and is
  /// returned.
  using Page = std::function<Status(std::span<const Object> objects)>;
  virtual Status list(std::string_view prefix, const Page& page) = 0;

  /// list(), where sizes may be kSizeUnknown if a store knows names sooner without them.
  virtual Status list_names(std::string_view prefix, const Page& page) {
    return list(prefix, page);
  }

  virtual Result<Object> stat(std::string_view key) = 0;

  /// Exactly `size` bytes of it from `offset` on, of the version that `object` names. They lie in
  /// `buffer`, or in a map that lives as long as the store: valid until `buffer` is used again.
  virtual Result<std::span<const std::byte>> read(const Object& object, std::uint64_t offset,
                                                  std::size_t size, ReadBuffer& buffer) = 0;

  /// The CRC-32C of `size` bytes from `offset` on, of which only `parts` are kept: each is copied
  /// where it lies, and what is copied is what was summed. All in one pass, in pieces that stay in
  /// a cache; for who has no use for the rest. Errors are those of read(); `parts` are then
  /// undefined.
  struct Excerpt {
    std::uint64_t offset = 0;  // in the object, from `offset` on
    std::span<std::byte> to;   // its end is not behind that of what is summed
  };
  virtual Result<std::uint32_t> sum(const Object& object, std::uint64_t offset, std::uint64_t size,
                                    std::span<const Excerpt> parts, ReadBuffer& buffer);

  /// Bytes that are worth asking for at once where a request costs more than its bytes; 0: any size
  /// is fine. Who reads small parts of large objects reads blocks of it (slice_reader.h).
  [[nodiscard]] virtual std::size_t request_bytes() const { return 0; }

  /// A hint that these bytes will soon be read; returns at once and may do nothing.
  virtual void will_read(const Object& /*object*/, std::uint64_t /*offset*/, std::size_t /*size*/) {
  }

  /// Reads in flight, and all later ones, end with Errc::interrupted, within 100 ms.
  virtual void cancel() = 0;

  /// What was done so far, by name: {"reads": 12, "bytes": 4096, ...}. Which names there are is
  /// said in docs/storage.md.
  [[nodiscard]] virtual Json counters() const = 0;
};

}  // namespace sluice::storage
