// sluice/loader/mixture/part_reader.h - parts of one record, in as few reads as pay.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/loader/episodes/episode.h"
#include "sluice/storage/format/tfrecord.h"
#include "sluice/storage/object_store.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::loader::mixture {

/// Parts that lie close together are read at once, with what is between them. Its memory is kept
/// from record to record.
class PartReader {
 public:
  using Part = episodes::EpisodeLayout::Part;

  /// Bytes between two parts that cost less than a second read.
  static std::uint64_t worth_reading(const storage::ObjectStore& store);

  /// `parts` in any order, from `base` on in the object. An error is the store's.
  Status read(storage::ObjectStore& store, const storage::Object& object, std::uint64_t base,
              std::span<const Part> parts);
  /// Likewise of the record at `place`, which is gone over whole and its checksums compared. The
  /// checksum of its payload as stored; an error is the reader's.
  Result<std::uint32_t> check(storage::RecordReader& reader, const storage::RecordPlace& place,
                              std::span<const Part> parts);
  /// The bytes of parts[i]; until read() or check() is called again.
  [[nodiscard]] std::span<const std::byte> part(std::size_t i) const { return views_[i]; }

 private:
  std::vector<std::size_t> order_;
  std::vector<std::span<const std::byte>> views_;
  std::vector<storage::ReadBuffer> buffers_;
  std::vector<storage::ObjectStore::Excerpt> excerpts_;
};

}  // namespace sluice::loader::mixture
