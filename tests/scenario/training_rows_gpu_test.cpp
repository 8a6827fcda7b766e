// tests/scenario/training_rows_gpu_test.cpp - a training row on a GPU tells what it executes, and
// what its memory is by the driver.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/scenario.h"
#include "sluice/scenario/training/spec.h"
#include "sluice/train/cuda/library.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace sluice::scenario::training_rows_gpu_test {
namespace {

class TrainingRowOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto facts = train::cuda::device_facts(0); !facts)
      GTEST_SKIP() << facts.error().message;
  }

  static Json told_by(train::Rung rung, train::LastBlock last_block) {
    TrainingSpec spec;
    spec.engine.device = "cuda:0";
    spec.engine.regime = train::Regime::mixed;
    spec.engine.model = train::find_model("vit5-tiny").value();
    spec.engine.batch = 64;
    spec.engine.rung = rung;
    spec.engine.last_block = last_block;
    spec.phase_steps = 2;
    measure::SubjectContext context;
    context.threads = 1;
    context.case_name = "training/vit5-tiny";
    context.spec = to_json(spec);
    const auto subject = make_training(context);
    EXPECT_TRUE(subject) << (subject ? "" : subject.error().message);
    if (!subject) return {};
    const auto digest = (*subject)->check();
    EXPECT_TRUE(digest) << (digest ? "" : digest.error().message);
    (*subject)->begin_sample();
    for (int i = 0; i < 3; ++i)
      (*subject)->run_pass();
    return (*subject)->measured_info();
  }
};

TEST_F(TrainingRowOnGpu, ImagesAreMixedAnewInEveryStep) {
  for (const auto data : {TrainingData::resident, TrainingData::generated}) {
    const auto losses_of = [&](const MixOptions& mix) {
      TrainingSpec spec;
      spec.engine.device = "cuda:0";
      spec.engine.model = train::find_model("vit5-tiny").value();
      spec.engine.batch = 8;
      spec.engine.update.learning_rate = 0;  // every loss is that of the same weights
      spec.data = data;
      spec.mix = mix;
      measure::SubjectContext context;
      context.threads = 1;
      context.case_name = "training/vit5-tiny";
      context.spec = to_json(spec);
      const auto subject = make_training(context);
      EXPECT_TRUE(subject) << (subject ? "" : subject.error().message);
      EXPECT_TRUE((*subject)->check());
      (*subject)->begin_sample();
      for (int i = 0; i < 4; ++i)
        (*subject)->run_pass();
      return (*subject)->measured_info().at("losses").get<std::vector<double>>();
    };
    const auto different = [](const std::vector<double>& losses) {
      return std::set<double>(losses.begin(), losses.end()).size();
    };
    // At first the logits hardly depend on the image, and mixing moves labels within the batch: the
    // mean over it changes, but by little.
    EXPECT_EQ(different(losses_of({})), 1U) << "the same batch";
    EXPECT_EQ(different(losses_of({0.8, 1})), 4U) << "a draw for each step";
  }
}

TEST_F(TrainingRowOnGpu, ExecutesTheLastBlockAsItWasAsked) {
  for (const auto rung : {train::Rung::off, train::Rung::graph}) {
    std::map<train::LastBlock, double> flop;
    for (const auto last_block : {train::LastBlock::full, train::LastBlock::class_token}) {
      const Json told = told_by(rung, last_block);
      EXPECT_EQ(told.at("engine").at("last_block"), to_string(last_block));
      flop[last_block] = told.at("flop_executed").get<double>();
    }
    const double left_out = 3 * 2.0 * 64 * 200 * 9 * 192 * 192;
    EXPECT_EQ(flop[train::LastBlock::full] - flop[train::LastBlock::class_token], left_out);
  }
}

/// The driver gives memory in pieces, so it counts no less than was planned; another process on the
/// device may give some back meanwhile.
TEST_F(TrainingRowOnGpu, TellsItsMemoryByTheDriver) {
  const Json told = told_by(train::Rung::graph, train::LastBlock::full);
  ASSERT_TRUE(told.contains("driver_peak_bytes")) << told.dump();
  EXPECT_GE(told.at("driver_peak_bytes").get<double>(), 0.9 * told.at("plan_bytes").get<double>());
}

}  // namespace
}  // namespace sluice::scenario::training_rows_gpu_test
