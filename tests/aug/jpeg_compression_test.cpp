// tests/aug/jpeg_compression_test.cpp - our losses against those of real files: bit for bit what
// libjpeg-turbo makes of the same pixels.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/registry.h"
#include "sluice/image/codec.h"

#include <gtest/gtest.h>

#include "tests/aug/support.h"

namespace sluice::aug::jpeg_compression_test {
namespace {

using image::Image;

/// Through a file of 1 or 3 channels; the first of three is blue.
Image through_file(const Image& src, int quality) {
  const auto from = src.view<std::uint8_t>();
  const int channels = from.channels();
  Image turned =
      image::testing::poisoned_image<std::uint8_t>(from.width(), from.height(), channels, 0);
  const auto to = turned.span<std::uint8_t>();
  for (int y = 0; y < from.height(); ++y)
    for (int x = 0; x < from.width(); ++x)
      for (int c = 0; c < channels; ++c)
        to.at(x, y, c) = from.at(x, y, channels - 1 - c);
  std::vector<std::uint8_t> file;
  EXPECT_TRUE(image::encode_jpeg(file, to, {.quality = quality}));
  Image decoded;  // RGB, of a grey file too
  EXPECT_TRUE(image::decode_jpeg(decoded, file));
  const auto rgb = decoded.view<std::uint8_t>();
  for (int y = 0; y < from.height(); ++y)
    for (int x = 0; x < from.width(); ++x)
      for (int c = 0; c < channels; ++c)
        to.at(x, y, c) = rgb.at(x, y, channels - 1 - c);
  return turned;
}

void expect_equal(const Image& ours, const Image& file, const std::string& where) {
  const auto off =
      testing::distance<std::uint8_t>(ours.view<std::uint8_t>(), file.view<std::uint8_t>(), 0);
  EXPECT_EQ(off.worst, 0) << where << ": share " << off.beyond;
}

/// Fast path and reference against the file.
void compare(Shape shape, std::uint64_t seed, int quality) {
  const auto transform = make("JpegCompression", Json{{"quality", quality}});
  ASSERT_TRUE(transform.has_value());
  const Image src = testing::input_image<std::uint8_t>(shape, seed);
  const Image file = through_file(src, quality);
  Image fast = src.clone().value(), reference = src.clone().value();
  Rng rng({.seed = seed});
  const Draw draw = (*transform)->sample(rng, shape);
  Scratch scratch;
  const auto from = src.view<std::uint8_t>();
  const auto to = fast.span<std::uint8_t>(), plain = reference.span<std::uint8_t>();
  ASSERT_TRUE((*transform)->apply(Frames<std::uint8_t>{{&to, 1}, {&from, 1}}, draw, scratch));
  ASSERT_TRUE((*transform)->apply_reference(Frames<std::uint8_t>{{&plain, 1}, {&from, 1}}, draw));
  const std::string where = testing::words(shape) + " seed " + std::to_string(seed) + " quality " +
                            std::to_string(quality);
  expect_equal(reference, file, "reference " + where);
  expect_equal(fast, file, "fast " + where);
}

TEST(JpegCompression, IsTheFileOfLibjpegBitForBit) {
  std::uint64_t seed = 0;
  Rng rng({.seed = 3});
  for (const int channels : {3, 1})
    for (int i = 0; i < 24; ++i) {
      const int width = 1 + static_cast<int>(rng.below(i < 12 ? 20 : 150));
      const int height = 1 + static_cast<int>(rng.below(i < 12 ? 20 : 90));
      compare({width, height, channels}, ++seed, 50);
    }
}

TEST(JpegCompression, EveryQualityUsesItsTables) {
  std::uint64_t seed = 100;
  for (const int quality : {1, 10, 49, 51, 75, 90, 95, 100})
    compare({67, 45, 3}, ++seed, quality);
}

}  // namespace
}  // namespace sluice::aug::jpeg_compression_test
