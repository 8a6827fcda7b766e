// tests/image/region_test.cpp - parts of images: the pixels of the whole, and scaled ones by rule.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/rng.h"
#include "sluice/image/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/allocations.h"
#include "tests/image/support.h"
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace sluice::image::region_test {
namespace {

using ::testing::HasSubstr;
using Buffer = std::vector<std::uint8_t>;

struct File {
  std::string name;
  Buffer bytes;
};

/// Noise over a gradient: every block has detail, so that a wrong neighbour shows.
Image detailed_image(int width, int height, int channels, std::uint64_t seed) {
  Image image = testing::smooth_image(width, height, channels);
  Rng rng({.seed = seed});
  for (int y = 0; y < height; ++y)
    for (std::size_t i = 0; i < image.view<std::uint8_t>().row_samples(); ++i)
      image.span<std::uint8_t>().row(y)[i] ^= static_cast<std::uint8_t>(rng.next_u32() & 127);
  return image;
}

void add_files(std::vector<File>& files, int width, int height) {
  const Image image = detailed_image(width, height, 3, 5);
  const std::string size = std::to_string(width) + "x" + std::to_string(height);
  for (const bool progressive : {false, true})
    for (const int restart : {0, 1})
      for (const auto& [subsampling, name] :
           {std::pair{Subsampling::s444, "4:4:4"}, std::pair{Subsampling::s422, "4:2:2"},
            std::pair{Subsampling::s440, "4:4:0"}, std::pair{Subsampling::s420, "4:2:0"},
            std::pair{Subsampling::s411, "4:1:1"}}) {
        File file{size + " " + name + (progressive ? " progressive" : "") +
                      (restart > 0 ? " restart" : ""),
                  {}};
        ASSERT_TRUE(encode_jpeg(file.bytes, image.view<std::uint8_t>(),
                                {.quality = 90,
                                 .subsampling = subsampling,
                                 .progressive = progressive,
                                 .restart_rows = restart}));
        files.push_back(std::move(file));
      }
  File grey{size + " grey", {}};
  ASSERT_TRUE(
      encode_jpeg(grey.bytes, detailed_image(width, height, 1, 6).view<std::uint8_t>(), {}));
  files.push_back(std::move(grey));
  File png{size + " png", {}};
  ASSERT_TRUE(encode_png(png.bytes, image.view<std::uint8_t>()));
  files.push_back(std::move(png));
  for (const bool lossless : {false, true}) {
    File webp{size + (lossless ? " webp lossless" : " webp"), {}};
    ASSERT_TRUE(encode_webp(webp.bytes, image.view<std::uint8_t>(), {.lossless = lossless}));
    files.push_back(std::move(webp));
  }
}

std::vector<File> all_files() {
  std::vector<File> files;
  add_files(files, 97, 75);   // no multiple of any MCU
  add_files(files, 128, 96);  // a multiple of all
  add_files(files, 18, 17);   // one column and row more than an MCU of 4:2:0
  for (const char* name : {"jpeg_cmyk_adobe.jpg", "jpeg_ycck_adobe.jpg", "jpeg_cmyk_plain.jpg",
                           "jpeg_rgb.jpg", "png_palette4.png", "png_interlaced.png"})
    files.push_back({name, testing::corpus_file(name)});
  return files;
}

/// The corners, the edges one pixel wide, one pixel in every corner, all of it; then random ones.
std::vector<Rect> regions_of(int width, int height, int random, std::uint64_t seed) {
  const int w = std::max(1, width / 2), h = std::max(1, height / 2);
  std::vector<Rect> regions = {{0, 0, width, height}, {0, 0, 1, 1}};
  for (const int x : {0, width - w})
    for (const int y : {0, height - h})
      regions.push_back({x, y, w, h});
  for (const int x : {0, width / 2, width - 1}) {
    regions.push_back({x, 0, 1, height});
    for (const int y : {0, height / 2, height - 1})
      regions.push_back({x, y, 1, 1});
  }
  for (const int y : {0, height / 2, height - 1})
    regions.push_back({0, y, width, 1});
  for (const int side : {8, 16, 32})  // just at, before and after the bounds of blocks
    for (const int step : {-1, 0, 1})
      if (side + step < std::min(width, height))
        regions.push_back({side + step, side + step, std::min(width - side - step, 9 - step),
                           std::min(height - side - step, 9 + step)});
  Rng rng({.seed = seed});
  for (int i = 0; i < random; ++i) {
    const auto draw = [&rng](int limit) {
      return static_cast<int>(rng.next_u32() % static_cast<unsigned>(limit));
    };
    Rect region;
    region.x = draw(width);
    region.y = draw(height);
    region.width = 1 + draw(width - region.x);
    region.height = 1 + draw(height - region.y);
    regions.push_back(region);
  }
  return regions;
}

std::string text(Rect r) {
  return std::to_string(r.width) + "x" + std::to_string(r.height) + " at (" + std::to_string(r.x) +
         ", " + std::to_string(r.y) + ")";
}

double difference(const Image& part, const Image& whole, Rect region) {
  return testing::max_difference(
      part.view<std::uint8_t>(),
      whole.view<std::uint8_t>().crop(region.x, region.y, region.width, region.height));
}

TEST(Region, HasThePixelsOfTheWhole) {
  Decoder decoder;
  Image whole, part;
  std::uint64_t seed = 0;
  for (const File& file : all_files()) {
    ASSERT_TRUE(decoder.decode(whole, file.bytes)) << file.name;
    for (const Rect region : regions_of(whole.width(), whole.height(), 40, ++seed)) {
      part = testing::poisoned_image<std::uint8_t>(region.width, region.height, 3);
      const Status status = decoder.decode_region(part, file.bytes, region);
      ASSERT_TRUE(status) << file.name << ": " << status.error().message;
      ASSERT_EQ(difference(part, whole, region), 0) << file.name << ", " << text(region);
    }
  }
}

TEST(Region, FarDownATallImage) {
  Decoder decoder;
  Image whole, part;
  const Image image = detailed_image(40, 1700, 3, 9);
  for (const Subsampling subsampling : {Subsampling::s420, Subsampling::s440, Subsampling::s444})
    for (const bool progressive : {false, true}) {
      Buffer bytes;
      ASSERT_TRUE(encode_jpeg(bytes, image.view<std::uint8_t>(),
                              {.subsampling = subsampling, .progressive = progressive}));
      ASSERT_TRUE(decoder.decode(whole, bytes));
      for (const int y : {511, 512, 513, 1023, 1025, 1040, 1535, 1699}) {
        const Rect region{7, y, 21, std::min(30, 1700 - y)};
        ASSERT_TRUE(decoder.decode_region(part, bytes, region));
        EXPECT_EQ(difference(part, whole, region), 0) << y;
      }
    }
}

TEST(Region, TinyImages) {
  Decoder decoder;
  Image whole, part;
  for (int width = 1; width <= 9; width += 2)
    for (int height = 1; height <= 9; height += 2)
      for (const Subsampling subsampling : {Subsampling::s420, Subsampling::s411}) {
        Buffer bytes;
        ASSERT_TRUE(encode_jpeg(bytes, detailed_image(width, height, 3, 4).view<std::uint8_t>(),
                                {.subsampling = subsampling}));
        ASSERT_TRUE(decoder.decode(whole, bytes));
        for (const Rect region : regions_of(width, height, 10, 3)) {
          ASSERT_TRUE(decoder.decode_region(part, bytes, region));
          ASSERT_EQ(difference(part, whole, region), 0)
              << width << "x" << height << ", " << text(region);
        }
      }
}

Buffer photo_like(int width, int height) {
  Buffer bytes;
  EXPECT_TRUE(encode_jpeg(bytes, detailed_image(width, height, 3, 8).view<std::uint8_t>(), {}));
  return bytes;
}

TEST(Region, OutsideIsAnErrorThatNamesTheValues) {
  const Buffer bytes = photo_like(40, 30);
  Decoder decoder;
  Image out;
  constexpr int kLargest = 2147483647;
  for (const Rect region :
       {Rect{-1, 0, 4, 4}, Rect{0, -1, 4, 4}, Rect{0, 0, 0, 4}, Rect{0, 0, 4, -3},
        Rect{40, 0, 1, 1}, Rect{37, 0, 4, 4}, Rect{0, 27, 4, 4}, Rect{1, 1, kLargest, kLargest},
        Rect{kLargest, kLargest, kLargest, kLargest}}) {
    const Status status = decoder.decode_region(out, bytes, region);
    ASSERT_FALSE(status) << text(region);
    EXPECT_THAT(status.error().message, HasSubstr(text(region)));
    EXPECT_THAT(status.error().message, HasSubstr("40x30"));
  }
}

TEST(Region, HeaderFirstThenOneRead) {
  const Buffer bytes = photo_like(40, 30);
  Decoder decoder;
  Image whole, out;
  ASSERT_TRUE(decoder.decode(whole, bytes));
  EXPECT_FALSE(decoder.read_region(out, {0, 0, 1, 1})) << "nothing is open";
  const auto info = decoder.open(bytes);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->width, 40);
  EXPECT_FALSE(decoder.read_region(out, {0, 0, 41, 1}));
  const Rect region{3, 5, 20, 11};
  ASSERT_TRUE(decoder.read_region(out, region)) << "a refused region leaves the image open";
  EXPECT_EQ(difference(out, whole, region), 0);
  const Status again = decoder.read_region(out, region);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("open()"));
  ASSERT_TRUE(decoder.open(bytes, {.exif = true}));
  const Status turned = decoder.read_region(out, region);
  ASSERT_FALSE(turned);
  EXPECT_THAT(turned.error().message, HasSubstr("exif"));
}

TEST(Region, KeepsItsMemory) {
  std::vector<File> files;
  add_files(files, 97, 75);
  Decoder decoder;
  Image out;
  const auto run = [&] {
    for (const File& file : files)
      for (const Rect region : {Rect{0, 0, 97, 75}, Rect{20, 20, 60, 40}, Rect{90, 70, 7, 5}}) {
        if (!decoder.open(file.bytes) || !decoder.read_region(out, region)) std::abort();
        if (!decoder.open(file.bytes) || !decoder.read_scaled(out, region, 2, 2)) std::abort();
      }
  };
  run();
  const std::size_t before = testing_support::allocations();
  run();
  EXPECT_EQ(testing_support::allocations(), before);
}

TEST(Region, LimitsAndDamageCountAsEver) {
  const Buffer bytes = photo_like(64, 640);
  Decoder decoder;
  Image out;
  EXPECT_FALSE(decoder.decode_region(out, bytes, {0, 0, 1, 1}, {.max_pixels = 100}));
  const Bytes half = Bytes(bytes).first(bytes.size() / 2);
  EXPECT_TRUE(decoder.decode_region(out, half, {0, 0, 64, 64})) << "all it needs is there";
  const Status below = decoder.decode_region(out, half, {0, 600, 64, 8});
  ASSERT_FALSE(below);
  EXPECT_THAT(below.error().message, HasSubstr("truncated"));
  EXPECT_TRUE(decoder.decode_region(out, half, {0, 600, 64, 8}, {.allow_truncated = true}));
  static double now;
  now = 0;
  const auto clock = [] { return now += 1; };
  const Status slow =
      decoder.decode_region(out, bytes, {1, 600, 8, 8}, {.max_seconds = 1, .now_s = clock});
  ASSERT_FALSE(slow);
  EXPECT_THAT(slow.error().message, HasSubstr("limit of 1 s"));
}

TEST(Scaled, SmallestThatIsStillLargeEnough) {
  EXPECT_EQ(smallest_scale(2000, 1500, 224, 224), DctScale::quarter);
  EXPECT_EQ(smallest_scale(1792, 1792, 224, 224), DctScale::eighth);
  EXPECT_EQ(smallest_scale(1791, 1792, 224, 224), DctScale::quarter);
  EXPECT_EQ(smallest_scale(448, 448, 224, 224), DctScale::half);
  EXPECT_EQ(smallest_scale(447, 448, 224, 224), DctScale::full);
  EXPECT_EQ(smallest_scale(500, 375, 224, 224), DctScale::full);
  EXPECT_EQ(smallest_scale(100, 100, 224, 224), DctScale::full);
  EXPECT_EQ(smallest_scale(1 << 20, 1 << 20, 2'000'000'000, 1), DctScale::full);
}

/// Means of the stored pixels under each scaled one.
Image box_scaled(const Image& whole, DctScale scale) {
  const int step = 8 / static_cast<int>(scale);
  Image out = testing::poisoned_image<std::uint8_t>(scaled_size(whole.width(), scale),
                                                    scaled_size(whole.height(), scale), 3);
  const auto from = whole.view<std::uint8_t>();
  for (int y = 0; y < out.height(); ++y)
    for (int x = 0; x < out.width(); ++x)
      for (int c = 0; c < 3; ++c) {
        int sum = 0, count = 0;
        for (int j = y * step; j < std::min((y + 1) * step, from.height()); ++j)
          for (int i = x * step; i < std::min((x + 1) * step, from.width()); ++i, ++count)
            sum += from.at(i, j, c);
        out.span<std::uint8_t>().at(x, y, c) = static_cast<std::uint8_t>(sum / count);
      }
  return out;
}

TEST(Scaled, IsTheImageMadeSmaller) {
  Decoder decoder;
  Image whole, small;
  for (const Subsampling subsampling : {Subsampling::s444, Subsampling::s422, Subsampling::s420}) {
    Buffer bytes;
    const Image image = testing::smooth_image(200, 120);
    ASSERT_TRUE(encode_jpeg(bytes, image.view<std::uint8_t>(), {.subsampling = subsampling}));
    ASSERT_TRUE(decoder.decode(whole, bytes));
    for (const DctScale scale : {DctScale::eighth, DctScale::quarter, DctScale::half}) {
      const int eighths = static_cast<int>(scale);
      ASSERT_TRUE(decoder.open(bytes));
      const auto done =
          decoder.read_scaled(small, {0, 0, 200, 120}, 200 * eighths / 8, 120 * eighths / 8);
      ASSERT_TRUE(done) << done.error().message;
      EXPECT_EQ(done->scale, scale);
      EXPECT_EQ(small.width(), 25 * eighths);
      EXPECT_LT(testing::mean_difference(small.view<std::uint8_t>(),
                                         box_scaled(whole, scale).view<std::uint8_t>()),
                1.5)
          << to_string(scale);
    }
  }
}

TEST(Scaled, PartsHaveThePixelsOfTheWholeAtThatScale) {
  Decoder decoder;
  Image whole, part;
  std::uint64_t seed = 100;
  for (const File& file : all_files()) {
    const auto info = decoder.open(file.bytes);
    ASSERT_TRUE(info);
    if (info->format != Format::jpeg) continue;
    for (const DctScale scale : {DctScale::eighth, DctScale::quarter, DctScale::half}) {
      const int eighths = static_cast<int>(scale);
      ASSERT_TRUE(decoder.open(file.bytes));
      const auto all = decoder.read_scaled(whole, {0, 0, info->width, info->height},
                                           info->width * eighths / 8, info->height * eighths / 8);
      ASSERT_TRUE(all) << file.name << ": " << all.error().message;
      ASSERT_EQ(all->scale, scale);
      EXPECT_EQ(whole.width(), scaled_size(info->width, scale));
      for (const Rect region : regions_of(info->width, info->height, 20, ++seed)) {
        if (region.width < 8 || region.height < 8) continue;
        ASSERT_TRUE(decoder.open(file.bytes));
        const auto done = decoder.read_scaled(part, region, region.width * eighths / 8,
                                              region.height * eighths / 8);
        ASSERT_TRUE(done) << file.name << ": " << done.error().message;
        ASSERT_EQ(done->scale, scale);
        ASSERT_EQ(difference(part, whole, done->decoded), 0)
            << file.name << " " << to_string(scale) << ", " << text(region);
        EXPECT_DOUBLE_EQ((done->decoded.x + done->x) * 8 / eighths, region.x);
        EXPECT_DOUBLE_EQ(done->height * 8 / eighths, region.height);
        EXPECT_LE(done->x + done->width, part.width());
        EXPECT_LT(part.height() - (done->y + done->height), 1.0);
      }
    }
  }
}

TEST(Scaled, FallsBackToExactAndSaysSo) {
  Decoder decoder;
  Image whole, out;
  const Buffer jpeg = photo_like(500, 375);
  Buffer png;
  ASSERT_TRUE(encode_png(png, testing::smooth_image(500, 375).view<std::uint8_t>()));
  const Rect region{20, 30, 300, 200};
  for (const Buffer& bytes : {jpeg, png}) {
    ASSERT_TRUE(decoder.decode(whole, bytes));
    ASSERT_TRUE(decoder.open(bytes));
    const int wanted = bytes == png ? 8 : 224;  // a PNG has no scales at all
    const auto done = decoder.read_scaled(out, region, wanted, wanted);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->scale, DctScale::full);
    EXPECT_EQ(done->decoded, region);
    EXPECT_EQ(done->x, 0);
    EXPECT_EQ(done->width, 300);
    EXPECT_EQ(difference(out, whole, region), 0);
  }
  ASSERT_TRUE(decoder.open(jpeg));
  EXPECT_FALSE(decoder.read_scaled(out, region, 0, 5));
}

}  // namespace
}  // namespace sluice::image::region_test
