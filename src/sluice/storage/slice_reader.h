// sluice/storage/slice_reader.h - small parts of large objects, read a block at a time where that
// is cheaper.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/storage/object_store.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice::storage {

struct SliceOptions {
  /// Of blocks in memory, where the store is read by blocks.
  std::size_t memory_bytes = std::size_t{256} << 20;
  /// Told the store ahead of being read; 0: half of the machine's memory.
  std::size_t ahead_bytes = 0;
};

/// Slices that may be read, once each in an epoch. Two ways, by what the store says of itself:
///  - any size is fine (local): the first touch of a block tells the store of all of it, so that a
///    cold disk reads 4 MiB at once and the slices around come from memory;
///  - requests are dear (remote, O_DIRECT): a block is read whole, kept in memory, and let go when
///    every slice in it was taken.
/// Each pays when neighbours are read while the block is there. Where they are not (a full shuffle
/// of more data than memory), no new blocks are begun while memory_bytes (ahead_bytes) are waiting
/// to be used, and slices are read as they are asked for. A block of which nothing was taken for
/// long makes room for another.
class SliceReader {
 public:
  SliceReader(std::shared_ptr<ObjectStore> store, std::vector<Object> objects,
              const SliceOptions& options = {});
  ~SliceReader();

  /// A slice that will be read. All of them before the first read().
  void expect(std::size_t object, std::uint64_t offset, std::uint64_t size);

  /// As ObjectStore::read of objects()[object]. Thread-safe.
  Result<std::span<const std::byte>> read(std::size_t object, std::uint64_t offset,
                                          std::size_t size, ReadBuffer& buffer);
  [[nodiscard]] const std::vector<Object>& objects() const { return objects_; }
  void cancel();

 private:
  class Blocks;
  /// Which blocks a slice lies in; nothing when it is too large to gain by blocks.
  struct Range {
    std::size_t first, last;  // as counted over all objects; one behind the last
  };
  [[nodiscard]] Range range(std::size_t object, std::uint64_t offset, std::uint64_t size) const;
  Result<std::span<const std::byte>> read_blocks(Range in, std::size_t object, std::uint64_t offset,
                                                 std::size_t size, ReadBuffer& buffer);
  [[nodiscard]] std::uint64_t begin_of(std::size_t object, std::size_t block) const;
  [[nodiscard]] std::size_t size_of(std::size_t object, std::size_t block) const;

  std::shared_ptr<ObjectStore> store_;
  std::vector<Object> objects_;
  std::size_t block_bytes_;
  std::vector<std::size_t> first_;  // block of each object
  std::unique_ptr<Blocks> blocks_;
};

}  // namespace sluice::storage
