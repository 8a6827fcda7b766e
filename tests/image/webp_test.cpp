// tests/image/webp_test.cpp - WebP against libwebp's simple interface; damage, limits, memory.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/allocations.h"
#include "tests/image/support.h"
#include <cstring>
#include <vector>
#include <webp/decode.h>

namespace sluice::image::webp_test {
namespace {

using ::testing::HasSubstr;
using Buffer = std::vector<std::uint8_t>;

Buffer webp(const Image& image, bool lossless) {
  Buffer bytes;
  EXPECT_TRUE(
      encode_webp(bytes, image.view<std::uint8_t>(), {.quality = 80, .lossless = lossless}));
  return bytes;
}

TEST(Webp, EqualsTheSimpleInterface) {
  Decoder decoder;
  for (const auto& [width, height] : {std::pair{1, 1}, std::pair{2, 3}, std::pair{17, 1},
                                      std::pair{1, 33}, std::pair{67, 45}, std::pair{128, 96}})
    for (const bool lossless : {false, true}) {
      const Image image = testing::random_image<std::uint8_t>(width, height, 3, 9, 11);
      const Buffer bytes = webp(image, lossless);
      int w = 0, h = 0;
      std::uint8_t* expected = WebPDecodeRGB(bytes.data(), bytes.size(), &w, &h);
      ASSERT_NE(expected, nullptr);
      Image out = testing::poisoned_image<std::uint8_t>(width, height, 3, 5);
      const Status status = decoder.decode_into(out.span<std::uint8_t>(), bytes);
      ASSERT_TRUE(status) << status.error().message;
      const ImageView<std::uint8_t> theirs(expected, w, h, 3, static_cast<std::size_t>(w) * 3);
      EXPECT_EQ(testing::max_difference(out.view<std::uint8_t>(), theirs), 0);
      EXPECT_TRUE(testing::padding_intact<std::uint8_t>(out));
      if (lossless) {
        EXPECT_EQ(testing::max_difference(out.view<std::uint8_t>(), image.view<std::uint8_t>()), 0);
      }
      WebPFree(expected);
      const auto info = decoder.read_info(bytes);
      ASSERT_TRUE(info);
      EXPECT_EQ(info->format, Format::webp);
      EXPECT_EQ(info->width, width);
      EXPECT_EQ(info->height, height);
      EXPECT_EQ(info->channels, 3);
      EXPECT_EQ(info->subsampling, lossless ? "" : "4:2:0");
    }
}

TEST(Webp, EveryPrefixIsRefused) {
  Decoder decoder;
  Image out;
  for (const bool lossless : {false, true}) {
    const Buffer file = webp(testing::smooth_image(40, 96), lossless);
    int tolerated = 0;
    for (std::size_t size = 0; size < file.size(); ++size) {
      const Bytes prefix = Bytes(file).first(size);
      const Status strict = decoder.decode(out, prefix);
      ASSERT_FALSE(strict) << size << " of " << file.size();
      EXPECT_THAT(strict.error().message, Not(HasSubstr("\n")));
      tolerated += decoder.decode(out, prefix, {.allow_truncated = true}).has_value() ? 1 : 0;
    }
    EXPECT_GT(tolerated, 20);
  }
}

TEST(Webp, TruncatedKeepsTheTopAndTheRestIsBlack) {
  const Image image = testing::random_image<std::uint8_t>(64, 256, 3, 4);
  const Buffer bytes = webp(image, false);
  Image whole, part;
  ASSERT_TRUE(decode(whole, bytes));
  ASSERT_TRUE(decode(part, Bytes(bytes).first(bytes.size() / 2), {.allow_truncated = true}));
  EXPECT_EQ(testing::max_difference(part.view<std::uint8_t>().crop(0, 0, 64, 64),
                                    whole.view<std::uint8_t>().crop(0, 0, 64, 64)),
            0);
  const Image black = [] {
    Image made = testing::poisoned_image<std::uint8_t>(64, 64, 3);
    std::memset(made.span<std::uint8_t>().data(), 0, std::size_t{64} * 64 * 3);
    return made;
  }();
  EXPECT_EQ(testing::max_difference(part.view<std::uint8_t>().crop(0, 192, 64, 64),
                                    black.view<std::uint8_t>()),
            0);
}

TEST(Webp, LimitsHold) {
  const Buffer bytes = webp(testing::random_image<std::uint8_t>(64, 48, 3, 4), false);
  Image out;
  const Status large = decode(out, bytes, {.max_pixels = 64 * 48 - 1});
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().message, HasSubstr("64x48"));
  static double now;
  now = 0;
  const auto clock = [] { return now += 1; };
  const Status slow =
      decode(out, bytes, {.allow_truncated = true, .max_seconds = 3, .now_s = clock});
  ASSERT_FALSE(slow);
  EXPECT_THAT(slow.error().message, HasSubstr("limit of 3 s"));
  EXPECT_TRUE(decode_webp(out, bytes, {.max_seconds = 1000, .now_s = clock}));
  EXPECT_FALSE(decode_png(out, bytes));
}

TEST(Webp, EncoderRefusesWhatTheFormatCannotHold) {
  Buffer out;
  EXPECT_FALSE(encode_webp(out, testing::smooth_image(4, 4, 1).view<std::uint8_t>()));
  EXPECT_FALSE(encode_webp(out, testing::smooth_image(16384, 1).view<std::uint8_t>()));
  EXPECT_FALSE(
      encode_webp(out, testing::smooth_image(4, 4).view<std::uint8_t>(), {.quality = 101}));
}

TEST(Webp, KeepsItsMemory) {
  const Buffer lossy = webp(testing::random_image<std::uint8_t>(64, 48, 3, 4), false);
  const Buffer lossless = webp(testing::random_image<std::uint8_t>(40, 50, 3, 4), true);
  Decoder decoder;
  Image out;
  const auto run = [&] {
    return decoder.decode(out, lossy).has_value() && decoder.decode(out, lossless).has_value() &&
           decoder.decode_region(out, lossy, {5, 6, 20, 30}).has_value();
  };
  ASSERT_TRUE(run());
  const std::size_t before = testing_support::allocations();
  ASSERT_TRUE(run());
  EXPECT_EQ(testing_support::allocations(), before);
}

}  // namespace
}  // namespace sluice::image::webp_test
