// tests/scenario/training_feed_gpu_test.cpp - what a GPU is fed is what a CPU is fed, bit by bit,
// in the same order, however far ahead it was sent.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/training/feed.h"
#include "sluice/train/cuda/library.h"

#include <gtest/gtest.h>

#include "tests/scenario/toy_dataset.h"

namespace sluice::scenario::training_feed_gpu_test {
namespace {

struct Taken {
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  std::uint32_t samples = 0;
  friend bool operator==(const Taken&, const Taken&) = default;
};

class TrainingFeedOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto facts = train::cuda::device_facts(0); !facts)
      GTEST_SKIP() << facts.error().message;
    train::EngineConfig config;
    config.device = "cuda:0";
    config.model.dim = 64;
    config.model.layers = 1;
    config.model.heads = 2;
    config.model.image = 32;
    config.model.patch = 8;
    config.model.classes = 3;
    config.batch = 4;
    auto made = train::Engine::make(config);
    ASSERT_TRUE(made) << made.error().message;
    engine_ = std::move(*made);
  }

  static FeedOptions options_of(FeedUse use, const std::string& device) {
    FeedOptions options;
    options.loader.batch_size = 4;
    options.loader.workers = 2;
    options.loader.seed = 5;
    options.loader.device = device;
    options.loader.pin_memory = device != "cpu";
    options.image = 32;
    options.classes = 3;
    options.use = use;
    return options;
  }
  std::unique_ptr<TrainingFeed> feed_of(const FeedOptions& options, std::uint64_t samples) {
    auto feed = TrainingFeed::make(std::make_shared<testing::ToyDataset>(samples, 3), options);
    EXPECT_TRUE(feed) << feed.error().message;
    if (options.loader.device != "cpu") {
      const Status connected = (*feed)->connect(*engine_);
      EXPECT_TRUE(connected) << connected.error().message;
    }
    return std::move(*feed);
  }

  void expect_same_epochs(TrainingFeed& gpu, TrainingFeed& cpu, std::uint64_t epochs) {
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
      ASSERT_TRUE(gpu.start_epoch(epoch));
      ASSERT_TRUE(cpu.start_epoch(epoch));
      const std::vector<Taken> got = rest_of(gpu), wanted = rest_of(cpu);
      ASSERT_EQ(got.size(), wanted.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_EQ(got[i], wanted[i]) << "epoch " << epoch << " batch " << i;
    }
  }

  /// All that is left of the epoch; on the device as the engine holds it after a step.
  std::vector<Taken> rest_of(TrainingFeed& feed, std::size_t at_most = 1000) {
    std::vector<Taken> all;
    while (all.size() < at_most) {
      const auto batch = feed.next();
      EXPECT_TRUE(batch) << batch.error().message;
      if (!batch || !*batch) break;
      const train::BatchView& view = (*batch)->view;
      Taken taken{{view.images.begin(), view.images.end()},
                  {view.labels.begin(), view.labels.end()},
                  (*batch)->samples};
      if (view.sent) {
        EXPECT_TRUE(engine_->micro_step(view));
        const Status ahead = feed.ahead();
        EXPECT_TRUE(ahead) << ahead.error().message;
        EXPECT_TRUE(engine_->update());
        const auto held = engine_->read("images");
        EXPECT_TRUE(held) << held.error().message;
        taken.images = *held;
      }
      all.push_back(std::move(taken));
    }
    return all;
  }

  std::unique_ptr<train::Engine> engine_;
};

TEST_F(TrainingFeedOnGpu, HoldsTheBitsOfTheCpu) {
  for (const train::PixelType upload : {train::PixelType::u8, train::PixelType::f32})
    for (const bool pinned : {true, false})
      for (const FeedUse use : {FeedUse::train, FeedUse::validation}) {
        SCOPED_TRACE(std::string(to_string(upload)) + (pinned ? " pinned" : ""));
        FeedOptions there = options_of(use, "cuda:0");
        there.loader.upload = upload;
        there.loader.pin_memory = pinned;
        const auto gpu = feed_of(there, 22);
        const auto cpu = feed_of(options_of(use, "cpu"), 22);
        expect_same_epochs(*gpu, *cpu, 3);
      }
}

TEST_F(TrainingFeedOnGpu, HalvesAreWithinTheirRounding) {
  FeedOptions there = options_of(FeedUse::train, "cuda:0");
  there.loader.upload = train::PixelType::f16;
  const auto gpu = feed_of(there, 22);
  const auto cpu = feed_of(options_of(FeedUse::train, "cpu"), 22);
  ASSERT_TRUE(gpu->start_epoch(0));
  ASSERT_TRUE(cpu->start_epoch(0));
  const std::vector<Taken> got = rest_of(*gpu), wanted = rest_of(*cpu);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    for (std::size_t k = 0; k < got[i].images.size(); ++k)
      ASSERT_NEAR(got[i].images[k], wanted[i].images[k],
                  std::abs(wanted[i].images[k]) / 2048 + 1e-6F);
}

TEST_F(TrainingFeedOnGpu, GoesOnAfterWhatWasUsedNotAfterWhatWasSent) {
  const auto gpu = feed_of(options_of(FeedUse::train, "cuda:0"), 40);
  ASSERT_TRUE(gpu->start_epoch(2));
  ASSERT_EQ(rest_of(*gpu, 3).size(), 3U);
  const loader::LoaderState state = gpu->state();
  EXPECT_EQ(state.consumed, 12U);
  const std::vector<Taken> wanted = rest_of(*gpu);
  ASSERT_EQ(wanted.size(), 7U);
  ASSERT_TRUE(gpu->start_epoch(3));
  ASSERT_EQ(rest_of(*gpu, 2).size(), 2U);  // more are on their way
  ASSERT_TRUE(gpu->restore(state));
  EXPECT_EQ(rest_of(*gpu), wanted);
}

TEST_F(TrainingFeedOnGpu, EpochsFollowOneAnotherWithoutAGap) {
  const auto gpu = feed_of(options_of(FeedUse::train, "cuda:0"), 12);
  const auto cpu = feed_of(options_of(FeedUse::train, "cpu"), 12);
  for (int i = 0; i < 14; ++i) {
    const auto got = gpu->next_of_any_epoch(), wanted = cpu->next_of_any_epoch();
    ASSERT_TRUE(got && wanted);
    EXPECT_EQ(gpu->epoch(), cpu->epoch());
    ASSERT_TRUE(engine_->micro_step(got->view));
    ASSERT_TRUE(gpu->ahead());
    ASSERT_TRUE(engine_->update());
    EXPECT_EQ(engine_->read("images").value(),
              std::vector<float>(wanted->view.images.begin(), wanted->view.images.end()))
        << i;
  }
}

TEST_F(TrainingFeedOnGpu, LanesOfTheGpuGiveTheSameBatchesInTheSameOrder) {
  // PNGs: engines do not take them, so the pixels are the CPU's, bit by bit.
  FeedOptions there = options_of(FeedUse::train, "cuda:0");
  there.loader.lanes = loader::gpu::LanePolicy::gpu;
  const auto gpu = feed_of(there, 22);
  const auto cpu = feed_of(options_of(FeedUse::train, "cpu"), 22);
  expect_same_epochs(*gpu, *cpu, 2);
  ASSERT_TRUE(gpu->start_epoch(5));
  ASSERT_EQ(rest_of(*gpu, 2).size(), 2U);
  const loader::LoaderState state = gpu->state();
  EXPECT_EQ(state.consumed, 8U);
  const std::vector<Taken> wanted = rest_of(*gpu);
  ASSERT_TRUE(gpu->restore(state));
  EXPECT_EQ(rest_of(*gpu), wanted);
  EXPECT_TRUE(gpu->lanes().contains("gpu_share")) << gpu->lanes().dump();
}

TEST_F(TrainingFeedOnGpu, TwoFeedsTakeTurns) {
  const auto train = feed_of(options_of(FeedUse::train, "cuda:0"), 30);
  const auto validation = feed_of(options_of(FeedUse::validation, "cuda:0"), 10);
  const auto wanted = feed_of(options_of(FeedUse::validation, "cpu"), 10);
  ASSERT_TRUE(train->start_epoch(0));
  ASSERT_EQ(rest_of(*train, 2).size(), 2U);
  ASSERT_TRUE(train->end_epoch());
  ASSERT_TRUE(validation->start_epoch(0));
  ASSERT_TRUE(wanted->start_epoch(0));
  EXPECT_EQ(rest_of(*validation), rest_of(*wanted));
}

}  // namespace
}  // namespace sluice::scenario::training_feed_gpu_test
