// tests/loader/jpeg_header_test.cpp - what JPEG engines are given, and what is kept from them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/gpu/jpeg_header.h"

#include "sluice/core/rng.h"
#include "sluice/image/inputs/photo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace sluice::loader::gpu::jpeg_header_test {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes encoded(int width, int height, const image::JpegOptions& options = {}) {
  image::Image photo;
  image::PhotoMaker maker;
  EXPECT_TRUE(maker.make(photo, 5, 1, {width, height, 90}));
  Bytes jpeg;
  EXPECT_TRUE(image::encode_jpeg(jpeg, photo.view<std::uint8_t>(), options));
  return jpeg;
}

/// Where a marker begins.
std::size_t find_marker(const Bytes& jpeg, std::uint8_t marker) {
  const Bytes wanted{0xff, marker};
  const auto found = std::search(jpeg.begin(), jpeg.end(), wanted.begin(), wanted.end());
  EXPECT_NE(found, jpeg.end());
  return static_cast<std::size_t>(found - jpeg.begin());
}

TEST(JpegHeader, BaselineFilesAreTaken) {
  using enum image::Subsampling;
  for (const image::Subsampling chroma : {s444, s422, s440, s420})
    for (const int restart_rows : {0, 1, 3}) {
      image::JpegOptions options;
      options.subsampling = chroma;
      options.restart_rows = restart_rows;
      const JpegLook look = look_at_jpeg(encoded(131, 67, options));
      EXPECT_EQ(look.refusal, Refusal::none);
      EXPECT_EQ(look.width, 131);
      EXPECT_EQ(look.height, 67);
    }
  const image::Image grey = image::Image::make(19, 20, 1).value();
  Bytes jpeg;
  ASSERT_TRUE(image::encode_jpeg(jpeg, grey.view<std::uint8_t>()));
  EXPECT_EQ(look_at_jpeg(jpeg).refusal, Refusal::none);
}

TEST(JpegHeader, ASideOfLessThanSixteenIsForTheCpu) {
  const auto look_at = [](int width, int height) {
    const image::Image grey = image::Image::make(width, height, 1).value();
    Bytes jpeg;
    EXPECT_TRUE(image::encode_jpeg(jpeg, grey.view<std::uint8_t>()));
    return look_at_jpeg(jpeg).refusal;
  };
  EXPECT_EQ(look_at(16, 16), Refusal::none);
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 300}, {15, 16}, {300, 15}})
    EXPECT_EQ(look_at(width, height), Refusal::small) << width << " x " << height;
  EXPECT_STREQ(to_string(Refusal::small), "small");
}

TEST(JpegHeader, WhatFollowsTheEndDoesNotMatter) {
  Bytes jpeg = encoded(50, 40);
  jpeg.insert(jpeg.end(), {0, 0, 0xff, 0xd8, 0xff, 0xc2});
  EXPECT_EQ(look_at_jpeg(jpeg).refusal, Refusal::none);
}

TEST(JpegHeader, OthersAreForTheCpu) {
  image::JpegOptions options;
  options.progressive = true;
  EXPECT_EQ(look_at_jpeg(encoded(50, 40, options)).refusal, Refusal::coding);
  options.progressive = false;
  options.subsampling = image::Subsampling::s411;
  EXPECT_EQ(look_at_jpeg(encoded(50, 40, options)).refusal, Refusal::colours);
  const image::Image image = image::Image::make(9, 20, 3).value();
  Bytes png;
  ASSERT_TRUE(image::encode_png(png, image.view<std::uint8_t>()));
  EXPECT_EQ(look_at_jpeg(png).refusal, Refusal::format);
  EXPECT_EQ(look_at_jpeg({}).refusal, Refusal::format);

  Bytes rgb = encoded(50, 40);  // Adobe's word that there is no transform
  const Bytes adobe{0xff, 0xee, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, 0};
  rgb.insert(rgb.begin() + 2, adobe.begin(), adobe.end());
  EXPECT_EQ(look_at_jpeg(rgb).refusal, Refusal::colours);
  rgb[2 + 15] = 1;
  EXPECT_EQ(look_at_jpeg(rgb).refusal, Refusal::none);

  Bytes twelve = encoded(50, 40);
  twelve[find_marker(twelve, 0xc0) + 4] = 12;
  EXPECT_EQ(look_at_jpeg(twelve).refusal, Refusal::coding);
}

TEST(JpegHeader, DamageIsSeen) {
  image::JpegOptions options;
  options.restart_rows = 1;
  const Bytes sound = encoded(200, 150, options);
  ASSERT_EQ(look_at_jpeg(sound).refusal, Refusal::none);
  for (std::size_t length = 2; length < sound.size(); ++length)
    ASSERT_NE(look_at_jpeg(image::Bytes(sound).first(length)).refusal, Refusal::none) << length;

  Bytes lost = sound;  // one restart
  lost.erase(lost.begin() + static_cast<std::ptrdiff_t>(find_marker(lost, 0xd3)),
             lost.begin() + static_cast<std::ptrdiff_t>(find_marker(lost, 0xd4)));
  EXPECT_EQ(look_at_jpeg(lost).refusal, Refusal::damaged);
  Bytes last = sound;  // and the last one
  const std::size_t end = find_marker(last, 0xd9);
  std::size_t at = end - 2;
  while (last[at] != 0xff || last[at + 1] < 0xd0 || last[at + 1] > 0xd7)
    --at;
  last.erase(last.begin() + static_cast<std::ptrdiff_t>(at),
             last.begin() + static_cast<std::ptrdiff_t>(end));
  EXPECT_EQ(look_at_jpeg(last).refusal, Refusal::damaged);

  const std::size_t scan = find_marker(sound, 0xda) + 14;
  for (std::size_t hole = scan; hole + 60 < sound.size(); hole += 37) {
    Bytes filled = sound;
    std::fill_n(filled.begin() + static_cast<std::ptrdiff_t>(hole), 40, std::uint8_t{0});
    ASSERT_EQ(look_at_jpeg(filled).refusal, Refusal::damaged) << hole;
  }
  Bytes twice = sound;  // two frames
  const std::size_t frame = find_marker(twice, 0xc0);
  const Bytes again(twice.begin() + static_cast<std::ptrdiff_t>(frame),
                    twice.begin() + static_cast<std::ptrdiff_t>(frame) + 19);
  twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(frame), again.begin(), again.end());
  EXPECT_EQ(look_at_jpeg(twice).refusal, Refusal::damaged);
}

TEST(JpegHeader, NothingIsReadBeyondTheEnd) {
  const Bytes sound = encoded(40, 30);
  Rng rng({.seed = 77});
  for (int turn = 0; turn < 20000; ++turn) {
    Bytes bytes(sound.begin(),
                sound.begin() + static_cast<std::ptrdiff_t>(rng.below(sound.size())));
    for (int change = 0; change < 4 && !bytes.empty(); ++change)
      bytes[rng.below(bytes.size())] = static_cast<std::uint8_t>(rng.below(256));
    bytes.shrink_to_fit();  // sanitizers watch the end
    static_cast<void>(look_at_jpeg(bytes));
  }
}

}  // namespace
}  // namespace sluice::loader::gpu::jpeg_header_test
