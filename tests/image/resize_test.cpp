// tests/image/resize_test.cpp - the fast resize against its definition, on every instruction set
// the machine has.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/resize/resize.h"

#include "sluice/core/rng.h"
#include "sluice/image/resize/kernels.h"
#include "sluice/image/simd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/image/support.h"
#include <array>
#include <string>

namespace sluice::image::resize_test {
namespace {

struct Shape {
  int src_width, src_height, dst_width, dst_height, channels;
};

std::vector<Shape> shapes() {
  std::vector<Shape> all = {
      {1, 1, 1, 1, 3},     {1, 1, 7, 5, 3},      {7, 5, 1, 1, 3},      {500, 375, 224, 224, 3},
      {17, 13, 31, 29, 3}, {101, 1, 37, 1, 3},   {1, 101, 1, 37, 3},   {64, 64, 32, 32, 4},
      {640, 3, 3, 640, 1}, {2, 2, 64, 64, 2},    {3, 3, 257, 5, 9},    {97, 89, 97, 41, 3},
      {89, 97, 41, 97, 3}, {33, 33, 33, 33, 12}, {1000, 40, 13, 7, 3}, {5, 4, 6, 5, kMaxChannels}};
  Rng rng({.seed = 11});
  for (int channels = 1; channels <= 12; ++channels)
    for (int i = 0; i < 4; ++i) {
      const auto side = [&rng] { return static_cast<int>(1 + rng.below(90)); };
      all.push_back({side(), side(), side(), side(), channels});
    }
  return all;
}

std::string name(const Shape& s) {
  return std::to_string(s.src_width) + "x" + std::to_string(s.src_height) + " to " +
         std::to_string(s.dst_width) + "x" + std::to_string(s.dst_height) + "x" +
         std::to_string(s.channels);
}

/// Fast and reference results of a random image, both into padded, poisoned rows.
template <Sample T>
void compare(const Shape& s, double tolerance, double most_different) {
  const Image src = testing::random_image<T>(s.src_width, s.src_height, s.channels, 5, 3);
  Image fast = testing::poisoned_image<T>(s.dst_width, s.dst_height, s.channels, 5);
  Image reference = testing::poisoned_image<T>(s.dst_width, s.dst_height, s.channels);
  BilinearResizer resizer;
  ASSERT_TRUE(resizer.run(fast.span<T>(), src.view<T>()));
  resize_bilinear_reference(reference.span<T>(), src.view<T>());
  EXPECT_LE(testing::max_difference(fast.view<T>(), ImageView<T>(reference.view<T>())), tolerance)
      << name(s);
  EXPECT_TRUE(testing::padding_intact<T>(fast)) << name(s);
  double different = 0;
  for (int y = 0; y < s.dst_height; ++y)
    for (std::size_t i = 0; i < fast.view<T>().row_samples(); ++i)
      different += fast.view<T>().row(y)[i] != reference.view<T>().row(y)[i] ? 1 : 0;
  if (fast.view<T>().samples() > 500) {
    EXPECT_LE(different / static_cast<double>(fast.view<T>().samples()), most_different) << name(s);
  }
}

TEST(Resize, U8IsWithinOneOfTheReferenceAndSeldomThat) {
  for (const std::string& target : simd_targets()) {
    const SimdTargetOverride in_force(target);
    SCOPED_TRACE(target);
    for (const Shape& shape : shapes())
      compare<std::uint8_t>(shape, 1, 0.1);
  }
}

TEST(Resize, F32IsWithinItsTolerance) {
  for (const std::string& target : simd_targets()) {
    const SimdTargetOverride in_force(target);
    SCOPED_TRACE(target);
    for (const Shape& shape : shapes())
      compare<float>(shape, 4e-6 * 2, 1);
  }
}

// The promise that makes results comparable between machines: all targets and the plain path give
// the same bytes.
TEST(Resize, U8IsTheSameOnEveryTarget) {
  for (const Shape& s : shapes()) {
    const Image src = testing::random_image<std::uint8_t>(s.src_width, s.src_height, s.channels, 6);
    Image plain = testing::poisoned_image<std::uint8_t>(s.dst_width, s.dst_height, s.channels);
    detail::resize_plainly(plain.span<std::uint8_t>(), src.view<std::uint8_t>());
    for (const std::string& target : simd_targets()) {
      const SimdTargetOverride in_force(target);
      Image fast = testing::poisoned_image<std::uint8_t>(s.dst_width, s.dst_height, s.channels);
      BilinearResizer resizer;
      ASSERT_TRUE(resizer.run(fast.span<std::uint8_t>(), src.view<std::uint8_t>()));
      EXPECT_EQ(testing::max_difference(fast.view<std::uint8_t>(), plain.view<std::uint8_t>()), 0)
          << target << " " << name(s);
    }
  }
}

TEST(Resize, FlatStaysFlat) {
  Image src = testing::poisoned_image<std::uint8_t>(37, 23, 3);  // all kPoison
  Image dst;
  ASSERT_TRUE(dst.resize_for(224, 224, 3));
  BilinearResizer resizer;
  for (const int value : {0, 1, 127, 128, 254, 255}) {
    std::memset(src.span<std::uint8_t>().data(), value, src.view<std::uint8_t>().samples());
    ASSERT_TRUE(resizer.run(dst.span<std::uint8_t>(), src.view<std::uint8_t>()));
    for (int i : {0, 100, 223})
      EXPECT_EQ(dst.view<std::uint8_t>().at(i, i, 1), value);
  }
}

/// The position of output i, from its definition: (i + 0.5) * src / dst - 0.5.
detail::Tap tap_at(int i, int dst, int src) {
  detail::TapWalk walk(dst, src);
  for (int step = 0; step < i; ++step)
    walk.next();
  return walk.tap();
}

TEST(Resize, TapsAreHalfPixelCentred) {
  // 4 -> 2: centres fall half-way between samples 0|1 and 2|3.
  EXPECT_EQ(tap_at(0, 2, 4).index, 0);
  EXPECT_EQ(tap_at(0, 2, 4).part * 2, 2 * 2);
  EXPECT_EQ(tap_at(1, 2, 4).index, 2);
  // 2 -> 4: -0.25 clamps to 0, then 0.25, 0.75, then the last.
  EXPECT_EQ(tap_at(0, 4, 2).part, 0);
  EXPECT_EQ(tap_at(1, 4, 2).part, 2);
  EXPECT_EQ(tap_at(2, 4, 2).part, 6);
  EXPECT_EQ(tap_at(3, 4, 2).index, 1);
  EXPECT_EQ(tap_at(3, 4, 2).part, 0);
  EXPECT_EQ(tap_at(kMaxSide - 1, kMaxSide, kMaxSide).index, kMaxSide - 1);
}

// The walk adds where the definition divides: they must never part.
TEST(Resize, TapsAndWeightsAreTheQuotientsTheyStandFor) {
  Rng rng({.seed = 12});
  for (int round = 0; round < 60; ++round) {
    const int limit = round % 3 == 0 ? kMaxSide : 700;
    const int dst = static_cast<int>(1 + rng.below(static_cast<std::uint64_t>(limit)));
    const int src = static_cast<int>(1 + rng.below(static_cast<std::uint64_t>(limit)));
    detail::TapWalk walk(dst, src);
    for (int i = 0; i < std::min(dst, 2000); ++i, walk.next()) {
      const std::int64_t numerator = (2 * std::int64_t{i} + 1) * src - dst;
      const std::int64_t period = 2 * std::int64_t{dst};
      const std::int64_t index =
          numerator < 0 ? 0 : std::min<std::int64_t>(numerator / period, src - 1);
      const std::int64_t part = numerator < 0 || index == src - 1 ? 0 : numerator % period;
      const detail::Tap tap = walk.tap();
      ASSERT_EQ(tap.index, index) << i << " of " << dst << " from " << src;
      ASSERT_EQ(tap.part, part) << i << " of " << dst << " from " << src;
      for (const int one : {256, 1 << 16})
        ASSERT_EQ(walk.weight(tap, one), (part * one + dst) / period);
    }
  }
}

// Each way of gathering neighbours, in its range of scales, and one resizer for all of them.
TEST(Resize, OneResizerServesChangingShapes) {
  BilinearResizer resizer;
  for (const int channels : {1, 2, 3, 4, 9})
    for (const int width : {512, 300, 160, 60, 301, 302, 303, 512}) {
      const Image src = testing::random_image<std::uint8_t>(301, 40, channels, 9);
      Image fast = testing::poisoned_image<std::uint8_t>(width, 33, channels, 7);
      Image again = testing::poisoned_image<std::uint8_t>(width, 33, channels);
      Image plain = testing::poisoned_image<std::uint8_t>(width, 33, channels);
      ASSERT_TRUE(resizer.run(fast.span<std::uint8_t>(), src.view<std::uint8_t>()));
      ASSERT_TRUE(resizer.run(again.span<std::uint8_t>(), src.view<std::uint8_t>()));
      detail::resize_plainly(plain.span<std::uint8_t>(), src.view<std::uint8_t>());
      EXPECT_EQ(testing::max_difference(fast.view<std::uint8_t>(), plain.view<std::uint8_t>()), 0)
          << width << " x " << channels;
      EXPECT_EQ(testing::max_difference(again.view<std::uint8_t>(), plain.view<std::uint8_t>()), 0);
      EXPECT_TRUE(testing::padding_intact<std::uint8_t>(fast));
    }
}

TEST(Resize, CropsThroughAView) {
  const Image src = testing::random_image<std::uint8_t>(60, 50, 3, 8);
  const auto crop = src.view<std::uint8_t>().crop(7, 9, 31, 22);
  Image a, b;
  ASSERT_TRUE(a.resize_for(20, 20, 3));
  ASSERT_TRUE(b.resize_for(20, 20, 3));
  BilinearResizer resizer;
  ASSERT_TRUE(resizer.run(a.span<std::uint8_t>(), crop));
  resize_bilinear_reference(b.span<std::uint8_t>(), crop);
  EXPECT_LE(testing::max_difference(a.view<std::uint8_t>(), b.view<std::uint8_t>()), 1);
}

TEST(Resize, RefusesDifferentChannels) {
  Image a, b;
  ASSERT_TRUE(a.resize_for(4, 4, 3));
  ASSERT_TRUE(b.resize_for(4, 4, 4));
  const Status status = BilinearResizer().run(a.span<std::uint8_t>(), b.view<std::uint8_t>());
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, ::testing::HasSubstr("4 to 3 channels"));
}

}  // namespace
}  // namespace sluice::image::resize_test
