// tests/image/png_test.cpp - the fast PNG path against libpng: all filters, types, sizes, damage.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/rng.h"
#include "sluice/image/codec.h"
#include "sluice/image/png/decoder.h"
#include "sluice/image/png/fast.h"
#include "sluice/image/simd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/allocations.h"
#include "tests/image/support.h"
#include <cstring>
#include <libdeflate.h>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::image::png_test {
namespace {

using Buffer = std::vector<std::uint8_t>;

enum Colour { kGrey = 0, kRgb = 2, kPalette = 3, kGreyAlpha = 4, kRgba = 6 };

int channels_of(Colour colour) {
  return colour == kRgba ? 4 : colour == kRgb ? 3 : colour == kGreyAlpha ? 2 : 1;
}

void put_u32(Buffer& to, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8)
    to.push_back(static_cast<std::uint8_t>(value >> shift & 255));
}

void put_chunk(Buffer& to, std::string_view type, const Buffer& data) {
  put_u32(to, static_cast<std::uint32_t>(data.size()));
  const std::size_t start = to.size();
  to.insert(to.end(), type.begin(), type.end());
  to.insert(to.end(), data.begin(), data.end());
  put_u32(to, libdeflate_crc32(0, to.data() + start, to.size() - start));
}

/// A file of random filtered bytes: any are valid, so every filter meets every neighbour.
struct Plan {
  int width = 1;
  int height = 1;
  Colour colour = kRgb;
  int filter = -1;  // -1: another one for every row
  int pieces = 1;   // IDAT chunks
  int colours = 256;
  bool extra = false;  // an unknown ancillary chunk with a wrong CRC between
  std::uint64_t seed = 1;
};

Buffer deflated(const Buffer& raw) {
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(1);
  Buffer out(libdeflate_zlib_compress_bound(compressor, raw.size()));
  out.resize(libdeflate_zlib_compress(compressor, raw.data(), raw.size(), out.data(), out.size()));
  libdeflate_free_compressor(compressor);
  return out;
}

Buffer make_png(const Plan& plan) {
  Rng rng({.seed = plan.seed});
  Buffer raw;
  for (int y = 0; y < plan.height; ++y) {
    raw.push_back(static_cast<std::uint8_t>(plan.filter >= 0 ? static_cast<unsigned>(plan.filter)
                                                             : rng.next_u32() % 5));
    for (int i = 0; i < plan.width * channels_of(plan.colour); ++i)
      raw.push_back(static_cast<std::uint8_t>(rng.next_u32() & 255));
  }
  Buffer file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  Buffer header;
  put_u32(header, static_cast<std::uint32_t>(plan.width));
  put_u32(header, static_cast<std::uint32_t>(plan.height));
  header.insert(header.end(), {8, static_cast<std::uint8_t>(plan.colour), 0, 0, 0});
  put_chunk(file, "IHDR", header);
  if (plan.colour == kPalette) {
    Buffer palette;
    for (int i = 0; i < 3 * plan.colours; ++i)
      palette.push_back(static_cast<std::uint8_t>(rng.next_u32() & 255));
    put_chunk(file, "PLTE", palette);
  }
  if (plan.extra) {
    put_chunk(file, "teSt", {1, 2, 3});
    file.back() ^= 1;
  }
  const Buffer data = deflated(raw);
  const std::size_t piece = data.size() / static_cast<std::size_t>(plan.pieces) + 1;
  for (std::size_t at = 0; at < data.size(); at += piece)
    put_chunk(
        file, "IDAT",
        Buffer(data.begin() + static_cast<std::ptrdiff_t>(at),
               data.begin() + static_cast<std::ptrdiff_t>(std::min(at + piece, data.size()))));
  put_chunk(file, "IEND", {});
  return file;
}

std::string text(const Plan& plan) {
  return std::to_string(plan.width) + "x" + std::to_string(plan.height) + " colour " +
         std::to_string(plan.colour) + " filter " + std::to_string(plan.filter);
}

/// By libpng alone.
Status reference(Image& out, Bytes file, const DecodeOptions& options = {}) {
  PngDecoder decoder;
  decoder.use_reference(true);
  SLUICE_TRY(const ImageInfo info, decoder.open(file, options));
  SLUICE_CHECK(out.resize_for(info.width, info.height, 3));
  return decoder.read(out.span<std::uint8_t>(), {0, 0, info.width, info.height});
}

void expect_equal(FastPng& fast, const Plan& plan) {
  const Buffer file = make_png(plan);
  Image expected;
  ASSERT_TRUE(reference(expected, file)) << text(plan);
  const auto info = fast.open(file);
  ASSERT_TRUE(info.has_value()) << text(plan);
  EXPECT_EQ(info->width, plan.width);
  EXPECT_EQ(info->channels, channels_of(plan.colour));
  Image out = testing::poisoned_image<std::uint8_t>(plan.width, plan.height, 3, 7);
  ASSERT_EQ(fast.read(out.span<std::uint8_t>(), {0, 0, plan.width, plan.height}, Deadline()),
            FastPng::Outcome::done)
      << text(plan);
  EXPECT_EQ(testing::max_difference(out.view<std::uint8_t>(), expected.view<std::uint8_t>()), 0)
      << text(plan);
  EXPECT_TRUE(testing::padding_intact<std::uint8_t>(out)) << text(plan);
}

TEST(FastPng, EqualsLibpngForEveryFilterTypeAndWidth) {
  for (const std::string& target : simd_targets()) {
    const SimdTargetOverride override(target);
    FastPng fast;
    std::uint64_t seed = 0;
    for (const Colour colour : {kGrey, kRgb, kPalette, kGreyAlpha, kRgba})
      for (const int filter : {-1, 0, 1, 2, 3, 4})
        for (const int width : {1, 2, 3, 5, 6, 11, 16, 31, 67, 101}) {
          Plan plan{.width = width, .height = 11, .colour = colour, .filter = filter};
          plan.seed = ++seed;
          expect_equal(fast, plan);
        }
  }
}

TEST(FastPng, EveryPairOfFiltersInEveryOrder) {
  FastPng fast;
  for (const Colour colour : {kGrey, kRgb, kRgba})
    for (std::uint64_t seed = 0; seed < 20; ++seed)
      expect_equal(fast, {.width = 23, .height = 40, .colour = colour, .seed = 1000 + seed});
}

TEST(FastPng, ManyPiecesShortPalettesAndChunksBetween) {
  FastPng fast;
  expect_equal(fast, {.width = 40, .height = 30, .pieces = 17, .extra = true});
  // Indices past the end of the palette are black in both.
  expect_equal(fast, {.width = 40, .height = 30, .colour = kPalette, .colours = 7});
}

TEST(FastPng, APaethGuessIsTheStandards) {
  // Random neighbours, 300,000 of them: ties and turns of the choice among them.
  FastPng fast;
  expect_equal(fast, {.width = 800, .height = 120, .colour = kRgb, .filter = 4, .seed = 77});
  expect_equal(fast, {.width = 800, .height = 120, .colour = kRgba, .filter = 4, .seed = 78});
}

TEST(FastPng, LeavesTheUnusualToLibpng) {
  FastPng fast;
  for (const char* name :
       {"png_rgb16.png", "png_grey1.png", "png_palette4.png", "png_interlaced.png",
        "png_palette_trns.png", "png_rgb_trns.png", "png_truncated.png"})
    EXPECT_FALSE(fast.open(testing::corpus_file(name)).has_value()) << name;
  for (const char* name : {"png_rgb.png", "png_rgba.png", "png_grey.png", "png_grey_alpha.png",
                           "png_palette8.png", "png_exif_6.png"})
    EXPECT_TRUE(fast.open(testing::corpus_file(name)).has_value()) << name;
  // Opened, but the CRC of its data is wrong: declined, and libpng says why.
  const Buffer damaged = testing::corpus_file("png_crc.png");
  const auto info = fast.open(damaged);
  ASSERT_TRUE(info.has_value());
  Image out = testing::poisoned_image<std::uint8_t>(info->width, info->height, 3);
  EXPECT_EQ(fast.read(out.span<std::uint8_t>(), {0, 0, info->width, info->height}, Deadline()),
            FastPng::Outcome::declined);
}

// One byte changed anywhere: both paths accept or refuse alike, in the same words, with the same
// pixels.
TEST(FastPng, DamageIsJudgedAsByLibpng) {
  Decoder decoder;
  Image ours, theirs;
  Rng rng({.seed = 5});
  int refused = 0;
  for (const Colour colour : {kRgb, kPalette}) {
    const Buffer good = make_png({.width = 12, .height = 9, .colour = colour, .pieces = 3});
    for (std::size_t at = 8; at < good.size(); ++at) {
      Buffer bad = good;
      bad[at] ^= static_cast<std::uint8_t>(1 + rng.next_u32() % 255);
      for (const bool tolerant : {false, true}) {
        const DecodeOptions options{.allow_truncated = tolerant, .max_pixels = 1 << 20};
        const Status a = decoder.decode(ours, bad, options);
        const Status b = reference(theirs, bad, options);
        ASSERT_EQ(a.has_value(), b.has_value()) << at;
        if (a)
          ASSERT_EQ(testing::max_difference(ours.view<std::uint8_t>(), theirs.view<std::uint8_t>()),
                    0)
              << at;
        else
          ASSERT_EQ(a.error().message, b.error().message) << at;
        refused += a ? 0 : 1;
      }
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(FastPng, KeepsItsMemory) {
  const Buffer large = make_png({.width = 90, .height = 60, .pieces = 5});
  const Buffer small = make_png({.width = 30, .height = 60, .colour = kGrey});
  Decoder decoder;
  Image out;
  const auto run = [&] {
    return decoder.decode(out, large).has_value() && decoder.decode(out, small).has_value() &&
           decoder.decode_region(out, large, {5, 6, 20, 30}).has_value();
  };
  ASSERT_TRUE(run());
  const std::size_t before = testing_support::allocations();
  ASSERT_TRUE(run());
  EXPECT_EQ(testing_support::allocations(), before);
}

}  // namespace
}  // namespace sluice::image::png_test
