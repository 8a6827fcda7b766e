// tests/analysis/step_model_test.cpp - the step of many ranks, against cases that are worked out by
// hand.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/world/step_model.h"

#include <gtest/gtest.h>

namespace sluice::analysis::step_model_test {
namespace {

constexpr double kNear = 1e-12;

Cluster flat(int ranks, double bytes_per_s, double latency_s) {
  return {ranks, 1, {bytes_per_s, latency_s}, {}};
}

TEST(SumCostTest, ARingSendsItsShareInHops) {
  const SumCost two = sum_cost(1e6, flat(2, 1e9, 1e-5));
  EXPECT_NEAR(two.seconds, 1e-3 + 2e-5, kNear);
  EXPECT_EQ(two.algorithm, SumAlgorithm::ring);
  EXPECT_NEAR(two.sent_between, 1e6, 1e-3);
  const SumCost eight = sum_cost(8e8, flat(8, 1e9, 1e-6));
  EXPECT_NEAR(eight.seconds, 1.4 + 14e-6, kNear);
  EXPECT_NEAR(eight.sent_between, 1.4e9, 1e-3);
  EXPECT_EQ(sum_cost(1e9, flat(1, 1e9, 1)).seconds, 0);
}

TEST(SumCostTest, ATreeTakesOverWhereHopsAreWhatCosts) {
  const SumCost small = sum_cost(1000, flat(512, 50e9, 5e-6));
  EXPECT_EQ(small.algorithm, SumAlgorithm::tree);
  EXPECT_NEAR(small.seconds, 2000 / 46e9 + 18 * 5e-6, kNear);
  EXPECT_EQ(sum_cost(4e9, flat(512, 50e9, 5e-6)).algorithm, SumAlgorithm::ring);
}

TEST(SumCostTest, NodesScatterAddUpAndGather) {
  Cluster cluster = flat(64, 50e9, 5e-6);
  cluster.per_node = 8;
  cluster.within = {450e9, 2e-6};
  const SumCost cost = sum_cost(8e8, cluster);
  const double within = 2 * (7.0 / 8 * 8e8 / 450e9 + 7 * 2e-6);
  const double between = 2 * (7.0 / 8 * 1e8 / 50e9 + 7 * 5e-6);  // 8 nodes, an eighth each
  EXPECT_NEAR(cost.seconds, within + between, kNear);
  EXPECT_NEAR(cost.sent_within, 14e8, 1e-3);
  EXPECT_NEAR(cost.sent_between, 1.75e8, 1e-3);
  EXPECT_LT(cost.seconds, sum_cost(8e8, flat(64, 50e9, 5e-6)).seconds);
  cluster.ranks = 8;  // one node alone
  const SumCost one = sum_cost(8e8, cluster);
  EXPECT_NEAR(one.seconds, within, kNear);
  EXPECT_EQ(one.sent_between, 0);
  EXPECT_NEAR(one.sent_within, 14e8, 1e-3);
}

MeasuredStep step_of(std::vector<GradientPiece> pieces, double contention = 0) {
  return {.step_s = 0.3,
          .backward_s = 0.2,
          .samples = 8,
          .pieces = std::move(pieces),
          .contention = contention};
}

// Of two ranks a megabyte takes a millisecond here.
Cluster plain() {
  return flat(2, 1e9, 0);
}

TEST(PredictStepTest, OneRankIsWhatWasMeasured) {
  const StepPrediction one = predict_step(step_of({{1e6, 0.5}}), flat(1, 1e9, 0));
  EXPECT_DOUBLE_EQ(one.step_s, 0.3);
  EXPECT_DOUBLE_EQ(one.efficiency, 1);
  EXPECT_NEAR(one.samples_per_s, 8 / 0.3, 1e-9);
}

TEST(PredictStepTest, WhatBackwardCoversIsHidden) {
  // 50 ms from half of backward on: over before it ends. The last piece has nothing to hide behind.
  const StepPrediction found = predict_step(step_of({{50e6, 0.5}, {10e6, 1}}), plain());
  EXPECT_NEAR(found.sums_s, 0.06, kNear);
  EXPECT_NEAR(found.exposed_s, 0.01, kNear);
  EXPECT_NEAR(found.step_s, 0.31, kNear);
  EXPECT_NEAR(found.efficiency, 0.3 / 0.31, kNear);
  EXPECT_NEAR(found.samples_per_s, 16 / 0.31, 1e-9);
  EXPECT_NEAR(found.sent_between, 60e6, 1e-3);
}

TEST(PredictStepTest, APieceWaitsForTheOneBefore) {
  // 150 ms from 100 ms on end at 250; then 30 more: 80 ms past the end of backward.
  const StepPrediction found = predict_step(step_of({{150e6, 0.5}, {30e6, 0.6}}), plain());
  EXPECT_NEAR(found.exposed_s, 0.08, kNear);
}

TEST(PredictStepTest, CoresThatAddUpDoNothingElse) {
  const StepPrediction all = predict_step(step_of({{50e6, 0.5}, {10e6, 1}}, 1), plain());
  EXPECT_NEAR(all.exposed_s, 0.06, kNear);
  // At half the speed: 50 ms beside backward cost it 25.
  const StepPrediction half = predict_step(step_of({{50e6, 0.5}}, 0.5), plain());
  EXPECT_NEAR(half.exposed_s, 0.025, kNear);
}

results::AllreduceLine line_of(std::int64_t bytes, double us) {
  results::AllreduceLine line;
  line.bytes = bytes;
  line.time_us = {us, us, us};
  return line;
}

TEST(FittedLinkTest, FindsTheLinkOfARing) {
  results::AllreduceSummary measured;
  measured.world_size = 4;
  for (const std::int64_t bytes : {8, 1 << 20, 4 << 20, 16 << 20}) {
    const SumCost cost = sum_cost(static_cast<double>(bytes), flat(4, 2e9, 3e-6));
    ASSERT_EQ(cost.algorithm == SumAlgorithm::ring, bytes > 8);
    const double ring = 1.5 * static_cast<double>(bytes) / 2e9 + 6 * 3e-6;
    measured.lines.push_back(line_of(bytes, ring * 1e6));
  }
  const auto fitted = fitted_link(measured, 1e6, 2e7);
  ASSERT_TRUE(fitted);
  EXPECT_NEAR(fitted->link.bytes_per_s, 2e9, 2e6);
  EXPECT_NEAR(fitted->link.latency_s, 3e-6, 1e-8);
  EXPECT_EQ(fitted->sizes, 3U);
  EXPECT_LT(fitted->worst, 0.01);
  measured.lines.back().time_us.point *= 2;  // no link fits that
  EXPECT_GT(fitted_link(measured, 1e6, 2e7)->worst, 0.1);
  measured.lines.resize(1);
  EXPECT_FALSE(fitted_link(measured, 1e6, 2e7));
}

}  // namespace
}  // namespace sluice::analysis::step_model_test
