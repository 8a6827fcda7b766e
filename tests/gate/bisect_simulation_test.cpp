// tests/gate/bisect_simulation_test.cpp - the error of the search over scripted noise.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/bisect/simulation.h"

#include <gtest/gtest.h>

namespace sluice::gate::bisect_simulation_test {
namespace {

TEST(BisectSimulation, FivePercentAmong64CommitsIsFoundWithinTheRisk) {
  BisectSimulationOptions options;
  options.slowdowns = {0.05};
  options.trials = 60;
  options.seed = 7;
  const auto table = simulate_bisect(options);
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(table->size(), 2U);
  const SimulatedBisect& none = (*table)[0];
  EXPECT_EQ(none.wrong.count, 0) << "nothing is slower, so nothing is named";
  EXPECT_EQ(none.no_verdict.count, 60);
  EXPECT_EQ(none.most_probes, 1);
  const SimulatedBisect& found = (*table)[1];
  EXPECT_GE(found.right.count, 57);  // 95 %
  EXPECT_LE(found.most_probes, 7);
  EXPECT_EQ(found.right.count + found.wrong.count + found.in_range.count + found.no_verdict.count,
            60);
  EXPECT_EQ(none.interval_holds.trials, 0);
  EXPECT_EQ(found.interval_holds.trials, 60 - found.no_verdict.count);
  EXPECT_GE(found.interval_holds.count, 57) << "of the change that is printed";
}

TEST(BisectSimulation, BrokenCommitsLeaveRangesAndNoErrors) {
  BisectSimulationOptions options;
  options.slowdowns = {0.10};
  options.broken_share = 0.3;
  options.trials = 40;
  const auto table = simulate_bisect(options);
  ASSERT_TRUE(table) << table.error().message;
  const SimulatedBisect& found = (*table)[1];
  EXPECT_LE(found.wrong.count, 2);
  EXPECT_GT(found.in_range.count, 0);
  EXPECT_GT(found.right.count, 0);
}

TEST(BisectSimulation, TheSameSeedGivesTheSame) {
  BisectSimulationOptions options;
  options.trials = 5;
  options.slowdowns = {0.05};
  const auto one = simulate_bisect(options), two = simulate_bisect(options);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(to_json((*one)[1]), to_json((*two)[1]));
  options.trials = 0;
  EXPECT_FALSE(simulate_bisect(options));
}

}  // namespace
}  // namespace sluice::gate::bisect_simulation_test
