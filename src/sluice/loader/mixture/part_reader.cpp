// sluice/loader/mixture/part_reader.cpp - parts of one record, in as few reads as pay.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/mixture/part_reader.h"

#include <algorithm>
#include <numeric>

namespace sluice::loader::mixture {
namespace {

/// A call of the system costs about as much as copying so many bytes.
constexpr std::uint64_t kCallBytes = std::uint64_t{16} << 10U;

std::uint64_t end_of(const PartReader::Part& part) {
  return std::uint64_t{part.offset} + part.size;
}

}  // namespace

std::uint64_t PartReader::worth_reading(const storage::ObjectStore& store) {
  return std::max<std::uint64_t>(kCallBytes, store.request_bytes());
}

Status PartReader::read(storage::ObjectStore& store, const storage::Object& object,
                        std::uint64_t base, std::span<const Part> parts) {
  order_.resize(parts.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::sort(order_.begin(), order_.end(),
            [&](std::size_t a, std::size_t b) { return parts[a].offset < parts[b].offset; });
  views_.assign(parts.size(), {});
  const std::uint64_t gap = worth_reading(store);
  std::size_t reads = 0;
  for (std::size_t first = 0; first < order_.size();) {
    const std::uint64_t begin = parts[order_[first]].offset;
    std::uint64_t end = end_of(parts[order_[first]]);
    std::size_t last = first + 1;
    for (; last < order_.size() && parts[order_[last]].offset <= end + gap; ++last)
      end = std::max(end, end_of(parts[order_[last]]));
    if (buffers_.size() <= reads) buffers_.emplace_back();
    SLUICE_TRY(
        const auto bytes,
        store.read(object, base + begin, static_cast<std::size_t>(end - begin), buffers_[reads]));
    ++reads;
    for (; first < last; ++first) {
      const Part& part = parts[order_[first]];
      views_[order_[first]] =
          bytes.subspan(static_cast<std::size_t>(part.offset - begin), part.size);
    }
  }
  return ok;
}

Result<std::uint32_t> PartReader::check(storage::RecordReader& reader,
                                        const storage::RecordPlace& place,
                                        std::span<const Part> parts) {
  std::size_t size = 0;
  for (const Part& part : parts)
    size += part.size;
  if (buffers_.empty()) buffers_.emplace_back();
  std::span<std::byte> left = buffers_.front().take(size);
  views_.clear();
  excerpts_.clear();
  for (const Part& part : parts) {
    const std::span<std::byte> to = left.first(part.size);
    left = left.subspan(part.size);
    views_.emplace_back(to);
    excerpts_.push_back({place.offset + storage::kRecordHeaderBytes + part.offset, to});
  }
  return reader.check(place, excerpts_);
}

}  // namespace sluice::loader::mixture
