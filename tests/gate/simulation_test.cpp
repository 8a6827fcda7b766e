// tests/gate/simulation_test.cpp - error rates of the rule over simulated sessions, seeded.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/rng.h"
#include "sluice/stats/power.h"

#include "tests/gate/make_results.h"

namespace sluice::gate::simulation_test {
namespace {

constexpr int kRows = 8;
constexpr int kRuns = 5;
constexpr double kRunSd = 0.02;

// A session of 8 rows with 5 runs each; row 0 runs at `factor` of its usual rate.
results::ResultFile session(Rng& rng, double factor) {
  std::vector<measure::Row> rows;
  for (int i = 0; i < kRows; ++i) {
    std::vector<double> rates;
    for (int run = 0; run < kRuns; ++run) {
      rates.push_back((i == 0 ? factor : 1) * 1000 * std::exp(kRunSd * rng.normal()));
    }
    rows.push_back(row_of(std::to_string(i), rates));
  }
  return file_of(rows);
}

bool says_something(const RowComparison& row) {
  return row.verdict == GateStatus::fail || row.verdict == GateStatus::improved;
}

struct Tally {
  int trials = 0;
  int slowed_row = 0;  // trials in which row 0 failed
  int others = 0;      // trials in which any other row was called anything
  int any = 0;         // trials with any row called slower or faster
};

Tally simulate(int trials, double factor, double threshold, std::uint64_t seed) {
  Tally tally;
  for (int trial = 0; trial < trials; ++trial) {
    Rng rng(RngKey{.seed = seed, .index = static_cast<std::uint64_t>(trial)});
    const auto base = session(rng, 1);
    const auto comparison = compare(base, session(rng, factor), {.threshold = threshold});
    if (!comparison) {
      ADD_FAILURE() << comparison.error().message;
      return tally;
    }
    ++tally.trials;
    bool others = false;
    for (std::size_t i = 1; i < comparison->rows.size(); ++i) {
      others = others || says_something(comparison->rows[i]);
    }
    const bool slowed = comparison->rows[0].verdict == GateStatus::fail;
    if (slowed) ++tally.slowed_row;
    if (others) ++tally.others;
    if (others || says_something(comparison->rows[0])) ++tally.any;
  }
  return tally;
}

// Whole lower end of the interval under the bound: a rule that errs more often than promised fails
// this test.
double lower_end(int hits, int trials) {
  return stats::wilson(hits, trials, 0.999)->low;
}
double upper_end(int hits, int trials) {
  return stats::wilson(hits, trials, 0.999)->high;
}

// Without a threshold all that stands between noise and an alarm is Welch's test with Holm: any
// row, either direction.
TEST(Simulation, FamilyWiseErrorStaysAtAlpha) {
  const Tally tally = simulate(1000, 1, 0, 1);
  EXPECT_LT(lower_end(tally.any, tally.trials), 0.05) << tally.any;
  EXPECT_GT(upper_end(tally.any, tally.trials), 0.02)
      << "far below alpha: the test has lost its power";
}

TEST(Simulation, FalseAlarmsAreRareWithTheThreshold) {
  const Tally tally = simulate(1000, 1, 0.05, 2);
  EXPECT_LT(upper_end(tally.any, tally.trials), 0.02) << tally.any;
}

// PASS promises that a loss of the threshold is ruled out: at exactly that loss it must be rare.
TEST(Simulation, PassIsRareAtALossOfTheThreshold) {
  int passed = 0;
  constexpr int kTrials = 1000;
  for (int trial = 0; trial < kTrials; ++trial) {
    Rng rng(RngKey{.seed = 4, .index = static_cast<std::uint64_t>(trial)});
    const auto base = session(rng, 1);
    const auto comparison = compare(base, session(rng, 0.95), {.threshold = 0.05});
    for (const RowComparison& row : comparison->rows)
      if (row.case_name == "0" && row.verdict == GateStatus::pass) ++passed;
  }
  EXPECT_LT(lower_end(passed, kTrials), 0.05) << passed;
  EXPECT_GT(upper_end(passed, kTrials), 0.02) << "far below alpha: nothing ever passes";
}

TEST(Simulation, FifteenPercentIsFoundAndNoOtherRowBlamed) {
  const Tally tally = simulate(600, 0.85, 0.05, 3);
  EXPECT_GT(lower_end(tally.slowed_row, tally.trials), 0.97) << tally.slowed_row;
  EXPECT_LT(upper_end(tally.others, tally.trials), 0.03) << tally.others;
}

}  // namespace
}  // namespace sluice::gate::simulation_test
