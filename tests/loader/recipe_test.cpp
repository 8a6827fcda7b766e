// tests/loader/recipe_test.cpp - recipes against their plain steps; types and layouts of places.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/inputs/photo.h"
#include "sluice/image/npy.h"
#include "sluice/image/resize/antialias.h"
#include "sluice/image/resize/resize.h"
#include "sluice/loader/recipe/numbers.h"
#include "sluice/loader/recipe/place.h"
#include "sluice/loader/recipe/recipes.h"
#include "sluice/loader/recipe/train_crop.h"

#include <gtest/gtest.h>

#include "tests/loader/recipe_run.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace sluice::loader::recipe_test {
namespace {

using image::Image;
using testing::run_once;

std::vector<std::uint8_t> photo(int width, int height, std::uint64_t index = 0) {
  std::vector<std::uint8_t> jpeg;
  image::PhotoMaker maker;
  EXPECT_TRUE(maker.make_jpeg(jpeg, 1, index, {.width = width, .height = height, .quality = 90}));
  return jpeg;
}

float bf16_to_float(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16U);
}

/// What IEEE 754 says of finite binary16.
double f16_to_double(std::uint16_t value) {
  const int exponent = value >> 10 & 0x1F, fraction = value & 0x3FF;
  const double size =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (value & 0x8000) != 0 ? -size : size;
}

/// Sample (y, x, c) of whatever type and layout.
double at(const std::vector<std::byte>& bytes, const OutputSpec& spec, int y, int x, int c) {
  const int i = spec.layout == Layout::hwc ? (y * spec.width + x) * spec.channels + c
                                           : (c * spec.height + y) * spec.width + x;
  const std::byte* from = bytes.data() + static_cast<std::size_t>(i) * bytes_of(spec.type);
  if (spec.type == BatchType::u8) return static_cast<double>(*from);
  if (spec.type == BatchType::f32) {
    float value = 0;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  std::uint16_t value = 0;
  std::memcpy(&value, from, sizeof value);
  return spec.type == BatchType::f16 ? f16_to_double(value) : bf16_to_float(value);
}

/// What the crop of this key is, by the plain steps, u8.
Image expected(const TrainCropOptions& options, const std::vector<std::uint8_t>& jpeg,
               const SampleKey& key) {
  Image whole;
  EXPECT_TRUE(image::decode(whole, jpeg));
  const TrainCropDraw draw = draw_train_crop(options, key, whole.width(), whole.height());
  Image resized = Image::make(options.side, options.side, 3).value();
  const auto part =
      whole.view<std::uint8_t>().crop(draw.part.x, draw.part.y, draw.part.width, draw.part.height);
  if (options.filter == Filter::antialias)
    image::resize_antialias_reference(resized.span<std::uint8_t>(), part);
  else
    image::resize_bilinear_reference(resized.span<std::uint8_t>(), part);
  Image result = Image::make(options.side, options.side, 3).value();
  for (int y = 0; y < options.side; ++y)
    for (int x = 0; x < options.side; ++x)
      for (int c = 0; c < 3; ++c)
        result.span<std::uint8_t>().at(x, y, c) =
            resized.view<std::uint8_t>().at(draw.mirrored ? options.side - 1 - x : x, y, c);
  return result;
}

TEST(TrainCrop, EveryTypeLayoutAndFilterIsThePlainSteps) {
  const auto jpeg = photo(150, 100);
  bool mirrored = false, straight = false;
  for (const Filter filter : {Filter::plain, Filter::antialias})
    for (const BatchType type : {BatchType::u8, BatchType::f32, BatchType::bf16, BatchType::f16})
      for (const Layout layout : {Layout::hwc, Layout::chw})
        for (std::uint64_t index = 0; index < 4; ++index) {
          TrainCropOptions options;
          options.side = 37;
          options.filter = filter;
          options.type = type;
          options.layout = layout;
          const SampleKey key{7, 1, index};
          (draw_train_crop(options, key, 150, 100).mirrored ? mirrored : straight) = true;
          const auto recipe = make_train_crop(options).value();
          const auto got = run_once(*recipe, jpeg, key).value();
          const Image want = expected(options, jpeg, key);
          const auto& n = options.normalization;
          for (int y = 0; y < 37; ++y)
            for (int x = 0; x < 37; ++x)
              for (int c = 0; c < 3; ++c) {
                const auto channel = static_cast<std::size_t>(c);
                const double level = want.view<std::uint8_t>().at(x, y, c);
                const double value =
                    type == BatchType::u8 ? level : level * n.scale[channel] + n.offset[channel];
                const double step = type == BatchType::u8 ? 1 : n.scale[channel];
                const double rounding = type == BatchType::bf16  ? (std::abs(value) + step) / 200
                                        : type == BatchType::f16 ? (std::abs(value) + step) / 1024
                                                                 : 1e-5;
                ASSERT_NEAR(at(got, recipe->output(), y, x, c), value, step + rounding)
                    << to_string(type) << " " << to_string(layout) << " " << x << " " << y;
              }
        }
  EXPECT_TRUE(mirrored && straight);
}

TEST(TrainCrop, FollowsFromTheKeyAlone) {
  const auto jpeg = photo(150, 100);
  TrainCropOptions options;
  options.side = 32;
  const auto recipe = make_train_crop(options).value();
  const auto first = run_once(*recipe, jpeg, {1, 2, 3}).value();
  EXPECT_EQ(first, run_once(*recipe, jpeg, {1, 2, 3}).value());
  EXPECT_NE(first, run_once(*recipe, jpeg, {2, 2, 3}).value());
  EXPECT_NE(first, run_once(*recipe, jpeg, {1, 3, 3}).value());
  EXPECT_NE(first, run_once(*recipe, jpeg, {1, 2, 4}).value());
}

TEST(TrainCrop, CentreModeTakesTheLargestSquare) {
  TrainCropOptions options;
  options.crop = CropMode::centre;
  const TrainCropDraw draw = draw_train_crop(options, {1, 2, 3}, 151, 100);
  EXPECT_EQ(draw.part, (image::Rect{25, 0, 100, 100}));
  EXPECT_FALSE(draw.mirrored);
}

TEST(TrainCrop, RefusesWhatIsNoImage) {
  const auto recipe = make_train_crop({}).value();
  const auto failed = run_once(*recipe, {1, 2, 3, 4}, {});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::invalid_input);
  TrainCropOptions options;
  options.side = 0;
  EXPECT_EQ(make_train_crop(options).error().message, "side is 0; accepted: 1 to 4096");
}

TEST(TrainCrop, GivesUpWhenStopped) {
  const auto jpeg = photo(600, 600);
  const auto recipe = make_train_crop({}).value();
  SystemClock system;
  WorkerCounters counters;
  StageClock clock(system, counters);
  const auto scratch = recipe->make_scratch();
  const std::atomic<bool> stop{true};
  RecipeContext context{*scratch, clock, &stop};
  std::vector<std::byte> out(recipe->output().bytes());
  EXPECT_FALSE(recipe->run(out, std::as_bytes(std::span(jpeg)), {}, context));
}

TEST(Resize, TakesTheWholeImage) {
  const auto jpeg = photo(80, 60);
  ResizeOptions options;
  options.width = 40;
  options.height = 20;
  options.type = BatchType::u8;
  options.layout = Layout::hwc;
  const auto recipe = make_resize(options).value();
  const auto got = run_once(*recipe, jpeg, {}).value();
  Image whole;
  ASSERT_TRUE(image::decode(whole, jpeg));
  Image want = Image::make(40, 20, 3).value();
  image::resize_bilinear_reference(want.span<std::uint8_t>(), whole.view<std::uint8_t>());
  for (int y = 0; y < 20; ++y)
    for (int x = 0; x < 40; ++x)
      for (int c = 0; c < 3; ++c)
        ASSERT_NEAR(at(got, recipe->output(), y, x, c), want.view<std::uint8_t>().at(x, y, c), 1);
}

TEST(Array, CopiesTheSamples) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  std::vector<std::uint8_t> npy;
  const std::array<std::int64_t, 2> shape{2, 3};
  ASSERT_TRUE(image::encode_npy(
      npy, shape, image::DType::f32,
      {reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(float)}));
  const OutputSpec spec = array_output(std::as_bytes(std::span(npy))).value();
  EXPECT_EQ(spec, (OutputSpec{2, 3, 1, BatchType::f32, Layout::hwc}));
  const auto recipe = make_array(spec).value();
  const auto got = run_once(*recipe, npy, {}).value();
  ASSERT_EQ(got.size(), sizeof(float) * 6);
  EXPECT_EQ(std::memcmp(got.data(), values.data(), got.size()), 0);
  const auto other = make_array({3, 3, 1, BatchType::f32, Layout::hwc}).value();
  EXPECT_EQ(run_once(*other, npy, {}).error().message,
            "an array of 2x3x1 f32; this batch takes 3x3x1 f32");
  npy.resize(npy.size() - 1);
  EXPECT_EQ(run_once(*recipe, npy, {}).error().code, Errc::invalid_input);
}

TEST(Numbers, FillTheSquareInTheirOrder) {
  const std::vector<std::uint8_t> values{0, 255, 51};
  std::vector<std::uint8_t> npy;
  const std::array<std::int64_t, 1> shape{3};
  ASSERT_TRUE(image::encode_npy(npy, shape, image::DType::u8, values));
  const auto recipe = make_numbers({.side = 2}).value();
  const auto got = run_once(*recipe, npy, {}).value();
  ASSERT_EQ(got.size(), sizeof(float) * 12);
  std::vector<float> floats(12);
  std::memcpy(floats.data(), got.data(), got.size());
  EXPECT_EQ(floats[0], -1);
  EXPECT_EQ(floats[1], 1);
  EXPECT_NEAR(floats[2], -0.6, 1e-6);
  for (std::size_t i = 3; i < floats.size(); ++i)
    EXPECT_EQ(floats[i], 0) << i;
  const auto small = make_numbers({.side = 1}).value();
  EXPECT_TRUE(run_once(*small, npy, {})) << "three values are three planes of one pixel";
}

TEST(Numbers, RefuseWhatDoesNotFitOrIsNoNumber) {
  const auto npy_of = [](const std::vector<float>& values) {
    std::vector<std::uint8_t> npy;
    const std::array<std::int64_t, 1> shape{static_cast<std::int64_t>(values.size())};
    EXPECT_TRUE(image::encode_npy(
        npy, shape, image::DType::f32,
        {reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(float)}));
    return npy;
  };
  const auto recipe = make_numbers({.side = 16}).value();
  EXPECT_TRUE(run_once(*recipe, npy_of(std::vector<float>(768, 0.5F)), {}));
  const auto large = run_once(*recipe, npy_of(std::vector<float>(769, 0.5F)), {});
  EXPECT_EQ(large.error().code, Errc::invalid_input);
  EXPECT_EQ(large.error().message,
            "an array of 769 values; a model of 16 x 16 takes 768, --image-size 32 takes them all");
  const float infinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(run_once(*recipe, npy_of({1, infinite}), {}).error().code, Errc::invalid_input);
}

TEST(ComposeRecipe, AppliesTheTransformsOfTheKey) {
  aug::Step resize, flip;
  resize.transform = "Resize";
  resize.params = Json{{"target_size", 24}};
  flip.transform = "HorizontalFlip";
  flip.p = 0.5;
  const auto compose =
      std::make_shared<const aug::Compose>(aug::Compose::make({resize, flip}).value());
  const OutputSpec spec{24, 24, 3, BatchType::u8, Layout::hwc};
  const auto recipe = make_compose(compose, spec, image::Normalization::imagenet()).value();
  const auto jpeg = photo(80, 60);
  std::vector<Image> frames(1), want;
  ASSERT_TRUE(image::decode(frames[0], jpeg));
  aug::Drawn drawn;
  aug::Workspace workspace;
  for (std::uint64_t index = 0; index < 4; ++index) {
    compose->sample(drawn, {.seed = 3, .epoch = 2, .index = index}, {80, 60, 3});
    ASSERT_TRUE(compose->apply(want, frames, drawn, workspace));
    const auto got = run_once(*recipe, jpeg, {3, 2, index}).value();
    for (int y = 0; y < 24; ++y)
      ASSERT_EQ(std::memcmp(got.data() + y * 72, want[0].view<std::uint8_t>().row(y), 72), 0);
  }
  const auto wrong = make_compose(compose, {25, 24, 3, BatchType::u8, Layout::hwc},
                                  image::Normalization::imagenet());
  EXPECT_EQ(run_once(**wrong, jpeg, {}).error().code, Errc::invalid_input);
}

TEST(Bf16, RoundsToNearestEven) {
  EXPECT_EQ(to_bf16(1.0F), 0x3F80);
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3F808000U)), 0x3F80);  // half: to even
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3F818000U)), 0x3F82);
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3F808001U)), 0x3F81);
  EXPECT_EQ(to_bf16(-std::numeric_limits<float>::infinity()), 0xFF80);
  EXPECT_NE(to_bf16(std::numeric_limits<float>::quiet_NaN()) & 0x7F, 0);
}

TEST(Place, HalvesAreRoundedToNearestAndTiesToEven) {
  // Every half is itself; halfway to the next goes to the even one, a hair more or less does not.
  for (std::uint32_t bits = 0; bits < 0x7BFF; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits), next = static_cast<std::uint16_t>(bits + 1);
    const double low = f16_to_double(half), high = f16_to_double(next);
    const auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(to_f16(static_cast<float>(low)), half);
    ASSERT_EQ(to_f16(static_cast<float>(-low)), half | 0x8000);
    ASSERT_EQ(to_f16(middle), bits % 2 == 0 ? half : next) << bits;
    ASSERT_EQ(to_f16(std::nextafter(middle, 0.0F)), half) << bits;
    ASSERT_EQ(to_f16(std::nextafter(middle, 1e9F)), next) << bits;
  }
  EXPECT_EQ(to_f16(65504.0F), 0x7BFF);
  EXPECT_EQ(to_f16(65519.0F), 0x7BFF);
  EXPECT_EQ(to_f16(65520.0F), 0x7C00);
  EXPECT_EQ(to_f16(-std::numeric_limits<float>::infinity()), 0xFC00);
  EXPECT_GT(to_f16(std::numeric_limits<float>::quiet_NaN()) & 0x7FFF, 0x7C00);
}

TEST(Place, LevelsAreWhatABatchHolds) {
  const auto normalization = image::Normalization::imagenet();
  const std::vector<float> levels = normalized_levels(normalization);
  ASSERT_EQ(levels.size(), 3U * 256);
  for (const int width : {1, 3, 17, 64, 224})
    for (const bool mirrored : {false, true}) {
      Image picture = Image::make(width, 5, 3).value();
      const auto pixels = picture.span<std::uint8_t>();
      for (int y = 0; y < 5; ++y)
        for (int x = 0; x < width; ++x)
          for (int c = 0; c < 3; ++c)
            pixels.at(x, y, c) = static_cast<std::uint8_t>((x * 7 + y * 101 + c * 53) % 256);
      const OutputSpec spec{5, width, 3, BatchType::f32, Layout::chw};
      std::vector<float> placed(spec.bytes() / sizeof(float));
      PlaceScratch scratch;
      ASSERT_TRUE(place(std::as_writable_bytes(std::span(placed)), spec,
                        picture.view<std::uint8_t>(), normalization, mirrored, scratch));
      for (int y = 0; y < 5; ++y)
        for (int x = 0; x < width; ++x)
          for (int c = 0; c < 3; ++c) {
            const int level = pixels.at(mirrored ? width - 1 - x : x, y, c);
            ASSERT_EQ(placed[static_cast<std::size_t>((c * 5 + y) * width + x)],
                      levels[static_cast<std::size_t>(c * 256 + level)])
                << width << " " << x << " " << y << " " << c;
          }
    }
}

}  // namespace
}  // namespace sluice::loader::recipe_test
