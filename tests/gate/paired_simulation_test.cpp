// tests/gate/paired_simulation_test.cpp - the paired gate keeps its promises over scripted noise,
// and the usual designs do not.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/pairs/paired_simulation.h"

#include "sluice/stats/power.h"

#include <gtest/gtest.h>

namespace sluice::gate::paired_simulation_test {
namespace {

double share(const Share& one) {
  return static_cast<double>(one.count) / one.trials;
}

TEST(PairedSimulation, TheTableInKind) {
  SimulationOptions options;
  options.trials = 1000;
  options.seed = 20261116;
  const auto table = simulate_gates(options);
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(table->size(), 8U);
  for (const SimulatedDesign& row : *table) {
    ::testing::Test::RecordProperty(row.name, std::to_string(share(row.false_alarms)) + " " +
                                                  std::to_string(share(row.found[0])) + " " +
                                                  std::to_string(share(row.found[1])));
  }
  const SimulatedDesign& loose = (*table)[0];
  EXPECT_LT(share(loose.false_alarms), 0.03);
  EXPECT_LT(share(loose.found[0]), 0.35) << "a wide threshold sees little";
  const SimulatedDesign& tight = (*table)[1];
  EXPECT_GT(share(tight.false_alarms), 0.1) << "a narrow one cries wolf";
  EXPECT_GT(share((*table)[2].false_alarms), 0.2) << "iterations are not independent";
  EXPECT_GT(share((*table)[3].false_alarms), 0.2) << "for ranks neither";
  EXPECT_GT(share((*table)[4].false_alarms), 0.04) << "drift is not symmetric";

  const SimulatedDesign& ours = table->back();
  ASSERT_TRUE(ours.ours);
  EXPECT_LE(stats::wilson(ours.false_alarms.count, ours.false_alarms.trials)->high, 0.015);
  EXPECT_GE(stats::wilson(ours.found[0].count, ours.found[0].trials)->low, 0.95);
  EXPECT_GE(stats::wilson(ours.found[1].count, ours.found[1].trials)->low, 0.99);
  EXPECT_GE(ours.runs, 16);
  EXPECT_LE(ours.runs, 32) << "most trials end at the first look";
}

TEST(PairedSimulation, SameSeedSameTable) {
  SimulationOptions options;
  options.trials = 20;
  const auto first = simulate_gates(options);
  const auto second = simulate_gates(options);
  ASSERT_TRUE(first && second);
  for (std::size_t i = 0; i < first->size(); ++i) {
    EXPECT_EQ((*first)[i].false_alarms.count, (*second)[i].false_alarms.count);
    EXPECT_EQ((*first)[i].runs, (*second)[i].runs);
  }
}

TEST(PairedSimulation, ASharesIntervalIsNeverEmpty) {
  const Json none = to_json(Share{0, 300});
  EXPECT_EQ(none["count"], 0);
  EXPECT_GT(none["high"].get<double>(), 0.01);
  EXPECT_TRUE(to_json(Share{})["share"].is_null());
}

}  // namespace
}  // namespace sluice::gate::paired_simulation_test
