// sluice/storage/format/tfrecord.cpp - TFRecord files: records with their lengths and checksums.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/format/tfrecord.h"

#include "sluice/core/text.h"
#include "sluice/storage/format/crc32c.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice::storage {
namespace {

template <class T>
T load(std::span<const std::byte> bytes) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | std::to_integer<T>(bytes[i]) << (8 * i));
  return value;
}

template <class T>
void append(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    out.push_back(static_cast<char>(value >> (8 * i) & 0xffU));
}

/// Read at once by who wants headers alone: a request's worth of latency, not of bytes.
constexpr std::size_t kSkipBytes = std::size_t{64} << 10U;

bool fits(std::span<const std::byte> bytes, std::span<const std::byte> stored) {
  return mask_crc32c(crc32c(bytes)) == load<std::uint32_t>(stored);
}

constexpr const char* kBadLength =
    "the checksum of its length does not fit: the file is damaged or no TFRecord";

std::string bad_payload(std::uint64_t size) {
  return fmt::format("the checksum of its {} bytes does not fit: it is damaged", size);
}

}  // namespace

RecordReader::RecordReader(ObjectStore& store, Object file)
    : store_(&store), file_(std::move(file)) {}

void RecordReader::open(Object file) {
  file_ = std::move(file);
  offset_ = 0;
  window_ = {};
}

Error RecordReader::damaged(std::uint64_t offset, std::string_view what) const {
  return {Errc::invalid_input, fmt::format("{}: {}: record at byte {}: {}", store_->name(),
                                           printable(file_.key), offset, what)};
}

Result<std::span<const std::byte>> RecordReader::window(std::uint64_t offset, std::size_t size,
                                                        std::size_t ahead, std::size_t most) {
  const bool inside = offset >= window_offset_ && offset - window_offset_ <= window_.size() &&
                      size <= window_.size() - (offset - window_offset_);
  if (!inside) {
    // Of large records only what is asked for: a block would mostly be read twice.
    const std::size_t block = std::min(store_->request_bytes(), most);
    std::uint64_t wanted = size + ahead;
    if (size < block / 2) wanted = std::max<std::uint64_t>(wanted, block);
    wanted = std::min(wanted, file_.size - offset);
    window_ = {};
    SLUICE_TRY(window_, store_->read(file_, offset, static_cast<std::size_t>(wanted), buffer_));
    window_offset_ = offset;
  }
  return window_.subspan(static_cast<std::size_t>(offset - window_offset_), size);
}

Result<std::optional<RecordPlace>> RecordReader::header(bool more) {
  if (offset_ == file_.size) return std::optional<RecordPlace>();
  const std::uint64_t left = file_.size - offset_;
  if (left < kRecordHeaderBytes)
    return damaged(offset_, fmt::format("the file ends after {} bytes of its header, which has {}",
                                        left, kRecordHeaderBytes));
  // A first look at a file takes some more, so that small records need no second read.
  SLUICE_TRY(const auto bytes, window(offset_, kRecordHeaderBytes, more ? 4096 : 0,
                                      more ? store_->request_bytes() : kSkipBytes));
  if (!fits(bytes.first(8), bytes.subspan(8))) return damaged(offset_, kBadLength);
  const auto size = load<std::uint64_t>(bytes);
  if (size > left - kRecordHeaderBytes || left - kRecordHeaderBytes - size < kRecordFooterBytes)
    return damaged(offset_, fmt::format("it should have {} bytes of payload, but the file ends "
                                        "{} bytes after its header",
                                        size, left - kRecordHeaderBytes));
  if (size > kMaxRecordBytes)
    return damaged(offset_, fmt::format("{} bytes of payload, at most {} are accepted", size,
                                        kMaxRecordBytes));
  return std::optional(RecordPlace{.offset = offset_, .size = size});
}

Result<std::optional<RecordPlace>> RecordReader::skip() {
  SLUICE_TRY(const auto place, header(false));
  if (place) offset_ = place->end();
  return place;
}

Result<std::optional<Record>> RecordReader::next(RecordCheck check) {
  SLUICE_TRY(const auto place, header(true));
  if (!place) return std::optional<Record>();
  SLUICE_TRY(const Record record, at(*place, check));
  offset_ = place->end();
  return std::optional(record);
}

Status RecordReader::fits_file(const RecordPlace& place) const {
  if (place.offset > file_.size || place.size > kMaxRecordBytes || place.end() > file_.size)
    return damaged(place.offset, "the file is shorter than it was");
  return ok;
}

Status RecordReader::same_length(const RecordPlace& place,
                                 std::span<const std::byte> header) const {
  if (!fits(header.first(8), header.subspan(8, 4))) return damaged(place.offset, kBadLength);
  if (const auto size = load<std::uint64_t>(header.first(8)); size != place.size)
    return damaged(place.offset, fmt::format("it has {} bytes of payload where it had {}: the file "
                                             "was written anew",
                                             size, place.size));
  return ok;
}

Result<Record> RecordReader::at(const RecordPlace& place, RecordCheck check) {
  SLUICE_CHECK(fits_file(place));
  const auto size = static_cast<std::size_t>(place.size);
  const std::size_t before = check == RecordCheck::all ? kRecordHeaderBytes : 0;
  // The header of the next record comes with this one.
  SLUICE_TRY(const auto bytes,
             window(place.offset + kRecordHeaderBytes - before, before + size + kRecordFooterBytes,
                    kRecordHeaderBytes, store_->request_bytes()));
  if (check == RecordCheck::all) SLUICE_CHECK(same_length(place, bytes));
  const auto payload = bytes.subspan(before, size);
  const auto stored = bytes.subspan(before + size, kRecordFooterBytes);
  if (check == RecordCheck::all && !fits(payload, stored))
    return damaged(place.offset, bad_payload(size));
  return Record{.place = place, .payload = payload, .checksum = load<std::uint32_t>(stored)};
}

Result<std::uint32_t> RecordReader::check(const RecordPlace& place,
                                          std::span<const ObjectStore::Excerpt> parts) {
  SLUICE_CHECK(fits_file(place));
  const std::uint64_t payload = place.offset + kRecordHeaderBytes;
  window_ = {};  // its memory is used below
  SLUICE_TRY(const auto header, store_->read(file_, place.offset, kRecordHeaderBytes, buffer_));
  SLUICE_CHECK(same_length(place, header));
  SLUICE_TRY(const std::uint32_t sum, store_->sum(file_, payload, place.size, parts, buffer_));
  SLUICE_TRY(const auto footer,
             store_->read(file_, payload + place.size, kRecordFooterBytes, buffer_));
  const auto stored = load<std::uint32_t>(footer);
  if (mask_crc32c(sum) != stored) return damaged(place.offset, bad_payload(place.size));
  return stored;
}

void append_record(std::string& out, std::string_view payload) {
  const std::size_t start = out.size();
  append<std::uint64_t>(out, payload.size());
  const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  append(out, mask_crc32c(crc32c(bytes(std::string_view(out).substr(start, 8)))));
  out.append(payload);
  append(out, mask_crc32c(crc32c(bytes(payload))));
}

}  // namespace sluice::storage
