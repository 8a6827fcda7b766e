// tests/image/codec_test.cpp - round trips, limits, damage: what decode and encode promise on
// images made here.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/codec.h"

#include "sluice/image/jpeg/exif.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/image/support.h"
#include <atomic>
#include <vector>

namespace sluice::image::codec_test {
namespace {

using ::testing::HasSubstr;
using Buffer = std::vector<std::uint8_t>;

Buffer jpeg(int width = 64, int height = 48, const JpegOptions& options = {}) {
  Buffer bytes;
  const Image image = testing::smooth_image(width, height);
  EXPECT_TRUE(encode_jpeg(bytes, image.view<std::uint8_t>(), options));
  return bytes;
}

TEST(Jpeg, RoundTripsEverySubsamplingAndMode) {
  const Image image = testing::smooth_image(67, 45);  // no multiple of any MCU
  Decoder decoder;
  for (const bool progressive : {false, true})
    for (const int restart : {0, 1})
      for (const auto& [subsampling, name] :
           {std::pair{Subsampling::s444, "4:4:4"}, std::pair{Subsampling::s422, "4:2:2"},
            std::pair{Subsampling::s440, "4:4:0"}, std::pair{Subsampling::s420, "4:2:0"},
            std::pair{Subsampling::s411, "4:1:1"}}) {
        const JpegOptions options{.quality = 95,
                                  .subsampling = subsampling,
                                  .progressive = progressive,
                                  .restart_rows = restart};
        Buffer bytes;
        ASSERT_TRUE(encode_jpeg(bytes, image.view<std::uint8_t>(), options));
        Image decoded;
        const Status status = decoder.decode(decoded, bytes);
        ASSERT_TRUE(status) << name << ": " << status.error().message;
        EXPECT_LT(
            testing::mean_difference(decoded.view<std::uint8_t>(), image.view<std::uint8_t>()), 1.5)
            << name;
        auto info = decoder.read_info(bytes);
        ASSERT_TRUE(info);
        EXPECT_EQ(info->subsampling, name);
        EXPECT_EQ(info->progressive, progressive);
        EXPECT_EQ(info->width, 67);
        EXPECT_EQ(info->height, 45);
      }
}

TEST(Jpeg, GreyBecomesRgb) {
  const Image grey = testing::smooth_image(33, 17, 1);
  Buffer bytes;
  ASSERT_TRUE(encode_jpeg(bytes, grey.view<std::uint8_t>(), {.quality = 100}));
  Image decoded;
  ASSERT_TRUE(decode_jpeg(decoded, bytes));
  ASSERT_EQ(decoded.channels(), 3);
  for (int y = 0; y < 17; ++y)
    for (int x = 0; x < 33; ++x) {
      const auto view = decoded.view<std::uint8_t>();
      EXPECT_EQ(view.at(x, y, 0), view.at(x, y, 1));
      EXPECT_EQ(view.at(x, y, 0), view.at(x, y, 2));
      EXPECT_NEAR(view.at(x, y, 0), grey.view<std::uint8_t>().at(x, y, 0), 2);
    }
}

TEST(Jpeg, DecodesIntoPaddedRowsOfTheCaller) {
  const Buffer bytes = jpeg();
  Image tight;
  ASSERT_TRUE(decode(tight, bytes));
  Image padded = testing::poisoned_image<std::uint8_t>(64, 48, 3, 13);
  Decoder decoder;
  ASSERT_TRUE(decoder.decode_into(padded.span<std::uint8_t>(), bytes));
  EXPECT_EQ(testing::max_difference(padded.view<std::uint8_t>(), tight.view<std::uint8_t>()), 0);
  EXPECT_TRUE(testing::padding_intact<std::uint8_t>(padded));
  Image wrong = testing::poisoned_image<std::uint8_t>(64, 47, 3);
  const Status status = decoder.decode_into(wrong.span<std::uint8_t>(), bytes);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("64x48x3"));
}

TEST(Jpeg, ReusedImageDoesNotAllocateAgain) {
  const Buffer large = jpeg(64, 48);
  const Buffer small = jpeg(20, 30);
  Decoder decoder;
  Image out;
  ASSERT_TRUE(decoder.decode(out, large));
  const std::size_t capacity = out.capacity_bytes();
  const auto* data = out.view<std::uint8_t>().data();
  ASSERT_TRUE(decoder.decode(out, small));
  ASSERT_TRUE(decoder.decode(out, large));
  EXPECT_EQ(out.capacity_bytes(), capacity);
  EXPECT_EQ(out.view<std::uint8_t>().data(), data);
}

// Every prefix: either refused with one line, or (allow_truncated, header complete) decoded to the
// full size.
TEST(Damage, EveryPrefixOfEveryKindIsRefused) {
  const Image image = testing::smooth_image(40, 32);
  std::vector<Buffer> files(4);
  ASSERT_TRUE(encode_jpeg(files[0], image.view<std::uint8_t>(), {.quality = 50}));
  ASSERT_TRUE(
      encode_jpeg(files[1], image.view<std::uint8_t>(), {.quality = 50, .progressive = true}));
  ASSERT_TRUE(
      encode_jpeg(files[2], image.view<std::uint8_t>(), {.quality = 50, .restart_rows = 1}));
  ASSERT_TRUE(encode_png(files[3], image.view<std::uint8_t>()));
  Decoder decoder;
  for (const Buffer& file : files) {
    Image out;
    ASSERT_TRUE(decoder.decode(out, file));
    int tolerated = 0;
    for (std::size_t size = 0; size < file.size(); ++size) {
      const Bytes prefix = Bytes(file).first(size);
      const Status strict = decoder.decode(out, prefix);
      ASSERT_FALSE(strict) << size << " of " << file.size();
      EXPECT_THAT(strict.error().message, Not(HasSubstr("\n")));
      if (!decoder.decode(out, prefix, {.allow_truncated = true})) continue;
      ++tolerated;
      EXPECT_EQ(out.width(), 40);
      EXPECT_EQ(out.height(), 32);
    }
    EXPECT_GT(tolerated, 20);
  }
}

TEST(Damage, TruncatedKeepsTheTop) {
  const Buffer bytes = jpeg(64, 256, {.quality = 95});
  Image whole, part;
  ASSERT_TRUE(decode(whole, bytes));
  ASSERT_TRUE(decode(part, Bytes(bytes).first(bytes.size() - 200), {.allow_truncated = true}));
  EXPECT_EQ(testing::max_difference(part.view<std::uint8_t>().crop(0, 0, 64, 32),
                                    whole.view<std::uint8_t>().crop(0, 0, 64, 32)),
            0);
}

TEST(Damage, ADecoderForgetsTheFileBefore) {
  // A JPEG without quantisation tables must fail whatever was decoded before it.
  const Buffer good = jpeg();
  Buffer bare = {0xFF, 0xD8};
  for (std::size_t at = 2; at + 4 < good.size() && good[at] == 0xFF;) {
    const std::size_t length = 2 + std::size_t{good[at + 2]} * 256 + good[at + 3];
    const bool last = good[at + 1] == 0xDA;
    if (good[at + 1] != 0xDB)
      bare.insert(bare.end(), good.begin() + static_cast<std::ptrdiff_t>(at),
                  last ? good.end() : good.begin() + static_cast<std::ptrdiff_t>(at + length));
    if (last) break;
    at += length;
  }
  Decoder decoder;
  Image out;
  EXPECT_FALSE(decoder.decode(out, bare));
  EXPECT_TRUE(decoder.decode(out, good));
  EXPECT_FALSE(decoder.decode(out, bare));
}

TEST(Limits, PixelsAreCountedBeforeMemoryIsTaken) {
  Buffer bytes = jpeg();
  Image out;
  const Status few = decode(out, bytes, {.max_pixels = 64 * 48 - 1});
  ASSERT_FALSE(few);
  EXPECT_THAT(few.error().message, HasSubstr("64x48"));
  EXPECT_THAT(few.error().message, HasSubstr("3071"));
  EXPECT_TRUE(decode(out, bytes, {.max_pixels = 64 * 48}));
  // The frame header says 65500 x 65500.
  for (std::size_t at = 2; at + 9 < bytes.size();
       at += 2 + std::size_t{bytes[at + 2]} * 256 + bytes[at + 3])
    if (bytes[at + 1] == 0xC0) {
      bytes[at + 5] = bytes[at + 7] = 0xFF;
      bytes[at + 6] = bytes[at + 8] = 0xDC;
      break;
    }
  const Status absurd = decode(out, bytes);
  ASSERT_FALSE(absurd);
  EXPECT_THAT(absurd.error().message, HasSubstr("65500x65500"));
}

TEST(Limits, ScansOfAProgressiveFile) {
  const Buffer bytes = jpeg(64, 48, {.progressive = true});  // libjpeg's script: 10 scans
  Image out;
  EXPECT_TRUE(decode(out, bytes, {.max_scans = 10}));
  const Status status = decode(out, bytes, {.max_scans = 9});
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("more than 9 scans"));
}

double scripted_now = 0;

TEST(Limits, TimePerFile) {
  const auto clock = [] { return scripted_now += 1; };
  Buffer png;
  ASSERT_TRUE(encode_png(png, testing::smooth_image(64, 48).view<std::uint8_t>()));
  Image out;
  for (const Buffer& bytes : {jpeg(), jpeg(64, 48, {.progressive = true}), png}) {
    EXPECT_TRUE(decode(out, bytes, {.max_seconds = 1000, .now_s = clock}));
    const Status status =
        decode(out, bytes, {.allow_truncated = true, .max_seconds = 3, .now_s = clock});
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("limit of 3 s"));
  }
}

TEST(Limits, GivesUpWhenToldTo) {
  Buffer png;
  ASSERT_TRUE(encode_png(png, testing::smooth_image(64, 48).view<std::uint8_t>()));
  Image out;
  std::atomic<bool> stop{false};
  for (const Buffer& bytes : {jpeg(), jpeg(64, 48, {.progressive = true}), png}) {
    stop = false;
    EXPECT_TRUE(decode(out, bytes, {.stop = &stop}));
    stop = true;
    EXPECT_FALSE(decode(out, bytes, {.allow_truncated = true, .stop = &stop}));
  }
}

TEST(Png, RoundTripsExactly) {
  Decoder decoder;
  for (const int channels : {1, 3}) {
    const Image image = testing::random_image<std::uint8_t>(31, 19, channels, 7, 5);
    Buffer bytes;
    ASSERT_TRUE(encode_png(bytes, image.view<std::uint8_t>()));
    Image out;
    ASSERT_TRUE(decoder.decode(out, bytes));
    ASSERT_EQ(out.channels(), 3);
    for (int y = 0; y < 19; ++y)
      for (int x = 0; x < 31; ++x)
        for (int c = 0; c < 3; ++c)
          ASSERT_EQ(out.view<std::uint8_t>().at(x, y, c),
                    image.view<std::uint8_t>().at(x, y, std::min(c, channels - 1)));
  }
}

TEST(Png, AlphaIsDroppedNotComposited) {
  const Image image = testing::random_image<std::uint8_t>(9, 9, 4, 3);
  Buffer bytes;
  ASSERT_TRUE(encode_png(bytes, image.view<std::uint8_t>()));
  Image out;
  ASSERT_TRUE(decode_png(out, bytes));
  for (int x = 0; x < 9; ++x)
    for (int c = 0; c < 3; ++c)
      EXPECT_EQ(out.view<std::uint8_t>().at(x, 4, c), image.view<std::uint8_t>().at(x, 4, c));
}

TEST(Sniff, GoesByContent) {
  Image out;
  const Status empty = decode(out, {});
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().message, HasSubstr("empty"));
  const Buffer gif = {'G', 'I', 'F', '8', '9', 'a'};
  const Status other = decode(out, gif);
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("GIF"));
  EXPECT_THAT(other.error().message, HasSubstr("JPEG, PNG or WebP"));
  const Status wrong = decode_png(out, jpeg());
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("jpeg"));
}

TEST(Encode, RefusesWhatTheFormatCannotHold) {
  Buffer out;
  EXPECT_FALSE(encode_jpeg(out, testing::smooth_image(4, 4, 4).view<std::uint8_t>()));
  EXPECT_FALSE(
      encode_jpeg(out, testing::smooth_image(4, 4, 3).view<std::uint8_t>(), {.quality = 0}));
  EXPECT_FALSE(encode_png(out, testing::smooth_image(4, 4, 5).view<std::uint8_t>()));
  EXPECT_FALSE(encode_png(out, testing::smooth_image(4, 4, 3).view<std::uint8_t>(), 10));
}

}  // namespace
}  // namespace sluice::image::codec_test
