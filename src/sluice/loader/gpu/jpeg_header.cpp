// sluice/loader/gpu/jpeg_header.cpp - segments up to the scan, then restarts up to the end.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/gpu/jpeg_header.h"

#include <array>
#include <cstring>

namespace sluice::loader::gpu {
namespace {

constexpr int kLeastSide = 16;  // pixels; one block of subsampled chroma

struct Frame {
  Refusal refusal = Refusal::none;
  int width = 0, height = 0;
  std::size_t components = 0;
  std::array<int, 3> ids{};
  int across = 1, down = 1;  // of luma
};

int word(image::Bytes bytes, std::size_t at) {
  return bytes[at] << 8 | bytes[at + 1];
}

/// Of SOF0: precision, height, width, components of three bytes each.
Frame read_frame(image::Bytes segment) {
  Frame frame;
  const auto refused = [&](Refusal why) {
    frame.refusal = why;
    return frame;
  };
  if (segment.size() < 6) return refused(Refusal::damaged);
  if (segment[0] != 8) return refused(Refusal::coding);
  frame.height = word(segment, 1);
  frame.width = word(segment, 3);
  frame.components = segment[5];
  if (frame.height == 0) return refused(Refusal::coding);  // told after the scan
  if (frame.width == 0) return refused(Refusal::damaged);
  if (frame.components != 1 && frame.components != 3) return refused(Refusal::colours);
  if (segment.size() != 6 + 3 * frame.components) return refused(Refusal::damaged);
  for (std::size_t c = 0; c < frame.components; ++c) {
    frame.ids[c] = segment[6 + 3 * c];
    const int sampling = segment[7 + 3 * c];
    if (c == 0) {
      frame.across = sampling >> 4;
      frame.down = sampling & 15;
    } else if (sampling != 0x11) {
      return refused(Refusal::colours);
    }
  }
  if (frame.across < 1 || frame.across > 2 || frame.down < 1 || frame.down > 2)
    return refused(Refusal::colours);
  if (frame.components == 1) frame.across = frame.down = 1;  // a lone component has blocks of one
  if (frame.width < kLeastSide || frame.height < kLeastSide) return refused(Refusal::small);
  return frame;
}

/// Restarts that a frame with this interval must have.
std::uint64_t restarts_of(const Frame& frame, int interval) {
  if (interval == 0) return 0;
  const auto blocks = [](int size, int sampling) {
    return static_cast<std::uint64_t>((size + 8 * sampling - 1) / (8 * sampling));
  };
  const std::uint64_t units = blocks(frame.width, frame.across) * blocks(frame.height, frame.down);
  return (units - 1) / static_cast<std::uint64_t>(interval);
}

/// A hole that something filled with zeros. Optimised tables may write as many of a flat image,
/// which then is for the CPU: no harm.
bool has_hole(image::Bytes scan) {
  constexpr std::size_t kApart = 32;  // every hole of 40 bytes is seen
  for (std::size_t at = 0; at + 8 <= scan.size(); at += kApart) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, scan.data() + at, sizeof bytes);
    if (bytes == 0) return true;
  }
  return false;
}

/// Entropy-coded bytes from `at`: nothing but stuffed bytes and restarts in their order, then the
/// end of the image.
Refusal walk_scan(image::Bytes bytes, std::size_t at, std::uint64_t restarts) {
  if (has_hole(bytes.subspan(at))) return Refusal::damaged;
  std::uint64_t seen = 0;
  while (at + 1 < bytes.size()) {
    const void* found = std::memchr(bytes.data() + at, 0xff, bytes.size() - 1 - at);
    if (found == nullptr) return Refusal::damaged;
    at = static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - bytes.data());
    const int marker = bytes[at + 1];
    if (marker == 0xff) {  // fill
      ++at;
      continue;
    }
    at += 2;
    if (marker == 0) continue;
    if (marker == 0xd9) return seen == restarts ? Refusal::none : Refusal::damaged;
    if (marker >= 0xd0 && marker <= 0xd7) {
      if (static_cast<std::uint64_t>(marker - 0xd0) != seen % 8) return Refusal::damaged;
      ++seen;
      continue;
    }
    // Another scan, its tables, or the number of lines.
    const bool known = marker == 0xda || marker == 0xc4 || marker == 0xdb || marker == 0xdc;
    return known ? Refusal::coding : Refusal::damaged;
  }
  return Refusal::damaged;
}

}  // namespace

const char* to_string(Refusal refusal) {
  switch (refusal) {
    case Refusal::none:
      return "none";
    case Refusal::format:
      return "format";
    case Refusal::coding:
      return "coding";
    case Refusal::colours:
      return "colours";
    case Refusal::damaged:
      return "damaged";
    case Refusal::small:
      return "small";
  }
  return "?";
}

JpegLook look_at_jpeg(image::Bytes bytes) {
  if (bytes.size() < 4 || bytes[0] != 0xff || bytes[1] != 0xd8) return {};
  Frame frame;
  bool has_frame = false, rgb = false, quantised = false, coded = false;
  int interval = 0;
  std::size_t at = 2;
  while (at + 4 <= bytes.size()) {
    if (bytes[at] != 0xff) return {Refusal::damaged};
    const int marker = bytes[at + 1];
    if (marker == 0xff) {
      ++at;
      continue;
    }
    const auto length = static_cast<std::size_t>(word(bytes, at + 2));
    if (length < 2 || at + 2 + length > bytes.size()) return {Refusal::damaged};
    const image::Bytes segment = bytes.subspan(at + 4, length - 2);
    at += 2 + length;
    if (marker == 0xc0) {
      if (has_frame) return {Refusal::damaged};
      frame = read_frame(segment);
      if (frame.refusal != Refusal::none) return {frame.refusal};
      has_frame = true;
    } else if (marker == 0xc4) {
      coded = true;
    } else if (marker >= 0xc1 && marker <= 0xcf && marker != 0xc8) {
      return {Refusal::coding};
    } else if (marker == 0xdb) {
      quantised = true;
    } else if (marker == 0xdd) {
      if (segment.size() != 2) return {Refusal::damaged};
      interval = word(segment, 0);
    } else if (marker == 0xee && segment.size() >= 12 &&
               std::memcmp(segment.data(), "Adobe", 5) == 0) {
      rgb = segment[11] == 0;
    } else if (marker == 0xda) {
      if (!has_frame || !quantised || !coded) return {Refusal::damaged};
      if (rgb && frame.components == 3) return {Refusal::colours};
      if (frame.components == 3 && frame.ids == std::array<int, 3>{'R', 'G', 'B'})
        return {Refusal::colours};
      if (segment.empty() || segment[0] != frame.components) return {Refusal::coding};
      const Refusal scan = walk_scan(bytes, at, restarts_of(frame, interval));
      if (scan != Refusal::none) return {scan};
      return {Refusal::none, frame.width, frame.height};
    }
  }
  return {Refusal::damaged};
}

}  // namespace sluice::loader::gpu
