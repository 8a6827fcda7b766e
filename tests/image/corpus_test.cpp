// tests/image/corpus_test.cpp - docs/decode.md, rule by rule, on tests/image/corpus.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/image/codec.h"
#include "sluice/image/jpeg/exif.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/image/corpus_scene.h"
#include "tests/image/support.h"
#include "tests/places.h"
#include <cstdio>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace sluice::image::corpus_test {
namespace {

using ::testing::HasSubstr;
using Pixel = std::function<corpus::Rgb(int x, int y)>;

corpus::Rgb grey(int x, int y) {
  const std::uint8_t value = corpus::grey(x, y);
  return {value, value, value};
}

Pixel few_levels(int bits) {
  return [bits](int x, int y) {
    const std::uint8_t value =
        corpus::byte(corpus::few_levels(x, y, bits) * 255 / ((1 << bits) - 1));
    return corpus::Rgb{value, value, value};
  };
}

corpus::Rgb palette(int x, int y) {
  return corpus::palette(corpus::palette_index(x, y));
}

corpus::Rgb rgb16(int x, int y) {
  corpus::Rgb result{};
  for (int c = 0; c < 3; ++c)
    result[static_cast<std::size_t>(c)] =
        corpus::byte((corpus::rgb16(x, y, c) * 2 + 257) / 514);  // round(v / 257)
  return result;
}

corpus::Rgb grey16(int x, int y) {
  const std::uint8_t value = rgb16(x, y)[0];
  return {value, value, value};
}

struct Good {
  const char* file;
  Pixel pixel;
  int tolerance;  // per sample; what the chroma subsampling of a JPEG costs, 0 for PNG
};

std::vector<Good> good_files() {
  return {{"jpeg_444.jpg", corpus::rgb, 6},
          {"jpeg_422.jpg", corpus::rgb, 16},
          {"jpeg_440.jpg", corpus::rgb, 16},
          {"jpeg_420.jpg", corpus::rgb, 20},
          {"jpeg_411.jpg", corpus::rgb, 24},
          {"jpeg_progressive.jpg", corpus::rgb, 20},
          {"jpeg_restart.jpg", corpus::rgb, 6},
          {"jpeg_rgb.jpg", corpus::rgb, 6},
          {"jpeg_grey.jpg", grey, 4},
          {"jpeg_cmyk_adobe.jpg", corpus::cmyk_as_rgb, 6},
          {"jpeg_ycck_adobe.jpg", corpus::cmyk_as_rgb, 6},
          {"jpeg_cmyk_plain.jpg", corpus::cmyk_as_rgb, 6},
          {"jpeg_exif_bad.jpg", corpus::rgb, 6},
          {"png_rgb.png", corpus::rgb, 0},
          {"png_named.jpg", corpus::rgb, 0},
          {"png_rgba.png", corpus::rgb, 0},
          {"png_rgb_trns.png", corpus::rgb, 0},
          {"png_interlaced.png", corpus::rgb, 0},
          {"png_grey.png", grey, 0},
          {"png_grey_alpha.png", grey, 0},
          {"png_grey_trns.png", grey, 0},
          {"png_grey1.png", few_levels(1), 0},
          {"png_grey2.png", few_levels(2), 0},
          {"png_grey4.png", few_levels(4), 0},
          {"png_interlaced_grey1.png", few_levels(1), 0},
          {"png_palette4.png", palette, 0},
          {"png_palette8.png", palette, 0},
          {"png_palette_trns.png", palette, 0},
          {"png_rgb16.png", rgb16, 0},
          {"png_rgba16.png", rgb16, 0},
          {"png_grey16.png", grey16, 0},
          {"png_filter_none.png", corpus::rgb, 0},
          {"png_filter_sub.png", corpus::rgb, 0},
          {"png_filter_up.png", corpus::rgb, 0},
          {"png_filter_average.png", corpus::rgb, 0},
          {"png_filter_paeth.png", corpus::rgb, 0},
          {"webp_lossy.webp", corpus::rgb, 24},
          {"webp_lossless.webp", corpus::rgb, 0},
          {"webp_alpha.webp", corpus::rgb, 0}};
}

int worst(ImageView<std::uint8_t> image, const Pixel& pixel) {
  int most = 0;
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x)
      for (int c = 0; c < 3; ++c)
        most =
            std::max(most, std::abs(image.at(x, y, c) - pixel(x, y)[static_cast<std::size_t>(c)]));
  return most;
}

TEST(Corpus, GoodFilesHaveThePixelsTheRulesSay) {
  Decoder decoder;
  for (const Good& good : good_files())
    for (const bool exif : {false, true}) {
      Image image;
      const Status status = decoder.decode(image, testing::corpus_file(good.file), {.exif = exif});
      ASSERT_TRUE(status) << good.file << ": " << status.error().message;
      EXPECT_EQ(image.width(), corpus::kWidth) << good.file;
      EXPECT_EQ(image.height(), corpus::kHeight) << good.file;
      ASSERT_EQ(image.channels(), 3) << good.file;
      EXPECT_LE(worst(image.view<std::uint8_t>(), good.pixel), good.tolerance) << good.file;
    }
}

TEST(Corpus, OrientationIsIgnoredUnlessAskedFor) {
  Decoder decoder;
  Image stored, image;
  ASSERT_TRUE(decoder.decode(stored, testing::corpus_file("jpeg_444.jpg")));
  const auto at = [&](int x, int y, int c) { return stored.view<std::uint8_t>().at(x, y, c); };
  constexpr int kRight = corpus::kWidth - 1, kBottom = corpus::kHeight - 1;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const auto bytes = testing::corpus_file("jpeg_exif_" + std::to_string(orientation) + ".jpg");
    const auto info = decoder.read_info(bytes);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->orientation, orientation);
    ASSERT_TRUE(decoder.decode(image, bytes));
    EXPECT_EQ(testing::max_difference(image.view<std::uint8_t>(), stored.view<std::uint8_t>()), 0);
    ASSERT_TRUE(decoder.decode(image, bytes, {.exif = true}));
    ASSERT_EQ(image.width(), orientation >= 5 ? corpus::kHeight : corpus::kWidth);
    for (int y = 0; y < image.height(); ++y)
      for (int x = 0; x < image.width(); ++x) {
        int expected = 0;  // each written out, as the EXIF standard draws them
        switch (orientation) {
          case 1:
            expected = at(x, y, 0);
            break;
          case 2:
            expected = at(kRight - x, y, 0);
            break;
          case 3:
            expected = at(kRight - x, kBottom - y, 0);
            break;
          case 4:
            expected = at(x, kBottom - y, 0);
            break;
          case 5:
            expected = at(y, x, 0);
            break;
          case 6:
            expected = at(y, kBottom - x, 0);
            break;
          case 7:
            expected = at(kRight - y, kBottom - x, 0);
            break;
          default:
            expected = at(kRight - y, x, 0);
            break;
        }
        ASSERT_EQ(image.view<std::uint8_t>().at(x, y, 0), expected)
            << orientation << " at " << x << "," << y;
      }
  }
  for (const char* file : {"png_exif_6.png", "webp_exif_6.webp"}) {
    ASSERT_TRUE(decoder.decode(image, testing::corpus_file(file), {.exif = true}));
    EXPECT_EQ(image.width(), corpus::kHeight);
    EXPECT_EQ(image.view<std::uint8_t>().at(0, 0, 1), corpus::rgb(0, kBottom)[1]);
  }
}

struct Bad {
  const char* file;
  const char* reason;
  bool tolerable;  // decodes with allow_truncated
  Errc code = Errc::invalid_input;
};

const std::vector<Bad> kBadFiles = {
    {"jpeg_arithmetic.jpg", "arithmetic coding", false, Errc::unsupported},
    {"jpeg_12bit.jpg", "12 bits per sample", false, Errc::unsupported},
    {"jpeg_many_scans.jpg", "more than 100 scans", false},
    {"jpeg_huge.jpg", "65500x65500", false},
    {"jpeg_truncated.jpg", "truncated", true},
    {"jpeg_truncated_progressive.jpg", "truncated", true},
    {"jpeg_no_end.jpg", "truncated", true},
    {"jpeg_corrupt.jpg", "orrupt", true},
    {"png_truncated.png", "truncated", true},
    {"png_crc.png", "CRC", true},
    {"png_huge.png", "60000x60000", false},
    {"webp_animation.webp", "animation", false, Errc::unsupported},
    {"webp_truncated.webp", "truncated", true},
    {"webp_corrupt.webp", "corrupt", true},
    {"webp_huge.webp", "16384x16384", false},
    {"empty.jpg", "empty", false},
    {"text.jpg", "68 65 6c 6c", false},
    {"gif.png", "GIF", false}};

TEST(Corpus, BadFilesAreRefusedInOneLineThatSaysWhy) {
  Decoder decoder;
  for (const Bad& bad : kBadFiles) {
    Image image;
    const auto bytes = testing::corpus_file(bad.file);
    ::testing::internal::CaptureStderr();
    const Status status = decoder.decode(image, bytes);
    const Status tolerant = decoder.decode(image, bytes, {.allow_truncated = true});
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "libraries must not print";
    ASSERT_FALSE(status) << bad.file;
    EXPECT_EQ(status.error().code, bad.code) << bad.file;
    EXPECT_THAT(status.error().message, HasSubstr(bad.reason)) << bad.file;
    EXPECT_THAT(status.error().message, Not(HasSubstr("\n"))) << bad.file;
    EXPECT_EQ(tolerant.has_value(), bad.tolerable) << bad.file;
    if (tolerant) {
      EXPECT_EQ(image.width(), corpus::kWidth) << bad.file;
    }
  }
}

TEST(Corpus, ASmallFileCannotClaimAHugeImage) {
  // 60000 x 60000 in 94 bytes: refused even where the pixel limit would let it pass, before any
  // memory is taken.
  for (const char* file : {"png_huge.png", "jpeg_huge.jpg"}) {
    Image image;
    const Status status = decode(image, testing::corpus_file(file), {.max_pixels = UINT64_MAX});
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("truncated"));
    EXPECT_EQ(image.capacity_bytes(), 0U);
  }
}

// A file nobody tests is a rule nobody keeps.
TEST(Corpus, EveryFileIsInATest) {
  std::set<std::string> tested = {"png_exif_6.png", "webp_exif_6.webp"};
  for (const Good& good : good_files())
    tested.insert(good.file);
  for (const Bad& bad : kBadFiles)
    tested.insert(bad.file);
  for (int i = 1; i <= 8; ++i)
    tested.insert("jpeg_exif_" + std::to_string(i) + ".jpg");
  const auto rules = read_text_file(testing_support::source_dir() / "docs/decode.md");
  ASSERT_TRUE(rules);
  std::set<std::string> there;
  for (const auto& entry :
       std::filesystem::directory_iterator(testing_support::source_dir() / "tests/image/corpus")) {
    const std::string name = entry.path().filename().string();
    there.insert(name);
    const std::string written =
        name.rfind("jpeg_exif_", 0) == 0 && name != "jpeg_exif_bad.jpg" ? "jpeg_exif_1.jpg" : name;
    EXPECT_THAT(*rules, HasSubstr("`" + written + "`")) << "docs/decode.md does not name it";
  }
  EXPECT_EQ(tested, there);
}

}  // namespace
}  // namespace sluice::image::corpus_test
