// tests/loader/gpu_support.h - what tests of images on a GPU share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/rng.h"
#include "sluice/image/image.h"
#include "sluice/image/inputs/photo.h"
#include "sluice/loader/gpu/library.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#define ASSERT_OK(expression)                        \
  do {                                               \
    const auto& result_ = (expression);              \
    ASSERT_TRUE(result_) << result_.error().message; \
  } while (false)
#define EXPECT_OK(expression)                        \
  do {                                               \
    const auto& result_ = (expression);              \
    EXPECT_TRUE(result_) << result_.error().message; \
  } while (false)

namespace sluice::loader::gpu::testing {

using image::Image;

/// Test fixture: skipped where no line can be opened.
class OnLine : public ::testing::Test {
 protected:
  void SetUp() override {
    static const Status usable = [] {
      LineOptions options;
      options.side = 8;
      options.most_samples = 1;
      const auto line = ImageLine::open(options);
      return line ? Status(ok) : Status(line.error());
    }();
    if (!usable) GTEST_SKIP() << usable.error().message;
  }
  static ImageLine open(int side, int most_samples, int buffers = 2) {
    LineOptions options;
    options.side = side;
    options.most_samples = most_samples;
    options.buffers = buffers;
    return ImageLine::open(options).value();
  }
};

/// Any size: photographs have 16 pixels a side at least.
inline Image photo_of(int width, int height, std::uint64_t index) {
  Image large;
  image::PhotoMaker maker;
  EXPECT_TRUE(maker.make(large, 3, index, {std::max(width, 16), std::max(height, 16), 90}));
  Image made = Image::make(width, height, 3).value();
  for (int y = 0; y < height; ++y)
    std::copy_n(large.view<std::uint8_t>().row(y), 3 * static_cast<std::size_t>(width),
                made.span<std::uint8_t>().row(y));
  return made;
}

/// Rows one after another.
inline std::vector<std::uint8_t> tight(const Image& image) {
  const auto view = image.view<std::uint8_t>();
  std::vector<std::uint8_t> bytes;
  for (int y = 0; y < view.height(); ++y)
    bytes.insert(bytes.end(), view.row(y), view.row(y) + view.row_samples());
  return bytes;
}
inline void fill(Image& image, const std::vector<std::uint8_t>& bytes) {
  const auto span = image.span<std::uint8_t>();
  for (int y = 0; y < span.height(); ++y)
    std::copy_n(bytes.begin() +
                    static_cast<std::ptrdiff_t>(static_cast<std::size_t>(y) * span.row_samples()),
                span.row_samples(), span.row(y));
}
inline void mirror(std::vector<std::uint8_t>& bytes, int side) {
  const auto width = static_cast<std::size_t>(side);
  for (std::size_t y = 0; y < width; ++y)
    for (std::size_t x = 0; x < width / 2; ++x)
      for (std::size_t c = 0; c < 3; ++c)
        std::swap(bytes[(y * width + x) * 3 + c], bytes[(y * width + width - 1 - x) * 3 + c]);
}

/// Share of samples that are more than `levels` apart; 1 where sizes differ.
inline double share_beyond(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b,
                           int levels) {
  if (a.size() != b.size() || a.empty()) return 1;
  std::size_t beyond = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    beyond += std::abs(int{a[i]} - int{b[i]}) > levels ? 1 : 0;
  return static_cast<double>(beyond) / static_cast<double>(a.size());
}

}  // namespace sluice::loader::gpu::testing
