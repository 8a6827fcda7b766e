// tests/scenario/mixture_train_gpu_test.cpp - a mixture that feeds a model on a GPU: frames go
// there as bytes, and the model begins as the CPU's does.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/rng.h"
#include "sluice/scenario/mixture/train.h"
#include "sluice/train/cuda/library.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice::scenario::mixture_train_gpu_test {
namespace {

TEST(MixtureTrainOnGpu, BeginsWithTheLossOfTheCpuAndLearns) {
  if (const auto facts = train::cuda::device_facts(0); !facts)
    GTEST_SKIP() << facts.error().message;
  constexpr int kSize = 36;  // 32 x 32 are used
  const auto there = MixtureTrainer::make("vit5-tiny", 8, kSize, 2, "cuda:0");
  ASSERT_TRUE(there) << there.error().message;
  const auto here = MixtureTrainer::make("vit5-tiny", 8, kSize, 2);
  ASSERT_TRUE(here) << here.error().message;
  EXPECT_NE((*there)->info().device.find("cuda:0"), std::string::npos);
  std::vector<std::uint8_t> images(std::size_t{8} * 6 * kSize * kSize);
  Rng random({.seed = 3});
  for (std::size_t i = 0; i < images.size(); ++i)  // the first half is dark
    images[i] = static_cast<std::uint8_t>(random.below(100) + (i < images.size() / 2 ? 0 : 150));
  const std::vector<std::uint32_t> sources = {0, 0, 0, 0, 1, 1, 1, 1};
  loader::mixture::MixtureBatch batch;
  batch.size = 8;
  batch.image_size = kSize;
  batch.images = images;
  batch.source = sources;
  for (int i = 0; i < 6; ++i) {
    const Status done = (*there)->step(batch);
    ASSERT_TRUE(done) << done.error().message;
  }
  ASSERT_TRUE((*here)->step(batch));
  EXPECT_NEAR((*there)->losses().front(), (*here)->losses().front(),
              0.02F * (*here)->losses().front());
  EXPECT_LT((*there)->losses().back(), 0.95F * (*there)->losses().front());
  batch.size = 3;
  EXPECT_FALSE((*there)->step(batch));
}

}  // namespace
}  // namespace sluice::scenario::mixture_train_gpu_test
