// tests/scenario/micro_check_test.cpp - each exact definition accepts the right output and no
// other.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/micro/check.h"

#include <gtest/gtest.h>

#include "tests/image/support.h"
#include <string>

namespace sluice::scenario::micro_check_test {
namespace {

using image::Image;
using View = image::ImageView<std::uint8_t>;
using At = std::function<int(View in, int x, int y, int c)>;

constexpr int kWidth = 9;
constexpr int kHeight = 7;

struct Exact {
  const char* name;
  Json params;
  int width, height;  // of the output
  At at;
};

Image made(const Exact& exact, View in) {
  auto out = Image::make(exact.width, exact.height, in.channels());
  for (int y = 0; y < exact.height; ++y)
    for (int x = 0; x < exact.width; ++x)
      for (int c = 0; c < in.channels(); ++c)
        out->span<std::uint8_t>().at(x, y, c) = static_cast<std::uint8_t>(exact.at(in, x, y, c));
  return std::move(*out);
}

std::vector<Exact> all_exact() {
  const Json none = Json::object();
  const int w = kWidth, h = kHeight;
  return {
      {"HorizontalFlip", none, w, h,
       [](View in, int x, int y, int c) { return int{in.at(kWidth - 1 - x, y, c)}; }},
      {"VerticalFlip", none, w, h,
       [](View in, int x, int y, int c) { return int{in.at(x, kHeight - 1 - y, c)}; }},
      {"Transpose", none, h, w, [](View in, int x, int y, int c) { return int{in.at(y, x, c)}; }},
      {"Invert", none, w, h, [](View in, int x, int y, int c) { return 255 - in.at(x, y, c); }},
      {"Posterize",
       {{"bits", 4}},
       w,
       h,
       [](View in, int x, int y, int c) { return in.at(x, y, c) / 16 * 16; }},
      {"Pad",
       {{"padding", 2}, {"fill", 7}},
       w + 4,
       h + 4,
       [](View in, int x, int y, int c) {
         const bool inside = x >= 2 && y >= 2 && x < kWidth + 2 && y < kHeight + 2;
         return inside ? int{in.at(x - 2, y - 2, c)} : 7;
       }},
      {"RandomRotate90",
       {{"times", {1, 1}}},
       h,
       w,
       [](View in, int x, int y, int c) { return int{in.at(kWidth - 1 - y, x, c)}; }},
      {"RandomRotate90",
       {{"times", {0, 3}}},
       w,
       h,
       [](View in, int x, int y, int c) { return int{in.at(kWidth - 1 - x, kHeight - 1 - y, c)}; }},
      {"RandomRotate90",
       {{"times", {3, 3}}},
       h,
       w,
       [](View in, int x, int y, int c) { return int{in.at(y, kHeight - 1 - x, c)}; }},
      {"RandomCrop224",
       {{"height", 3}, {"width", 4}},
       4,
       3,
       [](View in, int x, int y, int c) { return int{in.at(x + 5, y + 4, c)}; }},
      {"ChannelShuffle", none, w, h,
       [](View in, int x, int y, int c) { return int{in.at(x, y, (c + 1) % 3)}; }},
      {"ChannelDropout", none, w, h,
       [](View in, int x, int y, int c) { return c == 1 ? 0 : int{in.at(x, y, c)}; }},
      {"Erasing",
       {{"fill", 0}},
       w,
       h,
       [](View in, int x, int y, int c) {
         return x > 2 && x < 5 && y > 3 ? 0 : int{in.at(x, y, c)};
       }},
      {"Grayscale", none, w, h, [](View in, int x, int y, int) { return in.at(x, y, 1); }},
  };
}

TEST(MicroCheck, RightOutputsPassAndOneWrongSampleDoesNot) {
  Image input = image::testing::random_image<std::uint8_t>(kWidth, kHeight, 3, 4);
  for (const Exact& exact : all_exact()) {
    MicroCase one;
    one.transform = exact.name;
    one.params = exact.params;
    Image output = made(exact, input.view<std::uint8_t>());
    const auto view = [&] {
      return check_output(one, input.view<std::uint8_t>(), output.view<std::uint8_t>());
    };
    EXPECT_TRUE(view()) << exact.name << ": " << view().error().message;
    std::uint8_t& sample = output.span<std::uint8_t>().at(0, exact.height - 1, 2);
    sample = static_cast<std::uint8_t>(sample == 200 ? 201 : 200);
    EXPECT_FALSE(view()) << exact.name;
  }
}

TEST(MicroCheck, SizesAreThoseOfTheDefinition) {
  const Image input = image::testing::random_image<std::uint8_t>(40, 20, 3, 4);
  const auto allowed = [&](const char* name, const Json& params, int width, int height) {
    MicroCase one;
    one.transform = name;
    one.params = params;
    const Image output = image::testing::random_image<std::uint8_t>(width, height, 3, 5);
    return check_output(one, input.view<std::uint8_t>(), output.view<std::uint8_t>()).has_value();
  };
  const Json resize{{"target_size", 10}};
  EXPECT_TRUE(allowed("Resize", resize, 10, 10));
  EXPECT_TRUE(allowed("Resize", resize, 20, 10)) << "some libraries keep the ratio";
  EXPECT_FALSE(allowed("Resize", resize, 10, 5));
  EXPECT_TRUE(allowed("LongestMaxSize", {{"max_size", 15}}, 15, 7));
  EXPECT_TRUE(allowed("LongestMaxSize", {{"max_size", 15}}, 15, 8));
  EXPECT_FALSE(allowed("LongestMaxSize", {{"max_size", 15}}, 15, 9));
  EXPECT_TRUE(allowed("SmallestMaxSize", {{"max_size", 15}}, 30, 15));
  EXPECT_FALSE(allowed("SmallestMaxSize", {{"max_size", 15}}, 15, 8));
  EXPECT_TRUE(allowed("RandomResizedCrop", {{"size", {6, 4}}}, 4, 6));
  EXPECT_FALSE(allowed("RandomResizedCrop", {{"size", {6, 4}}}, 6, 4));
  EXPECT_TRUE(allowed("Blur", Json::object(), 40, 20));
  EXPECT_FALSE(allowed("Blur", Json::object(), 20, 40));
}

TEST(MicroCheck, PaddedRowsAreNotAnOutput) {
  const Image input = image::testing::random_image<std::uint8_t>(8, 8, 3, 4);
  const Image output = image::testing::random_image<std::uint8_t>(8, 8, 3, 5, 4);
  MicroCase one;
  one.transform = "Blur";
  EXPECT_FALSE(check_output(one, input.view<std::uint8_t>(), output.view<std::uint8_t>()));
  EXPECT_FALSE(check_output(one, input.view<std::uint8_t>(), View()));
}

}  // namespace
}  // namespace sluice::scenario::micro_check_test
