// tests/loader/gpu_image_test.cpp - decode, crop and augment on the device against the CPU's:
// random shapes, mixed lanes, damaged files. Without a device every test is skipped, visibly.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/inputs/photo.h"
#include "sluice/image/resize/antialias.h"
#include "sluice/image/resize/bicubic.h"
#include "sluice/loader/gpu/device_feed.h"
#include "sluice/loader/gpu/jpeg_header.h"
#include "sluice/loader/gpu/library.h"
#include "sluice/loader/gpu/sample_draw.h"
#include "sluice/loader/recipe/place.h"

#include <gtest/gtest.h>

#include "tests/loader/gpu_support.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace sluice::loader::gpu::gpu_image_test {
namespace {

using namespace gpu::testing;  // NOLINT

/// A random part of width x height.
image::Rect random_part(Rng& rng, int width, int height) {
  image::Rect part;
  part.width = rng.between(1, width);
  part.height = rng.between(1, height);
  part.x = rng.between(0, width - part.width);
  part.y = rng.between(0, height - part.height);
  return part;
}

struct Encoded {
  std::vector<std::uint8_t> jpeg;
  Image pixels;  // by our decoder
};

Encoded encoded_photo(int width, int height, const image::JpegOptions& options,
                      std::uint64_t index) {
  Encoded made;
  const Image photo = photo_of(width, height, index);
  EXPECT_TRUE(image::encode_jpeg(made.jpeg, photo.view<std::uint8_t>(), options));
  EXPECT_TRUE(image::decode(made.pixels, made.jpeg));
  return made;
}

Sample sample_of(const Encoded& encoded, const ThreeAugmentDraw& draw) {
  Sample sample;
  sample.data = encoded.jpeg.data();
  sample.bytes = encoded.jpeg.size();
  sample.lane = Lane::encoded;
  sample.width = encoded.pixels.width();
  sample.height = encoded.pixels.height();
  sample.draw = sample_draw(draw);
  return sample;
}

ThreeAugmentDraw whole(const Encoded& encoded) {
  ThreeAugmentDraw draw;
  draw.part = {0, 0, encoded.pixels.width(), encoded.pixels.height()};
  return draw;
}

class GpuImage : public OnLine {};

TEST_F(GpuImage, DecodedPixelsAreOurs) {
  ImageLine line = open(224, 64);
  std::vector<Encoded> all;
  using enum image::Subsampling;
  Rng rng({.seed = 11});
  for (const image::Subsampling chroma : {s444, s422, s440, s420})
    for (const auto& [width, height] :
         {std::pair{1, 1}, {2, 3}, {17, 5}, {64, 64}, {500, 375}, {375, 500}, {33, 517}}) {
      image::JpegOptions options;
      options.subsampling = chroma;
      options.quality = rng.between(60, 98);
      options.restart_rows = rng.between(0, 2);
      all.push_back(encoded_photo(width, height, options, all.size()));
    }
  std::vector<Sample> samples;
  for (const Encoded& one : all) {
    const bool small = one.pixels.width() < 16 || one.pixels.height() < 16;
    EXPECT_EQ(look_at_jpeg(one.jpeg).refusal, small ? Refusal::small : Refusal::none);
    samples.push_back(sample_of(one, whole(one)));
  }
  const auto refused = line.decode(0, samples);
  ASSERT_OK(refused);
  EXPECT_TRUE(refused->empty());
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(::testing::Message()
                 << all[i].pixels.width() << " x " << all[i].pixels.height() << ", image " << i);
    const auto ours = tight(all[i].pixels);
    std::vector<std::uint8_t> theirs(ours.size(), 0xA5);
    ASSERT_OK(line.download_decoded(0, static_cast<int>(i), theirs));
    EXPECT_LE(share_beyond(theirs, ours, 2), 0.01);
  }
}

TEST_F(GpuImage, GreyFilesAreOurs) {
  ImageLine line = open(32, 8);
  Encoded grey;
  Image photo = photo_of(120, 90, 3);
  Image one = Image::make(120, 90, 1).value();
  for (int y = 0; y < 90; ++y)
    for (int x = 0; x < 120; ++x)
      one.span<std::uint8_t>().at(x, y, 0) = photo.view<std::uint8_t>().at(x, y, 1);
  ASSERT_OK(image::encode_jpeg(grey.jpeg, one.view<std::uint8_t>()));
  ASSERT_OK(image::decode(grey.pixels, grey.jpeg));
  const std::vector<Sample> samples{sample_of(grey, whole(grey))};
  ASSERT_OK(line.decode(0, samples));
  const auto ours = tight(grey.pixels);
  std::vector<std::uint8_t> theirs(ours.size(), 0xA5);
  ASSERT_OK(line.download_decoded(0, 0, theirs));
  EXPECT_LE(share_beyond(theirs, ours, 2), 0.01);
}

TEST_F(GpuImage, CropsAreTheCpusWithinALevel) {
  Rng rng({.seed = 12});
  for (const int side : {1, 7, 40, 224, 300}) {
    SCOPED_TRACE(side);
    ImageLine line = open(side, 16);
    const std::size_t bytes = static_cast<std::size_t>(side) * static_cast<std::size_t>(side) * 3;
    for (const Resample resample : {Resample::bilinear, Resample::bicubic}) {
      std::vector<Encoded> all;
      std::vector<ThreeAugmentDraw> draws;
      std::vector<Sample> samples;
      for (int i = 0; i < 12; ++i) {
        constexpr int most = 700;
        all.push_back(encoded_photo(i == 0 ? 1 : rng.between(1, most),
                                    i == 0 ? 1 : rng.between(1, most), {},
                                    static_cast<unsigned>(i)));
        ThreeAugmentDraw draw;
        draw.part = random_part(rng, all.back().pixels.width(), all.back().pixels.height());
        draw.mirrored = rng.below(2) == 1;
        draws.push_back(draw);
      }
      for (std::size_t i = 0; i < all.size(); ++i)
        samples.push_back(sample_of(all[i], draws[i]));
      ASSERT_OK(line.decode(0, samples));
      ASSERT_OK(line.process(0, samples, resample, Augment::none, Output::u8_hwc));
      std::vector<std::uint8_t> made(samples.size() * bytes, 0xA5);
      ASSERT_OK(line.download_output(0, std::as_writable_bytes(std::span(made))));
      for (std::size_t i = 0; i < all.size(); ++i) {
        SCOPED_TRACE(i);
        Image decoded = Image::make(all[i].pixels.width(), all[i].pixels.height(), 3).value();
        std::vector<std::uint8_t> pixels(tight(decoded).size());
        ASSERT_OK(line.download_decoded(0, static_cast<int>(i), pixels));
        fill(decoded, pixels);
        const image::Rect& part = draws[i].part;
        const auto view =
            decoded.view<std::uint8_t>().crop(part.x, part.y, part.width, part.height);
        Image resized = Image::make(side, side, 3).value();
        if (resample == Resample::bicubic)
          image::resize_bicubic_reference(resized.span<std::uint8_t>(), view);
        else
          image::resize_antialias_reference(resized.span<std::uint8_t>(), view);
        std::vector<std::uint8_t> expected = tight(resized);
        if (draws[i].mirrored) mirror(expected, side);
        const std::vector<std::uint8_t> ours(
            made.begin() + static_cast<std::ptrdiff_t>(i * bytes),
            made.begin() + static_cast<std::ptrdiff_t>((i + 1) * bytes));
        EXPECT_EQ(share_beyond(ours, expected, 1), 0);
      }
    }
  }
}

TEST_F(GpuImage, ChangesAndJitterAreTheCpusBits) {
  Rng rng({.seed = 13});
  for (const int side : {1, 2, 3, 8, 13, 36, 224, 300}) {
    SCOPED_TRACE(side);
    ImageLine line = open(side, 64);
    ASSERT_OK(line.set_levels(image::Normalization::imagenet()));
    const auto levels = normalized_levels(image::Normalization::imagenet());
    const std::size_t pixels = static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
    std::vector<std::vector<std::uint8_t>> images;
    std::vector<std::uint8_t> expected;
    std::vector<Sample> samples;
    ThreeAugmentScratch scratch;
    for (int i = 0; i < 40; ++i) {
      std::vector<std::uint8_t> bytes(3 * pixels);
      const int low = rng.between(0, 255), high = rng.between(low, 255);
      for (std::uint8_t& byte : bytes)
        byte = static_cast<std::uint8_t>(rng.between(low, high));
      ThreeAugmentOptions options;
      options.jitter = i % 4 == 0 ? 0.9 : 0.3;
      ThreeAugmentDraw draw = draw_three_augment(options, {5, 6, static_cast<unsigned>(i)}, 50, 50);
      if (i % 5 == 0) draw.saturation = 1.5;  // ties
      Image image = Image::make(side, side, 3).value();
      fill(image, bytes);
      ASSERT_OK(apply_three_augment(image, draw, scratch));
      const auto made = tight(image);
      expected.insert(expected.end(), made.begin(), made.end());
      images.push_back(std::move(bytes));
      Sample sample;
      sample.draw = sample_draw(draw);
      samples.push_back(sample);
    }
    for (std::size_t i = 0; i < samples.size(); ++i)
      samples[i].data = images[i].data();
    for (const Augment augment : {Augment::separate, Augment::fused}) {
      SCOPED_TRACE(augment == Augment::fused ? "fused" : "separate");
      std::vector<std::uint8_t> made(expected.size(), 0xA5);
      ASSERT_OK(line.decode(0, samples));
      ASSERT_OK(line.process(0, samples, Resample::bilinear, augment, Output::u8_hwc));
      ASSERT_OK(line.download_output(0, std::as_writable_bytes(std::span(made))));
      EXPECT_EQ(made, expected);
      std::vector<float> floats(expected.size(), NAN);
      ASSERT_OK(line.decode(1, samples));
      ASSERT_OK(line.process(1, samples, Resample::bilinear, augment, Output::f32_chw));
      ASSERT_OK(line.download_output(1, std::as_writable_bytes(std::span(floats))));
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < samples.size(); ++i)
        for (std::size_t c = 0; c < 3; ++c)
          for (std::size_t p = 0; p < pixels; ++p)
            wrong += floats[(i * 3 + c) * pixels + p] !=
                             levels[c * 256 + expected[(i * pixels + p) * 3 + c]]
                         ? 1
                         : 0;
      EXPECT_EQ(wrong, 0U);
    }
  }
}

TEST_F(GpuImage, ADamagedFileCostsItsSampleOnly) {
  ImageLine line = open(64, 16);
  std::vector<Encoded> all;
  for (unsigned i = 0; i < 9; ++i)
    all.push_back(encoded_photo(100 + static_cast<int>(i), 80, {}, i));
  image::JpegOptions progressive;
  progressive.progressive = true;
  ASSERT_OK(image::encode_jpeg(all[4].jpeg, all[4].pixels.view<std::uint8_t>(), progressive));
  std::fill_n(all[7].jpeg.begin() + 2, 400, std::uint8_t{0});
  EXPECT_EQ(look_at_jpeg(all[4].jpeg).refusal, Refusal::coding);
  EXPECT_EQ(look_at_jpeg(all[7].jpeg).refusal, Refusal::damaged);
  std::vector<Sample> samples;
  for (const Encoded& one : all)
    samples.push_back(sample_of(one, whole(one)));
  for (int turn = 0; turn < 2; ++turn) {  // the decoder goes on after it
    const auto refused = line.decode(turn, samples);
    ASSERT_OK(refused);
    EXPECT_EQ(*refused, (std::vector<std::size_t>{4, 7}));
    for (std::size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(i);
      if (i == 4 || i == 7) continue;
      const auto ours = tight(all[i].pixels);
      std::vector<std::uint8_t> theirs(ours.size(), 0xA5);
      ASSERT_OK(line.download_decoded(turn, static_cast<int>(i), theirs));
      EXPECT_LE(share_beyond(theirs, ours, 2), 0.01);
    }
  }
  EXPECT_FALSE(line.process(0, samples, Resample::bilinear, Augment::none, Output::u8_hwc))
      << "pixels of two are wanted";
  // The CPU stands in for them.
  const std::vector<std::uint8_t> red = [] {
    std::vector<std::uint8_t> bytes(64 * 64 * 3);
    for (std::size_t i = 0; i < bytes.size(); i += 3)
      bytes[i] = 200;
    return bytes;
  }();
  for (const std::size_t i : {4U, 7U}) {
    samples[i].lane = Lane::pixels;
    samples[i].data = red.data();
  }
  ASSERT_OK(line.process(1, samples, Resample::bilinear, Augment::none, Output::u8_hwc));
  std::vector<std::uint8_t> made(samples.size() * red.size(), 0xA5);
  ASSERT_OK(line.download_output(1, std::as_writable_bytes(std::span(made))));
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(std::equal(red.begin(), red.end(),
                         made.begin() + static_cast<std::ptrdiff_t>(i * red.size())),
              i == 4 || i == 7);
}

TEST_F(GpuImage, BatchesOfChangingSizesFollowOneAnother) {
  ImageLine line = open(48, 32, 3);
  Rng rng({.seed = 14});
  std::vector<Encoded> all;
  for (unsigned i = 0; i < 32; ++i)
    all.push_back(encoded_photo(rng.between(1, 300), rng.between(1, 300), {}, i));
  const std::vector<std::uint8_t> pixels(48 * 48 * 3, 77);
  for (int turn = 0; turn < 30; ++turn) {
    SCOPED_TRACE(turn);
    const int count = rng.between(0, 32);
    std::vector<Sample> samples;
    std::vector<std::size_t> numbers;
    for (int i = 0; i < count; ++i) {
      numbers.push_back(rng.below(all.size()));
      samples.push_back(sample_of(all[numbers.back()], whole(all[numbers.back()])));
      if (rng.below(3) == 0) {
        samples.back().lane = Lane::pixels;
        samples.back().data = pixels.data();
      }
    }
    const int buffer = turn % 3;
    ASSERT_OK(line.decode(buffer, samples));
    ASSERT_OK(line.process(buffer, samples, Resample::bilinear, Augment::none, Output::u8_hwc));
    std::vector<std::uint8_t> made(samples.size() * pixels.size(), 0xA5);
    ASSERT_OK(line.download_output(buffer, std::as_writable_bytes(std::span(made))));
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const std::vector<std::uint8_t> one(
          made.begin() + static_cast<std::ptrdiff_t>(i * pixels.size()),
          made.begin() + static_cast<std::ptrdiff_t>((i + 1) * pixels.size()));
      if (samples[i].lane == Lane::pixels) {
        EXPECT_EQ(one, pixels);
        continue;
      }
      Image resized = Image::make(48, 48, 3).value();
      image::resize_antialias_reference(resized.span<std::uint8_t>(),
                                        all[numbers[i]].pixels.view<std::uint8_t>());
      EXPECT_LE(share_beyond(one, tight(resized), 2), 0.01);
    }
  }
}

/// JPEGs in memory, every ninth a progressive one.
class Photos final : public Dataset {
 public:
  explicit Photos(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      image::JpegOptions options;
      options.progressive = i % 9 == 8;
      all_.push_back(encoded_photo(150 + static_cast<int>(i), 200, options, i).jpeg);
    }
  }
  [[nodiscard]] std::uint64_t size() const override { return all_.size(); }
  [[nodiscard]] std::string name(std::uint64_t index) const override {
    return std::to_string(index);
  }
  [[nodiscard]] std::int64_t label(std::uint64_t index) const override {
    return static_cast<std::int64_t>(index);
  }
  [[nodiscard]] std::span<const std::uint64_t> shard_starts() const override { return starts_; }
  [[nodiscard]] std::uint64_t bytes(std::uint64_t index) const override {
    return all_[index].size();
  }
  Result<std::span<const std::byte>> read(std::uint64_t index,
                                          storage::ReadBuffer&) const override {
    return std::as_bytes(std::span(all_[index]));
  }
  void cancel() const override {}

 private:
  std::vector<std::vector<std::uint8_t>> all_;
  std::vector<std::uint64_t> starts_{0};
};

TEST_F(GpuImage, FedBatchesAreTheLoaders) {
  const auto dataset = std::make_shared<Photos>(50);
  for (const LanePolicy policy : {LanePolicy::cpu, LanePolicy::gpu, LanePolicy::hybrid})
    for (const BatchType type : {BatchType::u8, BatchType::f32}) {
      SCOPED_TRACE(::testing::Message() << to_string(policy) << ' ' << to_string(type));
      DeviceFeedOptions options;
      options.policy = policy;
      options.loader.batch_size = 8;
      options.loader.pin_memory = type == BatchType::f32;
      options.recipe.type = type;
      options.recipe.layout = type == BatchType::u8 ? Layout::hwc : Layout::chw;
      const auto feed = DeviceFeed::make(dataset, options);
      ASSERT_OK(feed);
      const auto loader =
          Loader::make(dataset, make_three_augment(options.recipe).value(), options.loader).value();
      for (const std::uint64_t epoch : {0U, 3U}) {
        ASSERT_OK((*feed)->start_epoch(epoch));
        ASSERT_OK(loader->start_epoch(epoch));
        for (int step = 0; step < 6; ++step) {
          const auto theirs = (*feed)->next();
          ASSERT_OK(theirs);
          ASSERT_TRUE(*theirs);
          const auto ours = loader->next().value();
          ASSERT_TRUE(std::equal(ours->indices().begin(), ours->indices().end(),
                                 (*theirs)->indices().begin()));
          ASSERT_TRUE(std::equal(ours->labels().begin(), ours->labels().end(),
                                 (*theirs)->labels().begin()));
          std::vector<std::byte> made(ours->data().size(), std::byte{0xA5});
          ASSERT_OK((*feed)->download(**theirs, made));
          if (policy == LanePolicy::cpu) {
            EXPECT_TRUE(std::equal(made.begin(), made.end(), ours->data().begin()))
                << "the CPU's lane has the loader's bits";
            continue;
          }
          if (type != BatchType::u8) continue;
          std::vector<std::uint8_t> a(made.size()), b(made.size());
          std::memcpy(a.data(), made.data(), made.size());
          std::memcpy(b.data(), ours->data().data(), made.size());
          EXPECT_LE(share_beyond(a, b, 2), 0.01);
        }
      }
      const LaneCounts lanes = (*feed)->stats().lanes;
      EXPECT_EQ(lanes.gpu > 0, policy != LanePolicy::cpu);
      EXPECT_GT(lanes.cpu, 0U);
      EXPECT_EQ(lanes.late, 0U);
    }
}

TEST_F(GpuImage, WhatIsOutOfRangeIsRefused) {
  ImageLine line = open(32, 4);
  const Encoded one = encoded_photo(50, 40, {}, 1);
  ThreeAugmentDraw outside = whole(one);
  outside.part.x = 1;
  const std::vector<Sample> bad{sample_of(one, outside)};
  EXPECT_FALSE(line.decode(0, bad));
  const std::vector<Sample> many(5, sample_of(one, whole(one)));
  EXPECT_FALSE(line.decode(0, many));
  EXPECT_FALSE(line.decode(2, {}));
  const std::vector<Sample> good{sample_of(one, whole(one))};
  ASSERT_OK(line.decode(0, good));
  const Status without = line.process(0, good, Resample::bilinear, Augment::none, Output::f32_chw);
  ASSERT_FALSE(without);
  EXPECT_NE(without.error().message.find("levels"), std::string::npos);
  EXPECT_OK(line.process(0, good, Resample::bilinear, Augment::fused, Output::u8_hwc));
  EXPECT_OK(line.wait(0));

  LineOptions options;
  options.side = 0;
  EXPECT_FALSE(ImageLine::open(options));
  options.side = 32;
  options.device = 99;
  EXPECT_FALSE(ImageLine::open(options));
  options.device = 0;
  options.library = "/nowhere/libnvjpeg.so.13";
  const auto missing = ImageLine::open(options);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::usage);
}

}  // namespace
}  // namespace sluice::loader::gpu::gpu_image_test
