// tests/gate/paired_background_test.cpp - CPU time beside wall time, and what an open verdict
// needs.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/pairs/paired_background.h"

#include "sluice/gate/pairs/paired_report.h"

#include <gtest/gtest.h>

namespace sluice::gate::paired_background_test {
namespace {

/// Wall times that a neighbour disturbs by `noise`, of 8 pairs.
PairedOutcome walls(double noise) {
  const double steps[] = {1, -1, 0.8, -0.9, 0.5, -0.6, 0.9, -0.7};
  PairedOptions options;
  options.looks = single_look(8);
  const auto outcome = run_pairs({{.name = "wall", .unit = "s", .tau = 0.03}}, options,
                                 [&](int index, bool) -> Result<std::vector<PairValue>> {
                                   return std::vector<PairValue>{{1, 1 + noise * steps[index % 8]}};
                                 });
  EXPECT_TRUE(outcome);
  return *outcome;
}

std::vector<PairCpu> steady(double b_s) {
  return std::vector<PairCpu>(8, PairCpu{{0.4, 0.1}, {b_s - 0.1, 0.1}});
}

TEST(PairedBackgroundTest, CpuTimeDecidesWhatWallTimeLeavesOpen) {
  const PairedOutcome outcome = walls(0.2);
  const GateReport report = report_of(outcome);
  ASSERT_EQ(report.status, GateStatus::inconclusive);
  const PairedBackground found = background_of(outcome, report, steady(0.5), 16);
  EXPECT_TRUE(found.cpu_helps);
  EXPECT_EQ(found.cpu_status, GateStatus::pass);
  EXPECT_DOUBLE_EQ(found.pair_s, 2);
  EXPECT_GT(found.needed_pairs, 8);
  EXPECT_NEAR(found.a.user_s, 0.4, 1e-12);
  const Json json = to_json(found);
  EXPECT_EQ(json.at("cpu_verdict").at("status"), "PASS");
  EXPECT_DOUBLE_EQ(json.at("needed_s"), 2.0 * static_cast<double>(found.needed_pairs));
}

TEST(PairedBackgroundTest, ALossOfCpuTimeIsSaid) {
  const PairedOutcome outcome = walls(0.2);
  EXPECT_EQ(background_of(outcome, report_of(outcome), steady(0.6), 16).cpu_status,
            GateStatus::fail);
}

TEST(PairedBackgroundTest, ADecidedVerdictNeedsNothing) {
  const PairedOutcome outcome = walls(0.0001);
  const GateReport report = report_of(outcome);
  ASSERT_EQ(report.status, GateStatus::pass);
  const PairedBackground found = background_of(outcome, report, steady(0.5), 16);
  EXPECT_FALSE(found.cpu_helps);
  EXPECT_EQ(found.needed_pairs, 0);
  EXPECT_TRUE(to_json(found).at("needed_pairs").is_null());
}

TEST(PairedBackgroundTest, WithoutCpuTimeThereIsNoOffer) {
  const PairedOutcome outcome = walls(0.2);
  const PairedBackground found =
      background_of(outcome, report_of(outcome), std::vector<PairCpu>(8), 16);
  EXPECT_FALSE(found.cpu);
  EXPECT_FALSE(found.cpu_helps);
}

}  // namespace
}  // namespace sluice::gate::paired_background_test
