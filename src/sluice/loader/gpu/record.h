// sluice/loader/gpu/record.h - what a worker leaves in a sample's place of a slot when a GPU goes
// on with it: pixels or a JPEG, and behind them what is to be done.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/gpu/table.h"
#include "sluice/loader/recipe/output.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace sluice::loader::gpu {

struct SampleRecord {
  Lane lane = Lane::pixels;
  std::uint32_t bytes = 0;             // of the JPEG
  std::int32_t width = 0, height = 0;  // of the JPEG
  SampleDraw draw;
};

/// Pixels of a sample.
constexpr std::size_t pixel_bytes(int side) {
  return 3 * static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
}

/// The largest JPEG of a sample: 301,056 bytes at 224. With room for as many bytes as pixels have,
/// a ninth of files of 110 kB on average went to the CPU, which they kept busier than all others
/// together.
constexpr std::size_t jpeg_room(int side) {
  return 2 * pixel_bytes(side);
}

/// An image of more rows than pixels need, the last of which hold the record: a loader knows places
/// of one size, and nothing else of it.
inline OutputSpec record_output(int side) {
  const std::size_t row = 3 * static_cast<std::size_t>(side);
  const auto rows = static_cast<int>((sizeof(SampleRecord) + row - 1) / row);
  return {2 * side + rows, side, 3, BatchType::u8, Layout::hwc};
}

inline void write_record(std::span<std::byte> place, int side, const SampleRecord& record) {
  std::memcpy(place.data() + jpeg_room(side), &record, sizeof record);
}
inline SampleRecord read_record(std::span<const std::byte> place, int side) {
  SampleRecord record;
  std::memcpy(&record, place.data() + jpeg_room(side), sizeof record);
  return record;
}

}  // namespace sluice::loader::gpu
