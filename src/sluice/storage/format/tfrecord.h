// sluice/storage/format/tfrecord.h - TFRecord files: records with their lengths and checksums, in
// any store.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/storage/object_store.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice::storage {

/// A record is its length (8 bytes, little endian), the masked CRC-32C of these 8, the payload, the
/// masked CRC-32C of the payload (4 bytes).
inline constexpr std::uint64_t kRecordHeaderBytes = 12;
inline constexpr std::uint64_t kRecordFooterBytes = 4;

/// Where a record lies in its file.
struct RecordPlace {
  std::uint64_t offset = 0;  // of its header
  std::uint64_t size = 0;    // of its payload
  [[nodiscard]] std::uint64_t end() const {
    return offset + kRecordHeaderBytes + size + kRecordFooterBytes;
  }
};

struct Record {
  RecordPlace place;
  std::span<const std::byte> payload;  // until the reader is used again
  std::uint32_t checksum = 0;          // of the payload, as it is stored: masked
};

enum class RecordCheck : std::uint8_t {
  all,      // both checksums, each time
  lengths,  // only that of the length: who has checked the payload before
};

/// Front to back, one read per record where any size of read is fine, blocks of the store's choice
/// where small records lie in a bucket.
///
/// invalid_input, naming store, file and offset of the record: a file that ends inside a record, a
/// checksum that does not fit, a payload over kMaxRecordBytes. No length is believed before its
/// checksum fits and the file is long enough for it. After an error the reader stays where it was.
class RecordReader {
 public:
  static constexpr std::uint64_t kMaxRecordBytes = std::uint64_t{2} << 30;

  /// `file.size` must be that of the object; the store must outlive the reader.
  RecordReader(ObjectStore& store, Object file);

  /// The next record; nothing at the end of the file.
  Result<std::optional<Record>> next(RecordCheck check = RecordCheck::all);
  /// Its place alone: the payload is not read.
  Result<std::optional<RecordPlace>> skip();
  /// The record at a place that skip() gave.
  Result<Record> at(const RecordPlace& place, RecordCheck check = RecordCheck::all);
  /// As at() with RecordCheck::all, for who wants `parts` of the payload alone (offsets are in the
  /// file): gone over in one pass, nothing else is kept. The checksum of the payload as stored.
  Result<std::uint32_t> check(const RecordPlace& place,
                              std::span<const ObjectStore::Excerpt> parts);
  /// Another file; what was read stays allocated.
  void open(Object file);

  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] const Object& file() const { return file_; }

 private:
  /// Nothing at the end of the file; else the place of the record at offset_, header checked.
  /// `more`: its payload is wanted next.
  Result<std::optional<RecordPlace>> header(bool more);
  /// `size` bytes from `offset`, from the window if they lie in it; else `size + ahead` are read,
  /// or a block of the store's choice, of `most` bytes, if that is more.
  Result<std::span<const std::byte>> window(std::uint64_t offset, std::size_t size,
                                            std::size_t ahead, std::size_t most);
  /// At a place that skip() gave: is its length still what it was?
  Status same_length(const RecordPlace& place, std::span<const std::byte> header) const;
  Status fits_file(const RecordPlace& place) const;
  [[nodiscard]] Error damaged(std::uint64_t offset, std::string_view what) const;

  ObjectStore* store_;
  Object file_;
  std::uint64_t offset_ = 0;
  ReadBuffer buffer_;
  std::span<const std::byte> window_;  // of the file, from window_offset_
  std::uint64_t window_offset_ = 0;
};

/// Appends a record with both checksums to `out`: what a writer of such files puts after each
/// other.
void append_record(std::string& out, std::string_view payload);

}  // namespace sluice::storage
