// tests/loader/erasing_test.cpp - random erasing: what is drawn, and what recipes make of it in
// every type and layout.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/recipe/erasing.h"

#include "sluice/image/inputs/photo.h"
#include "sluice/loader/recipe/place.h"
#include "sluice/loader/recipe/three_augment.h"
#include "sluice/loader/recipe/train_crop.h"

#include <gmock/gmock.h>

#include "tests/loader/recipe_run.h"
#include <cstring>
#include <vector>

namespace sluice::loader::erasing_test {
namespace {

using ::testing::ElementsAre;

std::vector<std::uint8_t> photo() {
  std::vector<std::uint8_t> jpeg;
  image::PhotoMaker maker;
  EXPECT_TRUE(maker.make_jpeg(jpeg, 1, 0, {.width = 150, .height = 100, .quality = 90}));
  return jpeg;
}

std::vector<std::byte> made_by(const Recipe& recipe, const std::vector<std::uint8_t>& encoded,
                               const SampleKey& key) {
  auto out = testing::run_once(recipe, encoded, key);
  EXPECT_TRUE(out);
  return out ? *std::move(out) : std::vector<std::byte>();
}

/// Where sample (y, x, c) lies, in samples.
std::size_t place_of(const OutputSpec& spec, int y, int x, int c) {
  return static_cast<std::size_t>(spec.layout == Layout::hwc
                                      ? (y * spec.width + x) * spec.channels + c
                                      : (c * spec.height + y) * spec.width + x);
}

TEST(Erasing, DrawsFollowFromTheKeyAndStayInside) {
  ErasingOptions options;
  options.probability = 0.25;
  int erased = 0;
  for (std::uint64_t index = 0; index < 4000; ++index) {
    const image::Rect box = draw_erasing(options, {1, 2, index}, 224);
    EXPECT_EQ(box, draw_erasing(options, {1, 2, index}, 224));
    if (box.width == 0) continue;
    ++erased;
    ASSERT_GE(box.x, 0);
    ASSERT_GE(box.y, 0);
    ASSERT_LE(box.x + box.width, 224);
    ASSERT_LE(box.y + box.height, 224);
    const double area = box.width * box.height / (224.0 * 224);
    ASSERT_GT(area, 0.018);
    ASSERT_LT(area, 0.34);
  }
  EXPECT_NEAR(erased, 1000, 120);
  options.probability = 0;
  EXPECT_EQ(draw_erasing(options, {1, 2, 3}, 224).width, 0);
}

TEST(Erasing, TheMeanAsBytes) {
  EXPECT_THAT(mean_levels(image::Normalization::imagenet()), ElementsAre(124, 116, 104));
}

TEST(Erasing, ABoxOfTheSampleBecomesTheMeanAndNothingElse) {
  const auto jpeg = photo();
  const auto levels = mean_levels(image::Normalization::imagenet());
  const auto normalized = normalized_levels(image::Normalization::imagenet());
  for (const BatchType type : {BatchType::u8, BatchType::f32, BatchType::bf16, BatchType::f16})
    for (const Layout layout : {Layout::hwc, Layout::chw})
      for (std::uint64_t index = 0; index < 6; ++index) {
        SCOPED_TRACE(::testing::Message() << to_string(type) << ' ' << to_string(layout));
        TrainCropOptions options;
        options.side = 48;
        options.type = type;
        options.layout = layout;
        const SampleKey key{3, 1, index};
        const auto before = made_by(*make_train_crop(options).value(), jpeg, key);
        options.erasing.probability = 1;
        const auto recipe = make_train_crop(options).value();
        const auto after = made_by(*recipe, jpeg, key);
        const image::Rect box = draw_erasing(options.erasing, key, 48);
        ASSERT_GT(box.width, 0);
        const std::size_t bytes = bytes_of(type);
        for (int y = 0; y < 48; ++y)
          for (int x = 0; x < 48; ++x)
            for (std::size_t c = 0; c < 3; ++c) {
              const bool inside =
                  x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height;
              const std::size_t at = bytes * place_of(recipe->output(), y, x, static_cast<int>(c));
              const float value = normalized[256 * c + levels[c]];
              std::uint32_t want = levels[c];
              if (type == BatchType::f32) std::memcpy(&want, &value, sizeof want);
              if (type == BatchType::bf16) want = to_bf16(value);
              if (type == BatchType::f16) want = to_f16(value);
              const void* const wanted =
                  inside ? static_cast<const void*>(&want) : before.data() + at;
              ASSERT_EQ(std::memcmp(after.data() + at, wanted, bytes), 0) << x << ' ' << y;
            }
      }
}

TEST(Erasing, BytesThatAreNormalisedLaterAreTheSameNumbers) {
  const auto jpeg = photo();
  const auto normalized = normalized_levels(image::Normalization::imagenet());
  ThreeAugmentOptions options;
  options.side = 40;
  options.erasing.probability = 1;
  const auto floats = make_three_augment(options).value();
  options.type = BatchType::u8;
  options.layout = Layout::hwc;
  const auto bytes = make_three_augment(options).value();
  for (std::uint64_t index = 0; index < 8; ++index) {
    const auto sent = made_by(*bytes, jpeg, {5, 0, index});
    const auto here = made_by(*floats, jpeg, {5, 0, index});
    for (int y = 0; y < 40; ++y)
      for (int x = 0; x < 40; ++x)
        for (std::size_t c = 0; c < 3; ++c) {
          const auto channel = static_cast<int>(c);
          float value = 0;
          std::memcpy(&value, here.data() + 4 * place_of(floats->output(), y, x, channel), 4);
          const auto level =
              static_cast<std::size_t>(sent[place_of(bytes->output(), y, x, channel)]);
          ASSERT_EQ(value, normalized[256 * c + level]);
        }
  }
}

TEST(Erasing, SaysSoAndRefusesWhatIsNoProbability) {
  TrainCropOptions options;
  EXPECT_FALSE(make_train_crop(options).value()->describe().contains("erasing"));
  options.erasing.probability = 0.25;
  EXPECT_EQ(make_train_crop(options).value()->describe().at("erasing"), 0.25);
  options.erasing.probability = 1.5;
  EXPECT_EQ(make_train_crop(options).error().message,
            "erasing with probability 1.5; accepted: 0 to 1");
}

}  // namespace
}  // namespace sluice::loader::erasing_test
