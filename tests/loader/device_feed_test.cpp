// tests/loader/device_feed_test.cpp - batches by way of a device: order, lanes, resume, damage,
// loss of the device. The device is a fake; tests/loader/gpu_image_test.cpp has a real one.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/gpu/device_feed.h"

#include "sluice/image/inputs/photo.h"
#include "sluice/loader/recipe/train_crop.h"

#include <gtest/gtest.h>

#include "tests/loader/fake_device.h"
#include <algorithm>
#include <string>
#include <vector>

namespace sluice::loader::gpu::device_feed_test {
namespace {

using namespace gpu::testing;  // NOLINT

constexpr int kSide = 48;  // a place holds 6,912 bytes

using Bytes = std::vector<std::uint8_t>;

/// Photographs in memory: JPEGs, every fifth progressive, every seventh a PNG; a few are large.
class PhotosInMemory final : public Dataset {
 public:
  explicit PhotosInMemory(std::size_t count) {
    image::PhotoMaker maker;
    for (std::size_t i = 0; i < count; ++i) {
      image::Image photo;
      const int width = i == 3 ? kRefusedWidth : 60 + static_cast<int>(i % 9);
      const int height = i % 11 == 10 ? 400 : 50;
      EXPECT_TRUE(maker.make(photo, 1, i, {width, height, 85}));
      Bytes bytes;
      image::JpegOptions options;
      options.quality = i % 11 == 10 ? 98 : 80;
      options.progressive = i % 5 == 4;
      if (i % 7 == 6)
        EXPECT_TRUE(image::encode_png(bytes, photo.view<std::uint8_t>()));
      else
        EXPECT_TRUE(image::encode_jpeg(bytes, photo.view<std::uint8_t>(), options));
      all.push_back(std::move(bytes));
    }
  }
  [[nodiscard]] std::uint64_t size() const override { return all.size(); }
  [[nodiscard]] std::string name(std::uint64_t index) const override {
    return "p/" + std::to_string(index);
  }
  [[nodiscard]] std::int64_t label(std::uint64_t index) const override {
    return static_cast<std::int64_t>(index % 10);
  }
  [[nodiscard]] std::span<const std::uint64_t> shard_starts() const override { return starts_; }
  [[nodiscard]] std::uint64_t bytes(std::uint64_t index) const override {
    return all[index].size();
  }
  Result<std::span<const std::byte>> read(std::uint64_t index,
                                          storage::ReadBuffer&) const override {
    return std::as_bytes(std::span(all[index]));
  }
  void cancel() const override {}

  std::vector<Bytes> all;

 private:
  std::vector<std::uint64_t> starts_{0};
};

/// Neither the markers' walk nor the walk of a fake device sees it; our decoder does.
void break_tables(Bytes& jpeg) {
  const Bytes marker{0xff, 0xc4};
  const auto at = std::search(jpeg.begin(), jpeg.end(), marker.begin(), marker.end());
  ASSERT_NE(at, jpeg.end());
  std::fill_n(at + 5, 16, std::uint8_t{200});
}

DeviceFeedOptions options_of(LanePolicy policy, int workers = 2) {
  DeviceFeedOptions options;
  options.policy = policy;
  options.loader.batch_size = 6;
  options.loader.workers = workers;
  options.loader.seed = 5;
  options.loader.pin_memory = workers % 2 == 1;
  options.recipe.side = kSide;
  options.recipe.type = BatchType::u8;
  options.recipe.layout = Layout::hwc;
  options.buffers = 3;
  return options;
}

struct Seen {
  std::vector<std::uint64_t> indices;
  std::vector<std::int64_t> labels;
  std::vector<std::byte> pixels;
  friend bool operator==(const Seen&, const Seen&) = default;
};

/// The rest of the epoch, or so many batches.
Seen drain(DeviceFeed& feed, int batches = 1 << 30) {
  Seen seen;
  for (int i = 0; i < batches; ++i) {
    auto next = feed.next();
    EXPECT_TRUE(next) << next.error().message;
    if (!next || !*next) break;
    const DeviceBatch& batch = **next;
    seen.indices.insert(seen.indices.end(), batch.indices().begin(), batch.indices().end());
    seen.labels.insert(seen.labels.end(), batch.labels().begin(), batch.labels().end());
    std::vector<std::byte> pixels(batch.size() * 3 * kSide * kSide);
    EXPECT_TRUE(feed.download(batch, pixels));
    seen.pixels.insert(seen.pixels.end(), pixels.begin(), pixels.end());
  }
  return seen;
}

/// The same epoch by a plain loader: the fake device augments nothing, parts and mirrors are equal.
Seen plain(const std::shared_ptr<const Dataset>& dataset, const DeviceFeedOptions& options,
           std::uint64_t epoch) {
  TrainCropOptions crop;
  crop.side = kSide;
  crop.filter = Filter::antialias;
  crop.ranges = options.recipe.ranges;
  crop.erasing = options.recipe.erasing;
  crop.type = BatchType::u8;
  crop.layout = Layout::hwc;
  const auto loader = Loader::make(dataset, make_train_crop(crop).value(), options.loader).value();
  EXPECT_TRUE(loader->start_epoch(epoch));
  Seen seen;
  while (auto batch = loader->next().value()) {
    seen.indices.insert(seen.indices.end(), batch->indices().begin(), batch->indices().end());
    seen.labels.insert(seen.labels.end(), batch->labels().begin(), batch->labels().end());
    seen.pixels.insert(seen.pixels.end(), batch->data().begin(), batch->data().end());
  }
  return seen;
}

class DeviceFeedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fake_decodes_left = 1 << 30;
    fake_races = 0;
  }
  void TearDown() override {
    EXPECT_EQ(fake_lines, 0);
    EXPECT_EQ(fake_pins, 0);
    EXPECT_EQ(fake_races, 0);
  }
};

TEST_F(DeviceFeedTest, EveryLaneGivesTheLoadersEpochs) {
  const auto dataset = std::make_shared<PhotosInMemory>(45);
  for (const LanePolicy policy : {LanePolicy::cpu, LanePolicy::gpu, LanePolicy::hybrid})
    for (const int workers : {0, 1, 3}) {
      SCOPED_TRACE(::testing::Message() << to_string(policy) << ", workers " << workers);
      DeviceFeedOptions options = options_of(policy, workers);
      options.loader.drop_last = workers == 1;
      options.recipe.erasing.probability = workers == 3 ? 0.5 : 0;
      const auto feed = DeviceFeed::make(dataset, options, &fake_table()).value();
      for (const std::uint64_t epoch : {0U, 1U, 7U}) {
        ASSERT_TRUE(feed->start_epoch(epoch));
        EXPECT_EQ(feed->steps(), workers == 1 ? 7U : 8U);
        EXPECT_TRUE(drain(*feed) == plain(dataset, options, epoch));
        const auto after = feed->next();
        ASSERT_TRUE(after);
        EXPECT_FALSE(*after);
      }
      const DeviceFeedStats stats = feed->stats();
      EXPECT_GE(stats.lanes.gpu + stats.lanes.cpu, 3 * (workers == 1 ? 42U : 45U));
      if (policy == LanePolicy::cpu) {
        EXPECT_EQ(stats.lanes.gpu, 0U);
      } else {
        EXPECT_GT(stats.lanes.gpu, 0U);
        EXPECT_GT(stats.lanes.refusals[static_cast<std::size_t>(Refusal::format)], 0U);
        EXPECT_GT(stats.lanes.refusals[static_cast<std::size_t>(Refusal::coding)], 0U);
        EXPECT_GT(stats.lanes.large, 0U);
      }
      if (policy == LanePolicy::gpu && workers != 1) {
        EXPECT_GE(stats.lanes.late, 3U) << "one that the decoder refuses, in each epoch";
      }
      EXPECT_EQ(stats.replaced, 0U);
    }
}

TEST_F(DeviceFeedTest, GoesOnWhereAnotherStopped) {
  const auto dataset = std::make_shared<PhotosInMemory>(45);
  const DeviceFeedOptions options = options_of(LanePolicy::hybrid);
  const Seen whole = plain(dataset, options, 2);
  LoaderState state;
  Seen seen;
  {
    const auto feed = DeviceFeed::make(dataset, options, &fake_table()).value();
    ASSERT_TRUE(feed->start_epoch(2));
    seen = drain(*feed, 3);
    state = feed->state();
    EXPECT_EQ(state.consumed, 18U);
  }
  const auto feed =
      DeviceFeed::make(dataset, options_of(LanePolicy::gpu, 1), &fake_table()).value();
  ASSERT_TRUE(feed->restore(state));
  const Seen rest = drain(*feed);
  seen.indices.insert(seen.indices.end(), rest.indices.begin(), rest.indices.end());
  seen.labels.insert(seen.labels.end(), rest.labels.begin(), rest.labels.end());
  seen.pixels.insert(seen.pixels.end(), rest.pixels.begin(), rest.pixels.end());
  EXPECT_TRUE(seen == whole);
}

TEST_F(DeviceFeedTest, AnEpochCanBeBegunAgain) {
  const auto dataset = std::make_shared<PhotosInMemory>(30);
  const DeviceFeedOptions options = options_of(LanePolicy::gpu);
  const auto feed = DeviceFeed::make(dataset, options, &fake_table()).value();
  for (int turn = 0; turn < 5; ++turn) {
    ASSERT_TRUE(feed->start_epoch(1));
    (void)drain(*feed, turn);
  }
  ASSERT_TRUE(feed->start_epoch(1));
  EXPECT_TRUE(drain(*feed) == plain(dataset, options, 1));
}

TEST_F(DeviceFeedTest, ABrokenFileIsNamedOrReplaced) {
  const auto dataset = std::make_shared<PhotosInMemory>(30);
  break_tables(dataset->all[12]);
  ASSERT_EQ(look_at_jpeg(dataset->all[12]).refusal, Refusal::none);
  DeviceFeedOptions options = options_of(LanePolicy::gpu);
  {
    const auto feed = DeviceFeed::make(dataset, options, &fake_table()).value();
    ASSERT_TRUE(feed->start_epoch(0));
    Result<std::optional<DeviceBatch>> next = feed->next();
    while (next && *next)
      next = feed->next();
    ASSERT_FALSE(next);
    EXPECT_NE(next.error().message.find("p/12"), std::string::npos) << next.error().message;
    EXPECT_FALSE(feed->next()) << "it stays so";
  }
  options.loader.on_error = OnError::skip;
  const auto feed = DeviceFeed::make(dataset, options, &fake_table()).value();
  const Seen expected = plain(dataset, options, 0);
  ASSERT_TRUE(feed->start_epoch(0));
  EXPECT_TRUE(drain(*feed) == expected);
  const DeviceFeedStats stats = feed->stats();
  ASSERT_EQ(stats.replaced, 1U);
  EXPECT_EQ(stats.replaced_samples[0].name, "p/12");
}

TEST_F(DeviceFeedTest, ADeviceThatIsLostEndsTheEpochNotTheProgram) {
  const auto dataset = std::make_shared<PhotosInMemory>(30);
  const auto feed =
      DeviceFeed::make(dataset, options_of(LanePolicy::hybrid), &fake_table()).value();
  ASSERT_TRUE(feed->start_epoch(0));
  (void)drain(*feed, 1);
  fake_decodes_left = 0;
  Result<std::optional<DeviceBatch>> next = feed->next();
  while (next && *next)
    next = feed->next();
  ASSERT_FALSE(next);
  EXPECT_NE(next.error().message.find("the device is lost"), std::string::npos);
}

TEST_F(DeviceFeedTest, HeldBatchesKeepTheirContent) {
  const auto dataset = std::make_shared<PhotosInMemory>(45);
  const DeviceFeedOptions options = options_of(LanePolicy::gpu);
  const Seen whole = plain(dataset, options, 0);
  const auto feed = DeviceFeed::make(dataset, options, &fake_table()).value();
  std::vector<DeviceBatch> held;
  for (int i = 0; i < 3; ++i)
    held.push_back(std::move(*feed->next().value()));
  const auto none = feed->next();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::usage);
  const std::size_t bytes = 6 * 3 * kSide * kSide;
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<std::byte> pixels(bytes);
    ASSERT_TRUE(feed->download(held[i], pixels));
    EXPECT_TRUE(std::equal(pixels.begin(), pixels.end(),
                           whole.pixels.begin() + static_cast<std::ptrdiff_t>(i * bytes)));
  }
  held.clear();
  const Seen rest = drain(*feed);
  EXPECT_TRUE(std::equal(rest.pixels.begin(), rest.pixels.end(),
                         whole.pixels.begin() + static_cast<std::ptrdiff_t>(3 * bytes)));
}

TEST_F(DeviceFeedTest, StopsFromAnyState) {
  const auto dataset = std::make_shared<PhotosInMemory>(30);
  for (int batches = 0; batches < 4; ++batches) {
    const auto feed =
        DeviceFeed::make(dataset, options_of(LanePolicy::hybrid), &fake_table()).value();
    if (batches > 0) (void)drain(*feed, batches);
    feed->stop();
    EXPECT_FALSE(feed->next());
    EXPECT_FALSE(feed->start_epoch(0));
  }
}

TEST_F(DeviceFeedTest, WhatCannotBeIsSaid) {
  const auto dataset = std::make_shared<PhotosInMemory>(8);
  DeviceFeedOptions options = options_of(LanePolicy::gpu);
  options.buffers = 1;
  EXPECT_FALSE(DeviceFeed::make(dataset, options, &fake_table()));
  options = options_of(LanePolicy::gpu);
  options.recipe.layout = Layout::chw;  // of u8
  EXPECT_FALSE(DeviceFeed::make(dataset, options, &fake_table()));
  options = options_of(LanePolicy::gpu);
  options.loader.batch_size = 100;  // more than there are
  EXPECT_FALSE(DeviceFeed::make(dataset, options, &fake_table()));
}

TEST(LaneRouter, SharesAreThoseOfTheTimes) {
  LaneRouter router(LanePolicy::hybrid, 16);
  EXPECT_EQ(router.share(), 0.75);
  // 22 us by the engines; 1,000 us by a worker, 20 us to hand over.
  for (int i = 0; i < 40; ++i) {
    for (int k = 0; k < 600; ++k)
      if (router.take())
        router.made_for_gpu(20'000);
      else
        router.made_by_cpu(1'000'000, Refusal::none, false);
    router.decoded(600, 600 * 22'000);
  }
  EXPECT_NEAR(router.share(), 1000.0 / (16 * 22 + 1000 - 20), 0.01);
  const LaneCounts counts = router.counts();
  EXPECT_EQ(counts.gpu + counts.cpu, 24'000U);
  EXPECT_NEAR(static_cast<double>(counts.gpu) / 24'000, 0.75, 0.02);
}

TEST(LaneRouter, WorkersThatAreBusyWithWhatEnginesDoNotTakeAreGivenLessOfTheRest) {
  LaneRouter router(LanePolicy::hybrid, 16);
  // As above, and every ninth sample, of 3,500 us, is too large for the engines.
  for (int i = 0; i < 40; ++i) {
    for (int k = 0; k < 600; ++k)
      if (k % 9 == 0)
        router.made_by_cpu(3'500'000, Refusal::none, true);
      else if (router.take())
        router.made_for_gpu(20'000);
      else
        router.made_by_cpu(1'000'000, Refusal::none, false);
    router.decoded(600, 600 * 22'000);
  }
  EXPECT_EQ(router.share(), 1 - 1.0 / 64);  // 3,500 / 8 more than 16 * 22 make up for
  EXPECT_EQ(router.counts().large, 40U * 67);
}

TEST(LaneRouter, PoliciesAreKept) {
  LaneRouter all(LanePolicy::gpu, 4), none(LanePolicy::cpu, 4);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(all.take());
    EXPECT_FALSE(none.take());
    all.made_for_gpu(1);
    none.made_by_cpu(1, Refusal::none, false);
  }
  all.decoded(2000, 1);
  EXPECT_EQ(all.share(), 1);
  EXPECT_EQ(none.share(), 0);
  EXPECT_EQ(lane_policy("hybrid").value(), LanePolicy::hybrid);
  EXPECT_FALSE(lane_policy("both"));
  LaneCounts counts = none.counts();
  EXPECT_EQ(to_json(counts).at("cpu"), 100);
}

}  // namespace
}  // namespace sluice::loader::gpu::device_feed_test
