// tests/image/shrink_test.cpp - images made smaller: size, format, and what is left as it was.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/shrink.h"

#include <gtest/gtest.h>

namespace sluice::image::shrink_test {
namespace {

Image photo(int width, int height) {
  Image image = *Image::make(width, height, 3);
  const auto pixels = image.span<std::uint8_t>();
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c)
        pixels.row(y)[x * 3 + c] = static_cast<std::uint8_t>((x + 2 * y + 40 * c) / 4);
  return image;
}

std::vector<std::uint8_t> encoded(Format format, const Image& image) {
  std::vector<std::uint8_t> bytes;
  const auto pixels = image.view<std::uint8_t>();
  const Status done = format == Format::png    ? encode_png(bytes, pixels)
                      : format == Format::webp ? encode_webp(bytes, pixels)
                                               : encode_jpeg(bytes, pixels);
  EXPECT_TRUE(done);
  return bytes;
}

TEST(ShrinkTest, TheShorterSideIsAsAskedAndTheFormatStays) {
  Shrinker shrinker;
  for (const Format format : {Format::jpeg, Format::png, Format::webp}) {
    std::vector<std::uint8_t> out;
    const auto bytes = encoded(format, photo(301, 200));
    const auto smaller = shrinker.run(out, bytes, {.shorter_side = 64});
    ASSERT_TRUE(smaller) << smaller.error().message;
    EXPECT_TRUE(*smaller);
    Decoder decoder;
    const auto info = decoder.read_info(out);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->format, format);
    EXPECT_EQ(info->height, 64);
    EXPECT_EQ(info->width, 96);  // 96.32
    EXPECT_LT(out.size(), bytes.size());
    Image pixels;
    ASSERT_TRUE(decoder.decode(pixels, out));
    // A smooth picture stays what it was: the middle is the middle.
    EXPECT_NEAR(pixels.view<std::uint8_t>().row(32)[48 * 3], (150 + 2 * 100) / 4, 6);
  }
}

TEST(ShrinkTest, SmallOnesAreCopied) {
  Shrinker shrinker;
  std::vector<std::uint8_t> out{1, 2, 3};
  const auto bytes = encoded(Format::jpeg, photo(100, 64));
  const auto smaller = shrinker.run(out, bytes, {.shorter_side = 64});
  ASSERT_TRUE(smaller);
  EXPECT_FALSE(*smaller);
  EXPECT_EQ(out, bytes);
}

TEST(ShrinkTest, WhatIsNoImageIsAnError) {
  Shrinker shrinker;
  std::vector<std::uint8_t> out;
  EXPECT_FALSE(shrinker.run(out, std::vector<std::uint8_t>{1, 2, 3}, {}));
}

}  // namespace
}  // namespace sluice::image::shrink_test
