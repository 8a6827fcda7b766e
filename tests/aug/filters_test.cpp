// tests/aug/filters_test.cpp - filters beyond fast against reference: every rounding boundary of
// the box, other parameters than the canonical, what is refused.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/registry.h"
#include "sluice/image/simd.h"

#include <gtest/gtest.h>

#include "tests/aug/support.h"

namespace sluice::aug::filters_test {
namespace {

using image::Image;

Image apply_to(const Transform& transform, const Image& src, const Draw& draw, bool reference) {
  Image dst =
      image::testing::poisoned_image<std::uint8_t>(src.width(), src.height(), src.channels(), 0);
  const ImageSpan<std::uint8_t> to = dst.span<std::uint8_t>();
  const ImageView<std::uint8_t> from = src.view<std::uint8_t>();
  const Frames<std::uint8_t> frames{{&to, 1}, {&from, 1}};
  Scratch scratch;
  const Status done =
      reference ? transform.apply_reference(frames, draw) : transform.apply(frames, draw, scratch);
  EXPECT_TRUE(done) << (done ? "" : done.error().message);
  return dst;
}

/// Repeats itself after `side` pixels, so that every square inside holds each sample once.
Image periodic(int side, int sum) {
  Image made = image::testing::poisoned_image<std::uint8_t>(3 * side + 60, 3 * side, 1, 0);
  const auto span = made.span<std::uint8_t>();
  const int count = side * side;
  for (int y = 0; y < span.height(); ++y)
    for (int x = 0; x < span.width(); ++x)
      span.at(x, y, 0) = static_cast<std::uint8_t>(
          sum / count + ((y % side) * side + x % side < sum % count ? 1 : 0));
  return made;
}

TEST(Blur, RoundsToNearestAtEveryBoundary) {
  for (const std::string& target : image::simd_targets()) {
    const image::SimdTargetOverride with(target);
    for (int side = 3; side <= 15; side += 2) {
      const auto blur = make("Blur", Json{{"radius", side}}).value();
      Rng rng({.seed = 1});
      const Draw draw = blur->sample(rng, {});
      const int count = side * side;
      for (int level = 0; level < 255; ++level)
        for (int above = 0; above < 2; ++above) {
          const Image made =
              apply_to(*blur, periodic(side, level * count + count / 2 + above), draw, false);
          ASSERT_EQ(made.view<std::uint8_t>().at(made.width() / 2, made.height() / 2, 0),
                    level + above)
              << target << " side " << side;
        }
    }
  }
}

struct Other {
  const char* name;
  Json params;
};

/// Sizes and strengths the canonical parameters do not reach.
TEST(Filters, OtherParametersMatchTheirReference) {
  const std::vector<Other> others = {
      {"GaussianBlur", Json{{"kernel_size", {3, 3}}, {"sigma", 0.1}}},
      {"GaussianBlur", Json{{"kernel_size", {7, 7}}, {"sigma", 1.3}}},
      {"GaussianBlur", Json{{"kernel_size", {7, 7}}, {"sigma", 100}}},
      {"Blur", Json{{"radius", 3}}},
      {"Blur", Json{{"radius", 15}}},
      {"MotionBlur", Json{{"kernel_size", 3}}},
      {"MotionBlur", Json{{"kernel_size", 9}}},
      {"Sharpen", Json{{"alpha", {1, 1}}, {"lightness", {2, 2}}}},
      {"Sharpen", Json{{"alpha", {1, 1}}, {"lightness", {0, 0}}}},
      {"EnhanceEdge", Json{{"alpha", {1, 1}}}},
      {"EnhanceDetail", Json{{"alpha", {0, 0}}}},
      {"UnsharpMask", Json{{"alpha", {1, 1}}, {"threshold", 0}, {"sigma", 0.8}}},
      {"CLAHE", Json{{"clip_limit", {1, 1}}, {"tile_grid", {1, 1}}}},
      {"CLAHE", Json{{"clip_limit", {40, 40}}, {"tile_grid", {3, 16}}}}};
  for (const Other& other : others)
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const auto transform = make(other.name, other.params).value();
      const Shape shape{90 + static_cast<int>(seed) * 7, 48, 3};
      Rng rng({.seed = seed});
      const Draw draw = transform->sample(rng, shape);
      const Image src = testing::input_image<std::uint8_t>(shape, seed);
      const Image fast = apply_to(*transform, src, draw, false);
      const Image reference = apply_to(*transform, src, draw, true);
      EXPECT_EQ(testing::distance<std::uint8_t>(fast.view<std::uint8_t>(),
                                                reference.view<std::uint8_t>(), 0)
                    .worst,
                0)
          << other.name << " " << other.params.dump() << " seed " << seed;
    }
}

TEST(Filters, RefuseEvenSizes) {
  const auto message = [](const char* name, const Json& params) {
    const auto made = make(name, params);
    return made ? std::string() : made.error().message;
  };
  EXPECT_EQ(message("Blur", Json{{"radius", 4}}), "Blur: radius 4: accepted are 3, 5, 7 to 15");
  EXPECT_EQ(message("GaussianBlur", Json{{"kernel_size", {3, 5}}}),
            "GaussianBlur: kernel_size [3, 5]: accepted are [3, 3], [5, 5] and [7, 7]");
  EXPECT_EQ(message("MotionBlur", Json{{"kernel_size", 4}}),
            "MotionBlur: kernel_size 4: accepted are 3, 5, 7 and 9");
  EXPECT_EQ(message("UnsharpMask", Json{{"blur_limit", {3, 6}}}),
            "UnsharpMask: blur_limit [3, 6]: accepted are 3, 5 and 7");
}

}  // namespace
}  // namespace sluice::aug::filters_test
