// tests/loader/three_augment_test.cpp - draws of the recipe, and what it makes against plain steps.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/recipe/three_augment.h"

#include "sluice/aug/colour/colour_chain.h"
#include "sluice/aug/filters/gaussian.h"
#include "sluice/image/inputs/photo.h"
#include "sluice/image/resize/antialias.h"
#include "sluice/loader/recipe/train_crop.h"

#include <gtest/gtest.h>

#include "tests/loader/recipe_run.h"
#include <cstring>
#include <map>
#include <vector>

namespace sluice::loader::three_augment_test {
namespace {

using image::Image;
using testing::run_once;

Image random_image(Rng& rng, int side) {
  Image made = Image::make(side, side, 3).value();
  const auto span = made.span<std::uint8_t>();
  const int low = rng.between(0, 255), high = rng.between(low, 255);
  for (int y = 0; y < side; ++y)
    for (std::size_t i = 0; i < span.row_samples(); ++i)
      span.row(y)[i] = static_cast<std::uint8_t>(rng.between(low, high));
  return made;
}

bool equal(const Image& a, const Image& b) {
  for (int y = 0; y < a.height(); ++y)
    if (std::memcmp(a.view<std::uint8_t>().row(y), b.view<std::uint8_t>().row(y),
                    a.view<std::uint8_t>().row_samples()) != 0)
      return false;
  return true;
}

/// By the definitions, pixel by pixel.
Image expected(const Image& image, const ThreeAugmentDraw& draw) {
  const auto from = image.view<std::uint8_t>();
  Image changed = Image::make(image.width(), image.height(), 3).value();
  const auto to = changed.span<std::uint8_t>();
  const aug::GaussianTaps taps = aug::gaussian_taps(5, draw.sigma);
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x)
      for (int c = 0; c < 3; ++c) {
        const int level = from.at(x, y, c);
        int made = level;
        if (draw.change == ThreeAugmentChange::grayscale)
          made = (9798 * from.at(x, y, 0) + 19235 * from.at(x, y, 1) + 3735 * from.at(x, y, 2) +
                  16384) /
                 32768;
        else if (draw.change == ThreeAugmentChange::solarize)
          made = level >= 128 ? 255 - level : level;
        else
          made = aug::blurred_reference(from, x, y, c, taps);
        to.at(x, y, c) = static_cast<std::uint8_t>(made);
      }
  aug::ColourChainDraw colours{draw.brightness,
                               draw.contrast,
                               draw.saturation,
                               0,
                               {draw.order[0], draw.order[1], draw.order[2], 3}};
  Image jittered = Image::make(image.width(), image.height(), 3).value();
  aug::colour_chain_reference<std::uint8_t>(jittered.span<std::uint8_t>(),
                                            changed.view<std::uint8_t>(), colours);
  return jittered;
}

TEST(ThreeAugment, DrawsAreWhatTheRecipeSays) {
  const ThreeAugmentOptions options;
  TrainCropOptions crop;
  crop.ranges = options.ranges;
  std::map<ThreeAugmentChange, int> changes;
  std::map<std::array<int, 3>, int> orders;
  int mirrored = 0;
  double sums[4] = {};
  constexpr int kDraws = 6000;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const SampleKey key{3, 4, i};
    const ThreeAugmentDraw draw = draw_three_augment(options, key, 500, 375);
    const TrainCropDraw plain = draw_train_crop(crop, key, 500, 375);
    ASSERT_EQ(draw.part, plain.part);
    ASSERT_EQ(draw.mirrored, plain.mirrored);
    ++changes[draw.change];
    ++orders[draw.order];
    mirrored += draw.mirrored ? 1 : 0;
    ASSERT_GE(draw.sigma, 0.1);
    ASSERT_LT(draw.sigma, 2.0);
    sums[3] += draw.sigma;
    const double factors[3] = {draw.brightness, draw.contrast, draw.saturation};
    for (int k = 0; k < 3; ++k) {
      ASSERT_GE(factors[k], 0.7);
      ASSERT_LT(factors[k], 1.3);
      sums[k] += factors[k];
    }
  }
  for (const auto& [change, count] : changes)
    EXPECT_NEAR(count, kDraws / 3, 200) << to_string(change);
  EXPECT_EQ(changes.size(), 3U);
  EXPECT_EQ(orders.size(), 6U);
  for (const auto& [order, count] : orders)
    EXPECT_NEAR(count, kDraws / 6, 150);
  EXPECT_NEAR(mirrored, kDraws / 2, 200);
  for (int k = 0; k < 3; ++k)
    EXPECT_NEAR(sums[k] / kDraws, 1, 0.01);
  EXPECT_NEAR(sums[3] / kDraws, 1.05, 0.03);
}

TEST(ThreeAugment, ChangesAndJitterAreTheDefinitions) {
  Rng rng({.seed = 21});
  ThreeAugmentScratch scratch;
  for (std::uint64_t i = 0; i < 60; ++i) {
    SCOPED_TRACE(i);
    const int side = rng.between(1, 70);
    const Image image = random_image(rng, side);
    ThreeAugmentOptions options;
    options.jitter = i % 3 == 0 ? 0.9 : 0.3;
    const ThreeAugmentDraw draw = draw_three_augment(options, {8, 9, i}, side, side);
    Image made = Image::make(side, side, 3).value();
    for (int y = 0; y < side; ++y)
      std::memcpy(made.span<std::uint8_t>().row(y), image.view<std::uint8_t>().row(y),
                  image.view<std::uint8_t>().row_samples());
    ASSERT_TRUE(apply_three_augment(made, draw, scratch));
    EXPECT_TRUE(equal(made, expected(image, draw))) << to_string(draw.change);
  }
}

TEST(ThreeAugment, TheRecipeIsItsSteps) {
  image::PhotoMaker maker;
  for (const int side : {1, 20, 224}) {
    ThreeAugmentOptions options;
    options.side = side;
    options.type = BatchType::u8;
    options.layout = Layout::hwc;
    const auto bytes = make_three_augment(options).value();
    options.type = BatchType::f32;
    options.layout = Layout::chw;
    const auto floats = make_three_augment(options).value();
    for (std::uint64_t i = 0; i < 8; ++i) {
      SCOPED_TRACE(i);
      std::vector<std::uint8_t> jpeg;
      ASSERT_TRUE(maker.make_jpeg(jpeg, 1, i, {150 + static_cast<int>(i), 120, 90}));
      const SampleKey key{2, 1, i};
      Image whole;
      ASSERT_TRUE(image::decode(whole, jpeg));
      const ThreeAugmentDraw draw = draw_three_augment(options, key, whole.width(), whole.height());
      Image resized = Image::make(side, side, 3).value();
      image::AntialiasResizer resizer;
      ASSERT_TRUE(resizer.run(resized.span<std::uint8_t>(),
                              whole.view<std::uint8_t>().crop(draw.part.x, draw.part.y,
                                                              draw.part.width, draw.part.height)));
      const Image made = expected(resized, draw);
      const auto as_bytes = run_once(*bytes, jpeg, key);
      ASSERT_TRUE(as_bytes);
      const auto as_floats = run_once(*floats, jpeg, key);
      ASSERT_TRUE(as_floats);
      const image::Normalization normalization = image::Normalization::imagenet();
      for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x)
          for (int c = 0; c < 3; ++c) {
            const int from = draw.mirrored ? side - 1 - x : x;
            const int level = made.view<std::uint8_t>().at(from, y, c);
            ASSERT_EQ(
                static_cast<int>((*as_bytes)[static_cast<std::size_t>((y * side + x) * 3 + c)]),
                level);
            float value = 0;
            std::memcpy(&value,
                        as_floats->data() +
                            sizeof(float) * static_cast<std::size_t>((c * side + y) * side + x),
                        sizeof value);
            const auto n = static_cast<std::size_t>(c);
            ASSERT_NEAR(
                value, static_cast<float>(level) * normalization.scale[n] + normalization.offset[n],
                1e-5);
          }
    }
  }
}

TEST(ThreeAugment, WhatCannotBeIsSaid) {
  ThreeAugmentOptions options;
  options.side = 0;
  EXPECT_FALSE(make_three_augment(options));
  options.side = 8;
  options.filter = Filter::plain;
  EXPECT_FALSE(make_three_augment(options));
  options.filter = Filter::bicubic;
  EXPECT_EQ(make_three_augment(options).value()->describe().at("filter"), "bicubic");
  options.filter = Filter::antialias;
  const auto recipe = make_three_augment(options).value();
  EXPECT_EQ(recipe->describe().at("name"), "three-augment");
  EXPECT_FALSE(run_once(*recipe, {1, 2, 3}, {}));
}

}  // namespace
}  // namespace sluice::loader::three_augment_test
