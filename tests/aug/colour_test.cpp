// tests/aug/colour_test.cpp - the colour steps where they are hard: colours of every kind through
// HSV, ties, the largest factors, every order; and draws that do not fit.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/registry.h"
#include "sluice/image/simd.h"

#include <gtest/gtest.h>

#include "tests/aug/support.h"
#include <algorithm>

namespace sluice::aug::colour_test {
namespace {

using image::Image;

/// 256 x 256: red and green; blue is given.
Image colours(int blue) {
  Image made = image::testing::poisoned_image<std::uint8_t>(256, 256, 3, 0);
  const auto span = made.span<std::uint8_t>();
  for (int y = 0; y < 256; ++y)
    for (int x = 0; x < 256; ++x) {
      span.at(x, y, 0) = static_cast<std::uint8_t>(x);
      span.at(x, y, 1) = static_cast<std::uint8_t>(y);
      span.at(x, y, 2) = static_cast<std::uint8_t>(blue);
    }
  return made;
}

/// Fast path and reference, which must not differ, on every instruction set.
void expect_same(const char* name, const Json& given, const Image& src) {
  const auto transform = make(name, Json::object());
  ASSERT_TRUE(transform.has_value());
  const auto draw = (*transform)->draw_from_json(given);
  ASSERT_TRUE(draw.has_value()) << draw.error().message;
  const auto from = src.view<std::uint8_t>();
  Image reference = src.clone().value();
  const auto plain = reference.span<std::uint8_t>();
  ASSERT_TRUE((*transform)->apply_reference(Frames<std::uint8_t>{{&plain, 1}, {&from, 1}}, *draw));
  for (const std::string& target : image::simd_targets()) {
    const image::SimdTargetOverride with(target);
    Image fast = src.clone().value();
    const auto to = fast.span<std::uint8_t>();
    Scratch scratch;
    ASSERT_TRUE((*transform)->apply(Frames<std::uint8_t>{{&to, 1}, {&from, 1}}, *draw, scratch));
    const auto off = testing::distance<std::uint8_t>(to, plain, 0);
    EXPECT_EQ(off.worst, 0) << target << " " << given.dump() << ": share " << off.beyond;
  }
}

TEST(Colour, ColoursOfEveryKindGoThroughHsv) {
  for (int blue = 0; blue < 256; blue += 5) {
    const Image src = colours(blue);
    expect_same("Hue", Json{{"shift", blue % 2 == 0 ? 17.3 : -20.0}}, src);
    expect_same("Saturation", Json{{"shift", blue % 2 == 0 ? 127.5 : -61.0}}, src);
  }
}

TEST(Colour, TiesAndLargeFactors) {
  const Image src = colours(93);
  // 1.00390625 is 257 / 256: ties that only the whole product shows
  for (const double factor : {0.0, 0.5, 1.0, 1.00390625, 1.25, 1.4, 1.5, 2.5, 3.99})
    for (const std::array<int, 4>& order :
         {std::array<int, 4>{0, 1, 2, 3}, std::array<int, 4>{2, 1, 0, 3}}) {
      const Json common{{"hue", 0.0}, {"order", order}};
      for (const char* which : {"brightness", "contrast", "saturation"}) {
        Json draw = common;
        draw[which] = factor;
        expect_same("ColorJiggle", draw, src);
      }
    }
}

TEST(Colour, EveryOrder) {
  std::array<int, 4> order{0, 1, 2, 3};
  const Image src = testing::input_image<std::uint8_t>({61, 37, 3}, 5);
  int count = 0;
  do {
    ++count;
    expect_same("PhotoMetricDistort",
                Json{{"brightness", 1.1},
                     {"contrast", 1.37},
                     {"saturation", 0.6},
                     {"hue", -0.3},
                     {"order", order},
                     {"channels", {2, 0, 1}}},
                src);
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(count, 24);
}

TEST(Colour, AHueOfZeroLeavesThePixels) {
  const auto transform = make("ColorJiggle", Json::object());
  const auto draw = (*transform)->draw_from_json(Json{{"hue", 0.0}});
  const Image src = testing::input_image<std::uint8_t>({33, 21, 3}, 8);
  Image dst = src.clone().value();
  const auto from = src.view<std::uint8_t>();
  const auto to = dst.span<std::uint8_t>();
  Scratch scratch;
  ASSERT_TRUE((*transform)->apply(Frames<std::uint8_t>{{&to, 1}, {&from, 1}}, *draw, scratch));
  EXPECT_EQ(testing::distance<std::uint8_t>(to, from, 0).worst, 0);
}

TEST(Colour, AnOrderThatIsNoneIsRefused) {
  const auto transform = make("PhotoMetricDistort", Json::object());
  const Image src = testing::input_image<std::uint8_t>({5, 4, 3}, 1);
  Image dst = src.clone().value();
  const auto from = src.view<std::uint8_t>();
  const auto to = dst.span<std::uint8_t>();
  Scratch scratch;
  for (const Json& given :
       {Json{{"order", {0, 0, 1, 2}}}, Json{{"order", {0, 1, 2, 3}}, {"channels", {0, 1, 1}}}}) {
    const auto draw = (*transform)->draw_from_json(given);
    ASSERT_TRUE(draw.has_value());
    const Status done =
        (*transform)->apply(Frames<std::uint8_t>{{&to, 1}, {&from, 1}}, *draw, scratch);
    ASSERT_FALSE(done.has_value());
    EXPECT_NE(done.error().message.find("in any order"), std::string::npos) << done.error().message;
  }
}

}  // namespace
}  // namespace sluice::aug::colour_test
