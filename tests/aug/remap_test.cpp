// tests/aug/remap_test.cpp - a warp by a given map: fast against its definition, edges, odd maps.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/warps/remap.h"

#include "sluice/aug/warps/smooth_noise.h"
#include "sluice/image/simd.h"

#include <gtest/gtest.h>

#include "tests/aug/support.h"
#include <limits>

namespace sluice::aug::remap_test {
namespace {

using image::Image;

struct Table {
  std::vector<float> x, y;
  [[nodiscard]] RemapTable view() const { return {x, y}; }
};

/// Identity plus up to `reach` pixels, every seventh entry of another kind.
Table wild_table(int width, int height, float reach, std::uint64_t seed) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  const float odd[] = {-1,   -1e30F,     1e30F,          kInfinite, -kInfinite,
                       0.5F, -0.999999F, std::nanf("1"), 1e5F};
  Rng rng({.seed = seed});
  Table table;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      table.x.push_back(static_cast<float>(x + rng.uniform(-reach, reach)));
      table.y.push_back(static_cast<float>(y + rng.uniform(-reach, reach)));
      if (rng.below(7) == 0) table.x.back() = odd[rng.below(std::size(odd))];
      if (rng.below(7) == 0) table.y.back() = odd[rng.below(std::size(odd))];
    }
  return table;
}

template <class T>
void expect_like_reference(Shape in, int width, int height, double fill, double limit) {
  const Image src = testing::input_image<T>(in, 2, 7 * sizeof(T));
  const Table table = wild_table(width, height, 3, static_cast<std::uint64_t>(width));
  Image fast = image::testing::poisoned_image<T>(width, height, in.channels, 5 * sizeof(T));
  Image plain = image::testing::poisoned_image<T>(width, height, in.channels, 0);
  const ImageView<T> from = src.view<T>();
  const ImageSpan<T> to_fast = fast.span<T>(), to_plain = plain.span<T>();
  Scratch scratch;
  ASSERT_TRUE(remap_bilinear(Frames<T>{{&to_fast, 1}, {&from, 1}}, table.view(), scratch, fill));
  ASSERT_TRUE(remap_bilinear_reference(Frames<T>{{&to_plain, 1}, {&from, 1}}, table.view(), fill));
  EXPECT_LE(testing::distance<T>(fast.view<T>(), plain.view<T>(), 0).worst, limit)
      << testing::words(in) << " to " << width << "x" << height;
  EXPECT_TRUE(image::testing::padding_intact<T>(fast));
}

TEST(Remap, FastIsTheDefinitionWhereverTheMapPoints) {
  for (const std::string& target : image::simd_targets()) {
    const image::SimdTargetOverride with(target);
    for (const int channels : {1, 2, 3, 4, 5, 8, 9, 12, 17})
      for (const auto& [w, h] : {std::pair(1, 1), std::pair(7, 3), std::pair(40, 33)}) {
        expect_like_reference<std::uint8_t>({w, h, channels}, w, h, 0, 1);
        expect_like_reference<std::uint8_t>({w, h, channels}, w + 5, h + 2, 77, 1);
        expect_like_reference<float>({w, h, channels}, w, h + 1, 200, 2e-5);
      }
  }
}

TEST(Remap, IdentityIsExact) {
  const Image src = testing::input_image<std::uint8_t>({61, 17, 3}, 4);
  Table table;
  for (int i = 0; i < 61 * 17; ++i) {
    table.x.push_back(static_cast<float>(i % 61));
    table.y.push_back(static_cast<float>(i / 61));
  }
  Image dst = image::testing::poisoned_image<std::uint8_t>(61, 17, 3, 0);
  const ImageView<std::uint8_t> from = src.view<std::uint8_t>();
  const ImageSpan<std::uint8_t> to = dst.span<std::uint8_t>();
  Scratch scratch;
  ASSERT_TRUE(remap_bilinear(Frames<std::uint8_t>{{&to, 1}, {&from, 1}}, table.view(), scratch));
  EXPECT_EQ(testing::distance<std::uint8_t>(to, from, 0).worst, 0);
}

TEST(Remap, RefusesTablesOfAnotherSize) {
  const Image src = testing::input_image<float>({8, 4, 1}, 1);
  Image dst = image::testing::poisoned_image<float>(8, 4, 1, 0);
  const Table table = wild_table(8, 3, 1, 1);
  const ImageView<float> from = src.view<float>();
  const ImageSpan<float> to = dst.span<float>();
  Scratch scratch;
  const Status done = remap_bilinear(Frames<float>{{&to, 1}, {&from, 1}}, table.view(), scratch);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().message, "remap: tables of 24 and 24: 32 are accepted");
}

TEST(SmoothNoise, RowsAreTheDefinition) {
  for (const std::string& target : image::simd_targets()) {
    const image::SimdTargetOverride with(target);
    for (const double sigma : {4.0, 5.0, 11.3, 20.0})
      for (const auto& [w, h] : {std::pair(1, 1), std::pair(2, 9), std::pair(75, 41)}) {
        const SmoothNoise field{.key = 9, .sigma = sigma, .scale = 10, .width = w, .height = h};
        const std::vector<double> exact = smooth_noise_reference(field);
        double largest = 0;
        for (const double value : exact)
          largest = std::max(largest, std::abs(value));
        Scratch scratch;
        SmoothNoiseRows rows(field, scratch);
        for (int y = 0; y < h; ++y) {
          const float* row = rows.next();
          for (int x = 0; x < w; ++x)
            ASSERT_NEAR(row[x], exact[static_cast<std::size_t>(y * w + x)], 1e-3 * largest + 1e-6)
                << target << " sigma " << sigma << " " << w << "x" << h << " at " << x << ", " << y;
        }
      }
  }
}

}  // namespace
}  // namespace sluice::aug::remap_test
