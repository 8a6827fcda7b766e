// tests/image/resize_antialias_test.cpp - the antialiased resize against its definition and against
// Pillow, on every instruction set the machine has.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/rng.h"
#include "sluice/image/npy.h"
#include "sluice/image/resize/antialias.h"
#include "sluice/image/simd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/allocations.h"
#include "tests/image/support.h"
#include "tests/places.h"
#include <string>
#include <vector>

namespace sluice::image::resize_antialias_test {
namespace {

using U8 = std::uint8_t;

struct Shape {
  int src_width, src_height, dst_width, dst_height, channels;
};

std::vector<Shape> shapes() {
  std::vector<Shape> all = {{1, 1, 1, 1, 3},
                            {1, 1, 7, 5, 3},
                            {7, 5, 1, 1, 3},
                            {500, 375, 224, 224, 3},
                            {471, 333, 224, 224, 3},
                            {448, 448, 224, 224, 3},
                            {333, 111, 224, 224, 3},
                            {111, 333, 224, 224, 3},
                            {17, 13, 31, 29, 3},
                            {101, 1, 37, 1, 3},
                            {1, 101, 1, 37, 3},
                            {64, 64, 32, 32, 4},
                            {640, 3, 3, 640, 1},
                            {97, 89, 97, 41, 3},
                            {89, 97, 41, 97, 3},
                            {33, 33, 33, 33, 12},
                            {1000, 40, 13, 7, 3},
                            {40, 1500, 13, 7, 3},
                            {6, 5, 5, 4, kMaxChannels},
                            {5, 9, 4, 2, 3},
                            {1200, 900, 224, 224, 3},
                            {300, 300, 299, 299, 3}};
  Rng rng({.seed = 21});
  for (int channels = 1; channels <= 9; ++channels)
    for (int i = 0; i < 6; ++i) {
      const auto side = [&rng](int most) {
        return static_cast<int>(1 + rng.below(static_cast<std::uint64_t>(most)));
      };
      all.push_back({side(160), side(160), side(80), side(80), channels});
    }
  for (int i = 0; i < 6; ++i)
    all.push_back({static_cast<int>(60 + rng.below(441)), static_cast<int>(60 + rng.below(316)),
                   224, 224, 3});
  return all;
}

std::string name(const Shape& s) {
  return std::to_string(s.src_width) + "x" + std::to_string(s.src_height) + " to " +
         std::to_string(s.dst_width) + "x" + std::to_string(s.dst_height) + "x" +
         std::to_string(s.channels);
}

/// Samples of 0 and 255 only: where rounded weights show most.
Image stark_image(const Shape& s, std::uint64_t seed) {
  Image image = testing::random_image<U8>(s.src_width, s.src_height, s.channels, seed);
  const std::size_t samples = image.view<U8>().samples();
  for (std::size_t i = 0; i < samples; ++i)
    image.span<U8>().data()[i] = image.span<U8>().data()[i] < 128 ? 0 : 255;
  return image;
}

/// Fast and reference results, the fast one into padded, poisoned rows.
void compare(const Shape& s, const Image& src, double most_different) {
  Image fast = testing::poisoned_image<U8>(s.dst_width, s.dst_height, s.channels, 5);
  Image reference = testing::poisoned_image<U8>(s.dst_width, s.dst_height, s.channels);
  AntialiasResizer resizer;
  ASSERT_TRUE(resizer.run(fast.span<U8>(), src.view<U8>()));
  resize_antialias_reference(reference.span<U8>(), src.view<U8>());
  EXPECT_LE(testing::max_difference(fast.view<U8>(), reference.view<U8>()), 1) << name(s);
  EXPECT_TRUE(testing::padding_intact<U8>(fast)) << name(s);
  if (fast.view<U8>().samples() > 500) {
    EXPECT_LE(testing::mean_difference(fast.view<U8>(), reference.view<U8>()), most_different)
        << name(s);
  }
}

TEST(ResizeAntialias, IsWithinOneOfTheReferenceAndSeldomThat) {
  for (const std::string& target : simd_targets()) {
    const SimdTargetOverride in_force(target);
    SCOPED_TRACE(target);
    for (const Shape& s : shapes()) {
      compare(s, testing::random_image<U8>(s.src_width, s.src_height, s.channels, 5, 3), 0.15);
      compare(s, stark_image(s, 6), 0.25);
    }
  }
}

/// Black and white columns that follow the signs of the rounding errors are the worst case of
/// weights of eight bits: for every width that crops have, stripes of several widths and phases.
TEST(ResizeAntialias, StripesOfEveryCropWidthAreWithinOne) {
  AntialiasResizer resizer;
  for (int width = 225; width <= 500; width += 3) {
    const Shape s{width, 3, 224, 2, 3};
    Image src = testing::poisoned_image<U8>(width, 3, 3);
    Rng rng({.seed = static_cast<std::uint64_t>(width)});
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c) {
        const bool white = c == 0 ? x % 2 == 0 : c == 1 ? x % 3 == 0 : rng.next_u32() % 2 == 0;
        for (int y = 0; y < 3; ++y)
          src.span<U8>().at(x, y, c) = white ? 255 : 0;
      }
    compare(s, src, 1);
  }
}

// The promise that makes results comparable between machines: all targets and the plain path give
// the same bytes.
TEST(ResizeAntialias, IsTheSameOnEveryTarget) {
  for (const Shape& s : shapes()) {
    if (s.src_width <= s.dst_width && s.src_height <= s.dst_height) continue;
    const Image src = testing::random_image<U8>(s.src_width, s.src_height, s.channels, 6);
    Image plain = testing::poisoned_image<U8>(s.dst_width, s.dst_height, s.channels);
    detail::antialias_plainly(plain.span<U8>(), src.view<U8>());
    for (const std::string& target : simd_targets()) {
      const SimdTargetOverride in_force(target);
      Image fast = testing::poisoned_image<U8>(s.dst_width, s.dst_height, s.channels);
      AntialiasResizer resizer;
      ASSERT_TRUE(resizer.run(fast.span<U8>(), src.view<U8>()));
      EXPECT_EQ(testing::max_difference(fast.view<U8>(), plain.view<U8>()), 0)
          << target << " " << name(s);
    }
  }
}

TEST(ResizeAntialias, EnlargingIsPlainBilinear) {
  for (const Shape& s :
       {Shape{60, 75, 224, 224, 3}, Shape{224, 224, 224, 224, 3}, Shape{31, 7, 32, 7, 5}}) {
    const Image src = testing::random_image<U8>(s.src_width, s.src_height, s.channels, 7);
    Image a = testing::poisoned_image<U8>(s.dst_width, s.dst_height, s.channels);
    Image b = testing::poisoned_image<U8>(s.dst_width, s.dst_height, s.channels);
    AntialiasResizer antialias;
    BilinearResizer plain;
    ASSERT_TRUE(antialias.run(a.span<U8>(), src.view<U8>()));
    ASSERT_TRUE(plain.run(b.span<U8>(), src.view<U8>()));
    EXPECT_EQ(testing::max_difference(a.view<U8>(), b.view<U8>()), 0) << name(s);
    resize_antialias_reference(a.span<U8>(), src.view<U8>());
    resize_bilinear_reference(b.span<U8>(), src.view<U8>());
    EXPECT_LE(testing::max_difference(a.view<U8>(), b.view<U8>()), 1) << name(s);
    EXPECT_LT(testing::mean_difference(a.view<U8>(), b.view<U8>()), 1e-4) << name(s);
  }
}

TEST(ResizeAntialias, FlatStaysFlat) {
  AntialiasResizer resizer;
  for (const Shape& s : {Shape{437, 323, 224, 224, 3}, Shape{500, 500, 224, 224, 3},
                         Shape{300, 100, 224, 100, 3}, Shape{900, 3000, 20, 31, 2}}) {
    Image src = testing::poisoned_image<U8>(s.src_width, s.src_height, s.channels);
    Image dst = testing::poisoned_image<U8>(s.dst_width, s.dst_height, s.channels);
    for (const int value : {0, 1, 127, 128, 254, 255}) {
      std::memset(src.span<U8>().data(), value, src.view<U8>().samples());
      ASSERT_TRUE(resizer.run(dst.span<U8>(), src.view<U8>()));
      for (std::size_t i = 0; i < dst.view<U8>().samples(); ++i)
        ASSERT_EQ(dst.view<U8>().data()[i], value) << name(s) << " at " << i;
    }
  }
}

// 4 -> 2: the triangle of output 0 reaches from -1 to 3 and weighs 3, 3, 1 of pixels 0, 1, 2.
TEST(ResizeAntialias, WeighsByATriangleTwiceAsWideAsThePixel) {
  Image src = testing::poisoned_image<U8>(4, 1, 1);
  Image dst = testing::poisoned_image<U8>(2, 1, 1);
  const U8 ramp[] = {0, 70, 140, 210};
  std::memcpy(src.span<U8>().data(), ramp, 4);
  AntialiasResizer resizer;
  ASSERT_TRUE(resizer.run(dst.span<U8>(), src.view<U8>()));
  EXPECT_EQ(dst.view<U8>().at(0, 0, 0), (3 * 0 + 3 * 70 + 140) / 7);
  EXPECT_EQ(dst.view<U8>().at(1, 0, 0), (70 + 3 * 140 + 3 * 210) / 7);
}

TEST(ResizeAntialias, OneResizerServesChangingShapesAndStopsAllocating) {
  const Image src = testing::random_image<U8>(301, 240, 3, 9);
  Image fast = testing::poisoned_image<U8>(160, 150, 3, 7);
  Image plain = testing::poisoned_image<U8>(160, 150, 3);
  AntialiasResizer resizer;
  for (const bool counted : {false, true}) {
    const auto before = testing_support::allocations();
    for (const int width : {301, 170, 80, 300, 299, 298, 301})
      for (int again = 0; again < 2; ++again)
        ASSERT_TRUE(resizer.run(fast.span<U8>(), src.view<U8>().crop(301 - width, 9, width, 160)));
    if (counted) {
      EXPECT_EQ(testing_support::allocations(), before);
    }
  }
  detail::antialias_plainly(plain.span<U8>(), src.view<U8>().crop(0, 9, 301, 160));
  EXPECT_EQ(testing::max_difference(fast.view<U8>(), plain.view<U8>()), 0);
  EXPECT_TRUE(testing::padding_intact<U8>(fast));
}

Image golden(const std::string& name) {
  const auto path = testing_support::source_dir() / "tests/golden/antialias" / name;
  Image image;
  const auto bytes = read_binary_file(path);
  EXPECT_TRUE(bytes.has_value() && decode_npy(image, *bytes)) << name;
  return image;
}

/// tests/golden/antialias: outputs of Pillow, which rounds between its two passes as well.
TEST(ResizeAntialias, AgreesWithPillow) {
  const Image input = golden("input.npy");
  for (const char* to : {"24x20", "47x35", "31x44", "9x50", "64x60", "5x3", "1x1"}) {
    const Image wanted = golden(std::string(to) + ".npy");
    const ImageView<U8> want = wanted.view<U8>();
    Image got = testing::poisoned_image<U8>(want.width(), want.height(), want.channels());
    AntialiasResizer resizer;
    ASSERT_TRUE(resizer.run(got.span<U8>(), input.view<U8>()));
    EXPECT_LE(testing::max_difference(got.view<U8>(), want), 1) << to;
    if (want.samples() > 3) {
      EXPECT_LE(testing::mean_difference(got.view<U8>(), want), 0.25) << to;
    }
  }
}

TEST(ResizeAntialias, RefusesDifferentChannels) {
  Image a, b;
  ASSERT_TRUE(a.resize_for(4, 4, 3));
  ASSERT_TRUE(b.resize_for(4, 4, 4));
  const Status status = AntialiasResizer().run(a.span<U8>(), b.view<U8>());
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, ::testing::HasSubstr("4 to 3 channels"));
}

}  // namespace
}  // namespace sluice::image::resize_antialias_test
