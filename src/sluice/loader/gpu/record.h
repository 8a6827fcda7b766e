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

/// So many bytes of a sample are pixels, or hold a JPEG.
constexpr std::size_t record_room(int side) {
  return 3 * static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
}

/// An image with a few rows more than pixels need, in which the record lies: a loader knows places
/// of one size, and nothing else of it.
inline OutputSpec record_output(int side) {
  const std::size_t row = 3 * static_cast<std::size_t>(side);
  const auto rows = static_cast<int>((sizeof(SampleRecord) + row - 1) / row);
  return {side + rows, side, 3, BatchType::u8, Layout::hwc};
}

inline void write_record(std::span<std::byte> place, int side, const SampleRecord& record) {
  std::memcpy(place.data() + record_room(side), &record, sizeof record);
}
inline SampleRecord read_record(std::span<const std::byte> place, int side) {
  SampleRecord record;
  std::memcpy(&record, place.data() + record_room(side), sizeof record);
  return record;
}

}  // namespace sluice::loader::gpu
