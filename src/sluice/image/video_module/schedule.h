// sluice/image/video_module/schedule.h - which packets must be decoded to see certain frames.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sluice::video_module {

/// One packet of the stream, in the order of the file.
struct PacketFacts {
  std::int64_t pts = 0;
  bool has_pts = false;
  bool key = false;
  bool discard = false;  // decoded for others, never shown (an edit list)
};

enum class Action : std::uint8_t {
  skip,       // no wanted frame depends on it
  reference,  // decode it unless nothing refers to it: it is not wanted itself
  target,     // decode it: it is wanted
};

struct Schedule {
  std::vector<std::int64_t> wanted_pts;  // per index of the request
  std::vector<Action> actions;           // per packet
  std::vector<bool> restart;             // per packet: packets before it were skipped
};

/// Frames are numbered by presentation time; one past the last is the last. Nothing when the times
/// are missing, repeated, or the stream does not begin with a key frame: then the whole stream has
/// to be decoded in order.
std::optional<Schedule> make_schedule(std::span<const PacketFacts> packets,
                                      std::span<const std::int64_t> indices);

}  // namespace sluice::video_module
