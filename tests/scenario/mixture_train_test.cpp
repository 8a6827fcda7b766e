// tests/scenario/mixture_train_test.cpp - a mixture that feeds a model, and what other libraries
// are told of it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/mixture/peer.h"
#include "sluice/scenario/mixture/run.h"
#include "sluice/scenario/mixture/train.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenario/small_episodes.h"
#include <filesystem>
#include <functional>

namespace sluice::scenario::mixture_train_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class MixtureTrainTest : public testing::SmallEpisodes<3> {
 protected:
  static MixtureSpec spec() { return small_spec(1, 4, 36); }  // 32 x 32 are used
};

TEST_F(MixtureTrainTest, TheModelTakesWholePatchesAndAClassPerDataSet) {
  const auto config = mixture_engine("vit5-tiny", 8, 36, 4);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->model.image, 32);
  EXPECT_EQ(config->model.classes, 4);
  EXPECT_EQ(config->batch, 8);
}

TEST_F(MixtureTrainTest, RepeatedStepsLearnTheDataSets) {
  constexpr int kSize = 16;
  const auto trainer = MixtureTrainer::make("vit5-tiny", 4, kSize, 2);
  if (!trainer && trainer.error().code == Errc::unsupported)
    GTEST_SKIP() << trainer.error().message;
  ASSERT_TRUE(trainer) << trainer.error().message;
  std::vector<std::uint8_t> images(std::size_t{4} * 6 * kSize * kSize);
  for (std::size_t i = 0; i < images.size();
       ++i)  // dark ones are of the first, bright of the other
    images[i] = i < images.size() / 2 ? 20 : 230;
  const std::vector<std::uint32_t> sources = {0, 0, 1, 1};
  loader::mixture::MixtureBatch batch;
  batch.size = 4;
  batch.image_size = kSize;
  batch.images = images;
  batch.source = sources;
  for (int i = 0; i < 4; ++i) {
    const Status done = (*trainer)->step(batch);
    ASSERT_TRUE(done) << done.error().message;
  }
  EXPECT_LT((*trainer)->losses().back(), 0.95F * (*trainer)->losses().front());
  batch.source = {};
  EXPECT_FALSE((*trainer)->step(batch));
  batch.source = sources;
  batch.size = 3;
  EXPECT_FALSE((*trainer)->step(batch));
}

TEST_F(MixtureTrainTest, ARunSaysHowLongTheModelWaited) {
  MixtureSpec of = spec();
  of.train = "vit5-tiny";
  of.steps = 2;
  const auto run = run_mixture(of);
  if (!run && run.error().code == Errc::unsupported) GTEST_SKIP() << run.error().message;
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_GT(run->step_s, 0);
  EXPECT_GT(run->loss, 0);
  EXPECT_GT(run->first_loss, 0);
  EXPECT_GT(run->wait_fraction(), 0);
  EXPECT_LT(run->wait_fraction(), 1);
  const auto back = mixture_run_from_json(to_json(*run));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->loss, run->loss);
  EXPECT_EQ(back->step_s, run->step_s);
  EXPECT_EQ(to_json(*back)["wait_fraction"], to_json(*run)["wait_fraction"]);
}

TEST_F(MixtureTrainTest, WhatNoModelTakesIsRefused) {
  const std::pair<std::function<void(MixtureSpec&)>, const char*> wrong[] = {
      {[](MixtureSpec& of) { of.train = "vit6"; }, "vit5-tiny"},
      {[](MixtureSpec& of) { of.train = "gpt-tiny"; }, "takes images"},
      {[](MixtureSpec& of) { of.options.image_size = 15; }, "image size 15"},
      {[](MixtureSpec& of) { of.options.metadata = loader::mixture::Metadata::off; }, "metadata"},
      {[](MixtureSpec& of) { of.options.one_pass = true; }, "one pass"}};
  for (const auto& [change, what] : wrong) {
    MixtureSpec of = spec();
    of.train = "vit5-tiny";
    change(of);
    const Status refused = check(of);
    ASSERT_FALSE(refused) << what;
    EXPECT_THAT(refused.error().message, HasSubstr(what));
  }
}

TEST_F(MixtureTrainTest, OthersAreToldFoldersAndFeatures) {
  MixtureSpec of = spec();
  of.overrides = {{.name = "arm", .weight = 2.5}, {.name = "table", .skip = true}};
  const auto told = peer_spec(of);
  ASSERT_TRUE(told) << told.error().message;
  const Json& sources = (*told)["sources"];
  ASSERT_EQ(sources.size(), 3U);
  EXPECT_EQ(sources[0]["name"], "arm");
  EXPECT_EQ(sources[0]["weight"], 2.5);
  EXPECT_EQ(sources[0]["split"], "train[:90%]");
  EXPECT_EQ(sources[0]["folder"], (fs::absolute(root_) / "small_arm/0.1.0").string());
  EXPECT_EQ(sources[1]["action"], "steps/action/world_vector");
  EXPECT_EQ(sources[2]["action"], "");
  EXPECT_EQ((*told)["steps"], 4);
  of.root = "s3://bucket/small";
  const auto far = peer_spec(of);
  ASSERT_FALSE(far);
  EXPECT_EQ(far.error().code, Errc::unsupported);
}

TEST_F(MixtureTrainTest, FirstPairsAreOnePerDataSet) {
  const auto pairs = first_pairs(spec(), 3);
  ASSERT_TRUE(pairs) << pairs.error().message;
  ASSERT_EQ(pairs->shapes.size(), 3U);
  EXPECT_EQ(pairs->shapes[0], (std::vector<std::int64_t>{72, 36, 3}));
  EXPECT_EQ(pairs->values.size(), 3U * 72 * 36 * 3);
  const auto again = first_pairs(spec(), 99);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->shapes.size(), 4U);
  EXPECT_TRUE(std::equal(pairs->values.begin(), pairs->values.end(), again->values.begin()));
}

}  // namespace
}  // namespace sluice::scenario::mixture_train_test
