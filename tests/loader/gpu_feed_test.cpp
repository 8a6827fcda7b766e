// tests/loader/gpu_feed_test.cpp - whole feeds on the device: what is erased, what is damaged, what
// is very small or very large. Without a device every test is skipped, visibly.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/codec.h"
#include "sluice/loader/gpu/device_feed.h"
#include "sluice/loader/gpu/record.h"
#include "sluice/loader/gpu/sample_draw.h"
#include "sluice/loader/recipe/place.h"

#include <gmock/gmock.h>

#include "tests/loader/gpu_support.h"
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace sluice::loader::gpu::gpu_feed_test {
namespace {

using namespace gpu::testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kFeedSide = 64;

/// Files in memory, named by their number.
class Files final : public Dataset {
 public:
  explicit Files(std::vector<std::vector<std::uint8_t>> all) : all_(std::move(all)) {}
  [[nodiscard]] std::uint64_t size() const override { return all_.size(); }
  [[nodiscard]] std::string name(std::uint64_t index) const override {
    return std::to_string(index) + ".jpg";
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

std::vector<std::uint8_t> jpeg_of(int width, int height, std::uint64_t index) {
  std::vector<std::uint8_t> jpeg;
  const Image photo = photo_of(width, height, index);
  EXPECT_TRUE(image::encode_jpeg(jpeg, photo.view<std::uint8_t>()));
  return jpeg;
}

std::vector<std::vector<std::uint8_t>> photos(unsigned count) {
  std::vector<std::vector<std::uint8_t>> all;
  for (unsigned i = 0; i < count; ++i)
    all.push_back(jpeg_of(120 + static_cast<int>(i), 90, i));
  return all;
}

/// Its header says another size; the rest stays.
void say_size(std::vector<std::uint8_t>& jpeg, int width, int height) {
  for (std::size_t i = 2; i + 8 < jpeg.size(); ++i)
    if (jpeg[i] == 0xFF && jpeg[i + 1] == 0xC0) {
      for (const auto& [at, value] : {std::pair{5, height}, {7, width}}) {
        jpeg[i + static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(value >> 8);
        jpeg[i + static_cast<std::size_t>(at) + 1] = static_cast<std::uint8_t>(value & 255);
      }
      return;
    }
  FAIL() << "there is no frame header";
}

DeviceFeedOptions options_of(LanePolicy policy) {
  DeviceFeedOptions options;
  options.policy = policy;
  options.augment = Augment::none;
  options.loader.batch_size = 6;
  options.loader.drop_last = false;
  options.loader.shuffle = Shuffle::none;
  options.loader.on_error = OnError::skip;
  options.recipe.side = kFeedSide;
  options.recipe.type = BatchType::u8;
  options.recipe.layout = Layout::hwc;
  return options;
}

struct Epoch {
  std::vector<std::uint64_t> indices;
  std::vector<std::vector<std::uint8_t>> pixels;  // of samples
};

Epoch epoch_of(DeviceFeed& feed) {
  Epoch epoch;
  EXPECT_OK(feed.start_epoch(1));
  for (;;) {
    const auto batch = feed.next();
    EXPECT_OK(batch);
    if (!batch || !*batch) return epoch;
    epoch.indices.insert(epoch.indices.end(), (*batch)->indices().begin(),
                         (*batch)->indices().end());
    std::vector<std::uint8_t> all((*batch)->size() * pixel_bytes(kFeedSide), 0xA5);
    EXPECT_OK(feed.download(**batch, std::as_writable_bytes(std::span(all))));
    for (std::size_t i = 0; i < (*batch)->size(); ++i) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i * pixel_bytes(kFeedSide));
      epoch.pixels.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(pixel_bytes(kFeedSide)));
    }
  }
}

/// What a plain loader makes of it with the same draws.
Epoch plain_epoch(const std::shared_ptr<const Dataset>& dataset, const DeviceFeedOptions& options) {
  TrainCropOptions crop;
  crop.side = kFeedSide;
  crop.filter = Filter::antialias;
  crop.ranges = options.recipe.ranges;
  crop.erasing = options.recipe.erasing;
  crop.type = BatchType::u8;
  crop.layout = Layout::hwc;
  const auto loader = Loader::make(dataset, make_train_crop(crop).value(), options.loader).value();
  EXPECT_OK(loader->start_epoch(1));
  Epoch epoch;
  while (auto batch = loader->next().value())
    for (std::uint32_t i = 0; i < batch->size(); ++i) {
      epoch.indices.push_back(batch->indices()[i]);
      std::vector<std::uint8_t>& pixels = epoch.pixels.emplace_back(pixel_bytes(kFeedSide));
      std::memcpy(pixels.data(), batch->sample(i).data(), pixels.size());
    }
  return epoch;
}

void expect_alike(const Epoch& got, const Epoch& wanted) {
  EXPECT_EQ(got.indices, wanted.indices);
  ASSERT_EQ(got.pixels.size(), wanted.pixels.size());
  for (std::size_t i = 0; i < got.pixels.size(); ++i)
    EXPECT_LE(share_beyond(got.pixels[i], wanted.pixels[i], 2), 0.01) << "sample " << i;
}

std::vector<std::string> names_of(const DeviceFeedStats& stats) {
  std::vector<std::string> names;
  for (const auto* list : {&stats.loader.skipped_samples, &stats.replaced_samples})
    for (const SkippedSample& one : *list)
      names.push_back(one.name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

class GpuFeed : public OnLine {};

TEST_F(GpuFeed, WhatIsErasedIsTheCpusBits) {
  Rng rng({.seed = 21});
  for (const int side : {1, 7, 64, 224}) {
    SCOPED_TRACE(side);
    ImageLine line = open(side, 32);
    ASSERT_OK(line.set_levels(image::Normalization::imagenet()));
    const auto levels = normalized_levels(image::Normalization::imagenet());
    const std::size_t pixels = static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
    ThreeAugmentOptions options;
    options.side = side;
    options.type = BatchType::u8;
    options.layout = Layout::hwc;
    options.erasing.probability = 0.7;
    const Eraser eraser(options.erasing, {side, side, 3, BatchType::u8, Layout::hwc},
                        options.normalization);
    std::vector<std::vector<std::uint8_t>> images(32, std::vector<std::uint8_t>(3 * pixels));
    std::vector<Sample> samples(images.size());
    std::vector<std::uint8_t> expected;
    for (std::size_t i = 0; i < images.size(); ++i) {
      for (std::uint8_t& byte : images[i])
        byte = static_cast<std::uint8_t>(rng.below(256));
      const SampleKey key{4, 0, i};
      samples[i].data = images[i].data();
      samples[i].draw = sample_draw(options, key, {});
      std::vector<std::uint8_t> made = images[i];
      eraser.run(std::as_writable_bytes(std::span(made)), key);
      expected.insert(expected.end(), made.begin(), made.end());
    }
    std::vector<std::uint8_t> made(expected.size(), 0xA5);
    ASSERT_OK(line.decode(0, samples));
    ASSERT_OK(line.process(0, samples, Resample::bilinear, Augment::none, Output::u8_hwc));
    ASSERT_OK(line.download_output(0, std::as_writable_bytes(std::span(made))));
    EXPECT_EQ(made, expected);
    std::vector<float> floats(expected.size(), NAN);
    ASSERT_OK(line.decode(1, samples));
    ASSERT_OK(line.process(1, samples, Resample::bilinear, Augment::none, Output::f32_chw));
    ASSERT_OK(line.download_output(1, std::as_writable_bytes(std::span(floats))));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < samples.size(); ++i)
      for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t p = 0; p < pixels; ++p)
          wrong += floats[(i * 3 + c) * pixels + p] !=
                           levels[c * 256 + expected[(i * pixels + p) * 3 + c]]
                       ? 1U
                       : 0U;
    EXPECT_EQ(wrong, 0U) << "after the same normalise";
  }
}

TEST_F(GpuFeed, EveryLaneErasesTheSamePixels) {
  const auto dataset = std::make_shared<Files>(photos(24));
  for (const LanePolicy policy : {LanePolicy::cpu, LanePolicy::gpu, LanePolicy::hybrid}) {
    SCOPED_TRACE(to_string(policy));
    DeviceFeedOptions options = options_of(policy);
    options.recipe.erasing.probability = 0.5;
    const auto feed = DeviceFeed::make(dataset, options);
    ASSERT_OK(feed);
    const Epoch got = epoch_of(**feed), wanted = plain_epoch(dataset, options);
    expect_alike(got, wanted);
    const auto mean = mean_levels(options.recipe.normalization);
    for (std::size_t i = 0; i < got.indices.size(); ++i) {
      const image::Rect box =
          draw_erasing(options.recipe.erasing, {options.loader.seed, 1, got.indices[i]}, kFeedSide);
      for (int y = box.y; y < box.y + box.height; ++y)
        for (int x = box.x; x < box.x + box.width; ++x)
          for (std::size_t c = 0; c < 3; ++c)
            ASSERT_EQ(got.pixels[i][3 * static_cast<std::size_t>(y * kFeedSide + x) + c], mean[c]);
    }
  }
}

TEST_F(GpuFeed, WhatWouldBeErasedOutsideIsRefused) {
  ImageLine line = open(32, 1);
  const std::vector<std::uint8_t> pixels(32 * 32 * 3, 9);
  std::vector<Sample> samples(1);
  samples[0].data = pixels.data();
  for (const Erased& bad : {Erased{30, 0, 3, 1, {}}, Erased{0, -1, 1, 1, {}},
                            Erased{0, 0, 1 << 30, 1 << 30, {}}, Erased{0, 0, 1, 1, {256, 0, 0}}}) {
    samples[0].draw.erased = bad;
    ASSERT_OK(line.decode(0, samples));
    const Status refused =
        line.process(0, samples, Resample::bilinear, Augment::none, Output::u8_hwc);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("erased"));
  }
}

TEST_F(GpuFeed, ADamagedFileCostsItsSampleIsCountedAndNamed) {
  auto files = photos(30);
  std::fill_n(files[5].begin() + 2, 400, std::uint8_t{0});  // no tables
  files[11].resize(60);                                     // ends in its header
  files[17].clear();
  const auto damaged = std::make_shared<Files>(files);
  for (const LanePolicy policy : {LanePolicy::gpu, LanePolicy::hybrid}) {
    SCOPED_TRACE(to_string(policy));
    DeviceFeedOptions options = options_of(policy);
    const auto feed = DeviceFeed::make(damaged, options);
    ASSERT_OK(feed);
    const Epoch got = epoch_of(**feed);
    expect_alike(got, plain_epoch(damaged, options));
    EXPECT_EQ(got.indices.size(), 30U) << "the batches keep their size";
    EXPECT_EQ(got.indices[5], 6U) << "the next one stands in";
    const DeviceFeedStats stats = (*feed)->stats();
    EXPECT_GE(stats.loader.skipped + stats.replaced, 3U);
    EXPECT_THAT(names_of(stats), ElementsAre("11.jpg", "17.jpg", "5.jpg"));

    options.loader.on_error = OnError::fail;
    const auto strict = DeviceFeed::make(damaged, options);
    ASSERT_OK(strict);
    ASSERT_OK((*strict)->start_epoch(1));
    const auto first = (*strict)->next();
    ASSERT_FALSE(first) << "sample 5 is in the first batch";
    EXPECT_THAT(first.error().message, HasSubstr("5.jpg"));
  }
}

TEST_F(GpuFeed, FromOnePixelToThirteenThousandASide) {
  auto files = photos(10);
  files[2] = jpeg_of(1, 1, 2);
  files[3] = jpeg_of(1, 300, 3);
  {
    constexpr int kLarge = 13'000;  // within the limit of decoders, 169 million pixels
    Image large = Image::make(kLarge, kLarge, 1).value();
    const auto span = large.span<std::uint8_t>();
    for (int y = 0; y < kLarge; ++y)
      std::fill_n(span.row(y), kLarge, static_cast<std::uint8_t>(y * 200 / kLarge));
    ASSERT_OK(image::encode_jpeg(files[7], large.view<std::uint8_t>()));
  }
  const auto dataset = std::make_shared<Files>(std::move(files));
  for (const LanePolicy policy : {LanePolicy::gpu, LanePolicy::hybrid}) {
    SCOPED_TRACE(to_string(policy));
    const DeviceFeedOptions options = options_of(policy);
    const auto feed = DeviceFeed::make(dataset, options);
    ASSERT_OK(feed);
    expect_alike(epoch_of(**feed), plain_epoch(dataset, options));
    const DeviceFeedStats stats = (*feed)->stats();
    EXPECT_EQ(stats.loader.skipped + stats.replaced, 0U);
    EXPECT_GE(stats.lanes.large, 1U) << "the CPU decodes no more of it than the part";
  }
}

TEST_F(GpuFeed, SixteenThousandASideIsRefusedByName) {
  auto files = photos(10);
  say_size(files[7], 16'000, 16'000);  // 256 million pixels: beyond the limit of decoders
  const auto dataset = std::make_shared<Files>(std::move(files));
  for (const LanePolicy policy : {LanePolicy::gpu, LanePolicy::hybrid}) {
    SCOPED_TRACE(to_string(policy));
    const DeviceFeedOptions options = options_of(policy);
    const auto feed = DeviceFeed::make(dataset, options);
    ASSERT_OK(feed);
    expect_alike(epoch_of(**feed), plain_epoch(dataset, options));
    EXPECT_THAT(names_of((*feed)->stats()), ElementsAre("7.jpg"));
  }
}

}  // namespace
}  // namespace sluice::loader::gpu::gpu_feed_test
