// tests/scenario/training_curve_gpu_test.cpp - a model that the GPU's JPEG engines feed learns as
// one that the CPU feeds: 200 steps, within the spread of seeds.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/codec.h"
#include "sluice/loader/gpu/library.h"
#include "sluice/scenario/training/feed.h"
#include "sluice/train/cuda/library.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace sluice::scenario::training_curve_gpu_test {
namespace {

constexpr int kClasses = 4, kSteps = 200, kWindow = 20;

/// JPEGs of 96 x 72: the class is how bright each colour is, under noise that hides much of it.
class ColouredJpegs final : public loader::Dataset {
 public:
  explicit ColouredJpegs(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      RngKey key;
      key.index = i;
      Rng random(key);
      image::Image picture = image::Image::make(96, 72, 3).value();
      const auto pixels = picture.span<std::uint8_t>();
      const auto colour = static_cast<unsigned>(i % kClasses) + 1;
      for (int y = 0; y < 72; ++y)
        for (int x = 0; x < 96; ++x)
          for (int c = 0; c < 3; ++c)
            pixels.at(x, y, c) = static_cast<std::uint8_t>(
                ((colour >> static_cast<unsigned>(c)) & 1U) * 12U + random.below(200));
      EXPECT_TRUE(image::encode_jpeg(files_.emplace_back(), picture.view<std::uint8_t>()));
    }
  }
  [[nodiscard]] std::uint64_t size() const override { return files_.size(); }
  [[nodiscard]] std::string name(std::uint64_t index) const override {
    return std::to_string(index) + ".jpg";
  }
  [[nodiscard]] std::int64_t label(std::uint64_t index) const override {
    return static_cast<std::int64_t>(index % kClasses);
  }
  [[nodiscard]] std::span<const std::uint64_t> shard_starts() const override { return starts_; }
  [[nodiscard]] std::uint64_t bytes(std::uint64_t index) const override {
    return files_[index].size();
  }
  Result<std::span<const std::byte>> read(std::uint64_t index,
                                          storage::ReadBuffer&) const override {
    return std::as_bytes(std::span(files_[index]));
  }
  void cancel() const override {}

 private:
  std::vector<std::uint64_t> starts_{0};
  std::vector<std::vector<std::uint8_t>> files_;
};

/// Mean loss of every kWindow steps.
std::vector<double> curve_of(const std::shared_ptr<const loader::Dataset>& dataset,
                             loader::gpu::LanePolicy lanes, std::uint64_t seed) {
  train::EngineConfig config;
  config.device = "cuda:0";
  config.model.dim = 64;
  config.model.layers = 2;
  config.model.heads = 2;
  config.model.image = 48;
  config.model.patch = 8;
  config.model.classes = kClasses;
  config.batch = 32;
  config.seed = seed;
  config.update.kind = train::OptimizerKind::adamw;
  config.update.learning_rate = 1e-3;
  auto engine = train::Engine::make(config);
  EXPECT_TRUE(engine) << engine.error().message;
  FeedOptions options;
  options.loader.batch_size = 32;
  options.loader.workers = 2;
  options.loader.seed = seed;
  options.loader.device = "cuda:0";
  options.loader.pin_memory = true;
  options.loader.lanes = lanes;
  options.image = 48;
  options.classes = kClasses;
  auto feed = TrainingFeed::make(dataset, options);
  EXPECT_TRUE(feed) << feed.error().message;
  if (!engine || !feed) return {};
  EXPECT_TRUE((*feed)->connect(**engine));
  std::vector<double> curve(kSteps / kWindow, 0.0);
  for (std::size_t step = 0; step < kSteps; ++step) {
    const auto batch = (*feed)->next_of_any_epoch();
    EXPECT_TRUE(batch) << batch.error().message;
    if (!batch) return {};
    EXPECT_TRUE((*engine)->micro_step(batch->view));
    EXPECT_TRUE((*feed)->ahead());
    const auto done = (*engine)->update();
    EXPECT_TRUE(done) << done.error().message;
    if (!done) return {};
    curve[step / kWindow] += static_cast<double>(done->loss) / kWindow;
  }
  return curve;
}

TEST(TrainingCurve, TwoHundredStepsOnTheGpusDecoderAreWithinTheSpreadOfSeeds) {
  if (const auto facts = train::cuda::device_facts(0); !facts)
    GTEST_SKIP() << facts.error().message;
  if (const auto line = loader::gpu::ImageLine::open({}); !line)
    GTEST_SKIP() << line.error().message;
  const auto dataset = std::make_shared<ColouredJpegs>(640);
  std::vector<std::vector<double>> by_cpu, by_gpu;
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U})
    by_cpu.push_back(curve_of(dataset, loader::gpu::LanePolicy::cpu, seed));
  for (const std::uint64_t seed : {1U, 2U, 3U})
    by_gpu.push_back(curve_of(dataset, loader::gpu::LanePolicy::gpu, seed));
  const std::size_t windows = kSteps / kWindow;
  for (const auto* curves : {&by_cpu, &by_gpu})
    for (const std::vector<double>& curve : *curves) {
      ASSERT_EQ(curve.size(), windows);
      EXPECT_LT(curve.back(), 0.8 * curve.front()) << "something was learnt";
    }
  for (std::size_t w = 0; w < windows; ++w) {
    double low = by_cpu.front()[w], high = low;
    for (const std::vector<double>& curve : by_cpu) {
      low = std::min(low, curve[w]);
      high = std::max(high, curve[w]);
    }
    const double spread = high - low;
    for (std::size_t i = 0; i < by_gpu.size(); ++i) {
      EXPECT_GE(by_gpu[i][w], low - spread) << "seed " << i + 1 << ", window " << w;
      EXPECT_LE(by_gpu[i][w], high + spread) << "seed " << i + 1 << ", window " << w;
    }
  }
  for (std::size_t i = 0; i < by_gpu.size(); ++i)  // the same draws, pixels a level apart at most
    EXPECT_NEAR(by_gpu[i].front(), by_cpu[i].front(), 0.1 * by_cpu[i].front());
}

}  // namespace
}  // namespace sluice::scenario::training_curve_gpu_test
