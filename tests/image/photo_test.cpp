// tests/image/photo_test.cpp - generated photographs: the same bytes everywhere, and like
// photographs.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/inputs/photo.h"

#include "sluice/core/sha256.h"

#include <gtest/gtest.h>

#include "tests/image/support.h"
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

namespace sluice::image::photo_test {
namespace {

// Seed 0, as `sluice data make --kind rgb --count 8` writes them. A change here breaks every
// recorded dataset hash.
constexpr std::array<const char*, 8> kHashes = {
    "c07764bcd898467a0fe0d41a8b6b7205f558d9d7046b6d39f4813d88bd512643",
    "562bfc29d8000ee9556f8760085146ce2cbf822bd682e5b92cd31da5143a1ae3",
    "efc82ec0a99c160520f08593e387a1f9f349a8bb2165729997cad706a325ffc9",
    "b9fc2729285385463bca5d170a629729f22469289208f0cf347d620acfca6108",
    "ceda1b8618230b864c938e84ba9d485aa0d89c61c278c7dbaacd27ded8ba8047",
    "02f1c4d56a0643d9076b70a2ca76513d629b557849c3aedf1a2fc48f3bdf0956",
    "2449900c95654d11c1e7ea55771071c4a0b878ff115b50e1f3830817ded17fae",
    "4daca75130148803ae729ea889305ea29d6674384e6d8b44afa3b528ce6401a5",
};

TEST(Photo, EightFilesAreTheSameOnEveryMachine) {
  PhotoMaker maker;
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < kHashes.size(); ++i) {
    ASSERT_TRUE(maker.make_jpeg(bytes, 0, i, photo_spec(0, i)));
    EXPECT_EQ(sha256_hex(std::span<const std::uint8_t>(bytes)), kHashes[i]) << "photograph " << i;
  }
}

TEST(Photo, DependsOnSeedAndIndexAloneNotOnHistory) {
  PhotoMaker maker;
  Image first, again, other;
  const PhotoSpec spec{.width = 64, .height = 48, .quality = 90};
  ASSERT_TRUE(maker.make(first, 3, 5, spec));
  ASSERT_TRUE(maker.make(other, 3, 6, {.width = 200, .height = 90, .quality = 90}));
  ASSERT_TRUE(maker.make(again, 3, 5, spec));
  EXPECT_EQ(testing::max_difference(first.view<std::uint8_t>(), again.view<std::uint8_t>()), 0);
  ASSERT_TRUE(maker.make(other, 4, 5, spec));
  EXPECT_GT(testing::mean_difference(first.view<std::uint8_t>(), other.view<std::uint8_t>()), 5);
}

TEST(Photo, SpecsVaryAroundThePromisedSizes) {
  int portrait = 0, quality = 0;
  constexpr int kCount = 400;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const PhotoSpec spec = photo_spec(9, i);
    EXPECT_GE(std::min(spec.width, spec.height), 300);
    EXPECT_LE(std::max(spec.width, spec.height), 560);
    EXPECT_GE(spec.quality, 85);
    EXPECT_LE(spec.quality, 95);
    portrait += spec.height > spec.width ? 1 : 0;
    quality += spec.quality;
  }
  EXPECT_GT(portrait, kCount / 5);
  EXPECT_LT(portrait, kCount / 2);
  EXPECT_NEAR(static_cast<double>(quality) / kCount, 90, 0.6);
}

// Mean squared luma difference at a distance: for a 1/f amplitude spectrum it grows slowly (about
// logarithmically) with the distance; white noise would not grow, a smooth gradient would grow with
// the square.
double variogram(ImageView<std::uint8_t> image, int distance) {
  double sum = 0;
  int count = 0;
  for (int y = 0; y < image.height(); y += 3)
    for (int x = 0; x + distance < image.width(); ++x, ++count) {
      const double difference = image.at(x, y, 1) - image.at(x + distance, y, 1);
      sum += difference * difference;
    }
  return sum / count;
}

TEST(Photo, LooksLikeAPhotographToACodec) {
  PhotoMaker maker;
  std::vector<std::uint8_t> bytes;
  Image image;
  double bits = 0, pixels = 0, flat_blocks = 0, blocks = 0, near = 0, far = 0;
  for (std::uint64_t i = 0; i < 12; ++i) {
    const PhotoSpec spec = photo_spec(2, i);
    ASSERT_TRUE(maker.make_jpeg(bytes, 2, i, spec));
    ASSERT_TRUE(decode(image, bytes));
    bits += 8.0 * static_cast<double>(bytes.size());
    pixels += static_cast<double>(spec.width) * spec.height;
    near += variogram(image.view<std::uint8_t>(), 1);
    far += variogram(image.view<std::uint8_t>(), 16);
    for (int y = 0; y + 8 <= spec.height; y += 8)
      for (int x = 0; x + 8 <= spec.width; x += 8, ++blocks) {
        int low = 255, high = 0;
        for (int v = 0; v < 8; ++v)
          for (int u = 0; u < 8; ++u) {
            low = std::min<int>(low, image.view<std::uint8_t>().at(x + u, y + v, 1));
            high = std::max<int>(high, image.view<std::uint8_t>().at(x + u, y + v, 1));
          }
        flat_blocks += high - low < 16 ? 1 : 0;
      }
  }
  EXPECT_GT(bits / pixels, 2.0);  // photographs at quality 90: 2 to 4
  EXPECT_LT(bits / pixels, 4.0);
  EXPECT_GT(flat_blocks / blocks, 0.05);
  EXPECT_LT(flat_blocks / blocks, 0.7);
  EXPECT_GT(far / near, 3);
  EXPECT_LT(far / near, 30);
}

TEST(Photo, RefusesAbsurdSizes) {
  PhotoMaker maker;
  Image image;
  EXPECT_FALSE(maker.make(image, 0, 0, {.width = 15, .height = 100, .quality = 90}));
  EXPECT_FALSE(maker.make(image, 0, 0, {.width = 100, .height = 100000, .quality = 90}));
}

}  // namespace
}  // namespace sluice::image::photo_test
