// tests/image/resize_bicubic_test.cpp - the fast path against the definition, and the definition
// against what a cubic must do.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/rng.h"
#include "sluice/image/resize/bicubic.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace sluice::image::resize_bicubic_test {
namespace {

Image random_image(Rng& rng, int width, int height, int channels) {
  Image made = Image::make(width, height, channels).value();
  const auto span = made.span<std::uint8_t>();
  for (int y = 0; y < height; ++y)
    for (std::size_t i = 0; i < span.row_samples(); ++i)
      span.row(y)[i] = static_cast<std::uint8_t>(rng.below(256));
  return made;
}

int most_apart(const Image& a, const Image& b) {
  int most = 0;
  for (int y = 0; y < a.height(); ++y)
    for (std::size_t i = 0; i < a.view<std::uint8_t>().row_samples(); ++i)
      most = std::max(most, std::abs(int{a.view<std::uint8_t>().row(y)[i]} -
                                     int{b.view<std::uint8_t>().row(y)[i]}));
  return most;
}

TEST(ResizeBicubic, IsItsDefinitionWithinALevel) {
  Rng rng({.seed = 4});
  BicubicResizer resizer;
  for (int turn = 0; turn < 120; ++turn) {
    const int channels = turn % 3 == 0 ? rng.between(1, 5) : 3;
    const Image src = random_image(rng, rng.between(1, 120), rng.between(1, 120), channels);
    Image made = Image::make(rng.between(1, 120), rng.between(1, 120), channels).value();
    SCOPED_TRACE(::testing::Message() << src.width() << " x " << src.height() << " to "
                                      << made.width() << " x " << made.height());
    Image expected = Image::make(made.width(), made.height(), channels).value();
    ASSERT_TRUE(resizer.run(made.span<std::uint8_t>(), src.view<std::uint8_t>()));
    resize_bicubic_reference(expected.span<std::uint8_t>(), src.view<std::uint8_t>());
    EXPECT_LE(most_apart(made, expected), 1);
  }
}

TEST(ResizeBicubic, KeepsWhatACubicKeeps) {
  Rng rng({.seed = 5});
  BicubicResizer resizer;
  const Image image = random_image(rng, 31, 17, 3);
  Image same = Image::make(31, 17, 3).value();
  ASSERT_TRUE(resizer.run(same.span<std::uint8_t>(), image.view<std::uint8_t>()));
  EXPECT_EQ(most_apart(same, image), 0) << "its own size";
  Image flat = Image::make(50, 20, 3).value();
  for (int y = 0; y < 20; ++y)
    std::fill_n(flat.span<std::uint8_t>().row(y), 150, std::uint8_t{201});
  Image small = Image::make(7, 9, 3).value();
  ASSERT_TRUE(resizer.run(small.span<std::uint8_t>(), flat.view<std::uint8_t>()));
  for (int y = 0; y < 9; ++y)
    for (std::size_t i = 0; i < 21; ++i)
      EXPECT_EQ(small.view<std::uint8_t>().row(y)[i], 201);
}

TEST(ResizeBicubic, RefusesOtherChannels) {
  BicubicResizer resizer;
  Image one = Image::make(4, 4, 1).value();
  const Image three = Image::make(4, 4, 3).value();
  EXPECT_FALSE(resizer.run(one.span<std::uint8_t>(), three.view<std::uint8_t>()));
}

}  // namespace
}  // namespace sluice::image::resize_bicubic_test
