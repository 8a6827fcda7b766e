// tests/image/normalize_test.cpp - the fast normalisation against its definition, on every
// instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/normalize.h"

#include "sluice/image/simd.h"

#include <gtest/gtest.h>

#include "tests/image/support.h"
#include <array>
#include <cmath>
#include <vector>

namespace sluice::image::normalize_test {
namespace {

Normalization some(int channels) {
  std::vector<float> mean, std;
  for (int c = 0; c < channels; ++c) {
    mean.push_back(0.3F + 0.02F * static_cast<float>(c));
    std.push_back(0.2F + 0.01F * static_cast<float>(c));
  }
  auto made = Normalization::make(mean, std);
  EXPECT_TRUE(made);
  return *made;
}

constexpr std::array<std::array<int, 2>, 9> kSizes = {
    {{1, 1}, {15, 3}, {16, 1}, {17, 5}, {31, 2}, {224, 7}, {1, 40}, {67, 11}, {5, 1}}};
constexpr double kTolerance = 1e-6 * 12;  // 255 |scale| + |offset| stays under 12 here

TEST(Normalize, FastMatchesTheReferenceOnEveryTarget) {
  for (const std::string& target : simd_targets()) {
    const SimdTargetOverride in_force(target);
    for (int channels = 1; channels <= 12; ++channels)
      for (const auto& [width, height] : kSizes) {
        const Image src = testing::random_image<std::uint8_t>(width, height, channels, 3, 7);
        const auto view = src.view<std::uint8_t>();
        const Normalization n = some(channels);
        std::vector<float> fast(view.samples() + 1, -77.0F), reference(view.samples());
        for (const bool mirrored : {false, true}) {
          ASSERT_TRUE(normalize_chw(std::span(fast).first(view.samples()), view, n, mirrored));
          ASSERT_TRUE(normalize_chw_reference(reference, view, n, mirrored));
          EXPECT_EQ(fast.back(), -77.0F);
          for (std::size_t i = 0; i < reference.size(); ++i)
            ASSERT_NEAR(fast[i], reference[i], kTolerance)
                << target << " CHW " << width << "x" << height << "x" << channels << mirrored;
        }

        Image hwc = testing::poisoned_image<float>(width, height, channels, 3);
        Image hwc_reference = testing::poisoned_image<float>(width, height, channels, 1);
        ASSERT_TRUE(normalize_hwc(hwc.span<float>(), view, n));
        ASSERT_TRUE(normalize_hwc_reference(hwc_reference.span<float>(), view, n));
        EXPECT_LE(testing::max_difference(hwc.view<float>(), hwc_reference.view<float>()),
                  kTolerance)
            << target << " HWC " << width << "x" << height << "x" << channels;
        EXPECT_TRUE(testing::padding_intact<float>(hwc));
      }
  }
}

TEST(Normalize, MirroredIsTheFlippedImageNormalised) {
  const Image src = testing::random_image<std::uint8_t>(37, 5, 3, 4);
  Image flipped = testing::poisoned_image<std::uint8_t>(37, 5, 3);
  for (int y = 0; y < 5; ++y)
    for (int x = 0; x < 37; ++x)
      for (int c = 0; c < 3; ++c)
        flipped.span<std::uint8_t>().at(x, y, c) = src.view<std::uint8_t>().at(36 - x, y, c);
  std::vector<float> one(37 * 5 * 3), two(37 * 5 * 3);
  ASSERT_TRUE(normalize_chw(one, src.view<std::uint8_t>(), some(3), true));
  ASSERT_TRUE(normalize_chw_reference(two, flipped.view<std::uint8_t>(), some(3)));
  for (std::size_t i = 0; i < one.size(); ++i)
    ASSERT_NEAR(one[i], two[i], kTolerance);
}

TEST(Normalize, IsTheFormula) {
  const Normalization n = Normalization::imagenet();
  const Image src = testing::random_image<std::uint8_t>(20, 3, 3, 4);
  std::vector<float> out(180);
  ASSERT_TRUE(normalize_chw(out, src.view<std::uint8_t>(), n));
  constexpr std::array kMean = {0.485, 0.456, 0.406};
  constexpr std::array kStd = {0.229, 0.224, 0.225};
  for (std::size_t c = 0; c < 3; ++c)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 20; ++x) {
        const double expected =
            (src.view<std::uint8_t>().at(x, y, static_cast<int>(c)) / 255.0 - kMean[c]) / kStd[c];
        EXPECT_NEAR(out[c * 60 + static_cast<std::size_t>(y * 20 + x)], expected, 2e-6);
      }
}

TEST(Normalize, RefusesWhatDoesNotFit) {
  const Image src = testing::random_image<std::uint8_t>(4, 4, 3, 4);
  std::vector<float> out(48);
  EXPECT_FALSE(normalize_chw(out, src.view<std::uint8_t>(), some(4)));
  EXPECT_FALSE(normalize_chw(std::span(out).first(47), src.view<std::uint8_t>(), some(3)));
  Image wrong = testing::poisoned_image<float>(4, 5, 3);
  EXPECT_FALSE(normalize_hwc(wrong.span<float>(), src.view<std::uint8_t>(), some(3)));
  constexpr std::array kMean = {0.5F};
  EXPECT_FALSE(Normalization::make(kMean, std::array{0.0F}));
  EXPECT_FALSE(Normalization::make(kMean, std::array{std::nanf("")}));
  EXPECT_FALSE(Normalization::make(kMean, std::array{1.0F, 1.0F}));
  EXPECT_FALSE(Normalization::make({}, {}));
}

}  // namespace
}  // namespace sluice::image::normalize_test
