// tests/loader/fake_device.h - the table of libsluice_nvjpeg.so on the CPU: our decoder and
// resizer, no augmentation, u8. For tests of what lies around a device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/image/codec.h"
#include "sluice/image/resize/antialias.h"
#include "sluice/loader/gpu/table.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace sluice::loader::gpu {

struct Line {
  LineOptions options;
  struct Buffer {
    std::vector<image::Image> images;
    std::vector<std::uint8_t> output;
  };
  std::vector<Buffer> buffers;
};

namespace testing {

inline constexpr int kRefusedWidth = 77;             // the decoder does not take such images
inline std::atomic<int> fake_decodes_left{1 << 30};  // then the device is lost
inline std::atomic<int> fake_lines{0};               // open
inline std::atomic<int> fake_pins{0};                // blocks of pinned memory
inline std::atomic<bool> fake_inside{false};         // two threads at a time are seen
inline std::atomic<int> fake_races{0};

struct FakeCall {
  FakeCall() { fake_races += fake_inside.exchange(true) ? 1 : 0; }
  FakeCall(const FakeCall&) = delete;
  FakeCall& operator=(const FakeCall&) = delete;
  ~FakeCall() { fake_inside = false; }
};

inline int fake_decode(Line* line, int number, const Sample* samples, int count,
                       std::uint8_t* refused) {
  const FakeCall call;
  if (fake_decodes_left-- <= 0) return kFailed;
  Line::Buffer& buffer = line->buffers[static_cast<std::size_t>(number)];
  buffer.images.clear();
  buffer.images.resize(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    refused[i] = 0;
    if (samples[i].lane != Lane::encoded) continue;
    image::Image& image = buffer.images[static_cast<std::size_t>(i)];
    const bool decoded =
        samples[i].width != kRefusedWidth &&
        static_cast<bool>(image::decode(image, {samples[i].data, samples[i].bytes}));
    refused[i] = decoded && image.width() == samples[i].width ? 0 : 1;
  }
  return kDone;
}

inline void fake_erase(std::uint8_t* image, int side, const Erased& box) {
  for (int y = box.y; y < box.y + box.height; ++y)
    for (int x = box.x; x < box.x + box.width; ++x)
      for (int c = 0; c < 3; ++c)
        image[3 * (y * side + x) + c] = static_cast<std::uint8_t>(box.levels[c]);
}

inline int fake_process(Line* line, int number, const Sample* samples, int count, Resample, Augment,
                        Output, void*) {
  const FakeCall call;
  Line::Buffer& buffer = line->buffers[static_cast<std::size_t>(number)];
  const int side = line->options.side;
  const std::size_t bytes = 3 * static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
  buffer.output.assign(static_cast<std::size_t>(count) * bytes, 0xA5);
  image::AntialiasResizer resizer;
  for (int i = 0; i < count; ++i) {
    std::uint8_t* to = buffer.output.data() + static_cast<std::size_t>(i) * bytes;
    const SampleDraw& draw = samples[i].draw;
    if (samples[i].lane == Lane::pixels) {
      std::memcpy(to, samples[i].data, bytes);
      fake_erase(to, side, draw.erased);
      continue;
    }
    const auto part = buffer.images[static_cast<std::size_t>(i)].view<std::uint8_t>().crop(
        draw.x, draw.y, draw.width, draw.height);
    const image::ImageSpan<std::uint8_t> span(to, side, side, 3,
                                              3 * static_cast<std::size_t>(side));
    if (!resizer.run(span, part)) return kFailed;
    for (int y = 0; draw.mirrored != 0 && y < side; ++y)
      for (int x = 0; x < side / 2; ++x)
        for (int c = 0; c < 3; ++c)
          std::swap(span.at(x, y, c), span.at(side - 1 - x, y, c));
    fake_erase(to, side, draw.erased);
  }
  return kDone;
}

inline const Table& fake_table() {
  static const Table table = [] {
    Table made;
    made.open = [](const LineOptions* options, Line** line, LineFacts* facts, char*, std::size_t) {
      *facts = {};
      *line =
          new Line{*options, std::vector<Line::Buffer>(static_cast<std::size_t>(options->buffers))};
      ++fake_lines;
      return int{kDone};
    };
    made.close = [](Line* line) {
      --fake_lines;
      delete line;
    };
    made.message = [](Line*) -> const char* { return "the device is lost"; };
    made.own_bytes = [](Line*) { return std::size_t{0}; };
    made.pin = [](Line*, std::size_t bytes, void** memory) {
      *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
      ++fake_pins;
      return int{kDone};
    };
    made.unpin = [](void* memory) {
      std::free(memory);
      --fake_pins;
    };
    made.set_levels = [](Line*, const float*) { return int{kDone}; };
    made.decode = fake_decode;
    made.process = fake_process;
    made.wait = [](Line*, int, double) {
      const FakeCall call;
      return int{kDone};
    };
    made.output = [](Line* line, int buffer) -> void* {
      return line->buffers[static_cast<std::size_t>(buffer)].output.data();
    };
    made.ready = [](Line*, int) -> void* { return nullptr; };
    made.cropped = made.output;
    made.download = [](Line*, void* to, const void* from, std::size_t bytes) {
      const FakeCall call;
      std::memcpy(to, from, bytes);
      return int{kDone};
    };
    return made;
  }();
  return table;
}

}  // namespace testing
}  // namespace sluice::loader::gpu
