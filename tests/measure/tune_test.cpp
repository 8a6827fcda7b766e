// tests/measure/tune_test.cpp - the search on scripted surfaces with noise: what it finds, what it
// says, when it stops.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/tune.h"

#include "sluice/core/rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

namespace sluice::measure::tune_test {
namespace {

using ::testing::HasSubstr;

/// Rates of settings, noise on them, a drift all of a block share, and a clock that each
/// measurement advances.
struct Surface {
  std::function<double(const Setting&)> rate;
  double noise = 0.01;
  std::uint64_t seed = 1;
  std::function<std::optional<Error>(const Setting&)> failure{};
  double seconds_each = 1;
  ScriptedClock clock{};
  int calls = 0;
  std::map<int, std::vector<Setting>> by_block{};

  Result<double> measure(const Setting& setting, int block) {
    clock.advance(static_cast<std::int64_t>(seconds_each * 1e9));
    by_block[block].push_back(setting);
    if (failure)
      if (auto error = failure(setting)) return *error;
    Rng rng({.seed = seed, .index = static_cast<std::uint64_t>(calls++)});
    const double drift = 1 + 0.2 * std::sin(block);  // pairing must take this out
    return rate(setting) * drift * std::exp(noise * rng.normal());
  }

  Result<TuneResult> run(const TuneOptions& options) {
    return tune(
        options, [this](const Setting& s, int block) { return measure(s, block); }, clock);
  }
};

TuneOptions options_for(std::int64_t workers, Setting start) {
  TuneOptions options;
  options.axes = {doubling_axis("workers", 1, workers), doubling_axis("prefetch", 1, 16)};
  options.start = std::move(start);
  options.budget_s = 1000;
  options.seed = 3;
  return options;
}

/// More workers help until there are as many as cores; prefetch hardly.
double cores_of_eight(const Setting& s) {
  const double n = static_cast<double>(std::min<std::int64_t>(s[0], 8));
  return 500 * n / (1 + 0.02 * (n - 1)) * (s[0] > 8 ? 0.93 : 1) * (s[1] == 1 ? 0.9 : 1);
}

TEST(Tune, FindsTheOptimumFromEitherSide) {
  for (const Setting& start : {Setting{1, 2}, Setting{4, 4}, Setting{32, 16}}) {
    Surface surface{cores_of_eight};
    const auto result = surface.run(options_for(32, start));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->best[0], 8) << start[0];
    EXPECT_EQ(result->recommended, (Setting{8, 2})) << start[0];
    EXPECT_TRUE(result->settled);
    EXPECT_LT(result->ranking.loss->high, 0.02);
    EXPECT_EQ(result->best, result->ranking.order.front().setting);
  }
}

// A hollow between two hills of prefetch: a step of one finds nothing, a step of two does.
TEST(Tune, LooksBeyondAHollowOfPrefetch) {
  const std::map<std::int64_t, double> prefetch{{1, 0.8}, {2, 1.0}, {4, 0.9}, {8, 1.15}, {16, 0.7}};
  Surface surface{
      [&](const Setting& s) { return 1000.0 * static_cast<double>(s[0]) * prefetch.at(s[1]); }};
  const auto result = surface.run(options_for(2, {2, 2}));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->recommended, (Setting{2, 8}));
}

// The most prefetch is not the best: 2 beats 4, 8 and 16.
TEST(Tune, DoesNotTakePrefetchForMonotone) {
  Surface surface{[](const Setting& s) {
    return 1000.0 * static_cast<double>(s[0]) * (1 - 0.04 * std::abs(std::log2(s[1]) - 1));
  }};
  const auto result = surface.run(options_for(4, {4, 16}));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->recommended, (Setting{4, 2}));
}

TEST(Tune, NoiseAloneEndsAtTheCheapest) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
    Surface surface{[](const Setting&) { return 1000.0; }, 0.005, seed};
    const auto result = surface.run(options_for(16, {8, 4}));
    ASSERT_TRUE(result);
    EXPECT_EQ(result->recommended, (Setting{1, 1})) << seed;
    EXPECT_LT(result->ranking.loss->high, 0.02);
  }
}

// Nobody can tell differences of a percent through noise of a third: then it says so.
TEST(Tune, SaysWhenNoiseHidesTheAnswer) {
  Surface surface{[](const Setting&) { return 1000.0; }, 0.3};
  const auto result = surface.run(options_for(4, {2, 2}));
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->settled);
  EXPECT_GT(result->ranking.loss->high, 0.02);
  EXPECT_FALSE(result->ranking.open.empty());
  EXPECT_GT(result->ranking.more_measurements, 0);
}

// A budget for two blocks of neighbours: what is left goes to those that the ranking leaves open,
// not to one cheaper setting alone.
TEST(Tune, ASmallBudgetIsSpentOnWhatIsOpen) {
  Surface surface{[](const Setting& s) { return s == Setting{2, 4} ? 1060.0 : 1000.0; }, 0.05};
  TuneOptions options = options_for(4, {2, 2});
  options.budget_s = 20;
  const auto result = surface.run(options);
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->settled);
  EXPECT_LE(result->elapsed_s, 20);
  for (const TuneRanked& one : result->ranking.order) {
    EXPECT_GE(one.n, 2) << one.setting[0] << "/" << one.setting[1];
  }
  EXPECT_FALSE(result->complete);
}

// A user's: the first start took a third of the budget, and the search gave up before any
// comparison.
TEST(Tune, ASlowFirstStartStillLeavesComparisons) {
  Surface surface{cores_of_eight};
  surface.seconds_each = 10;
  TuneOptions options = options_for(4, {2, 2});
  options.budget_s = 45;
  const auto result = surface.run(options);
  ASSERT_TRUE(result);
  EXPECT_LE(result->elapsed_s, 45);
  EXPECT_GE(result->ranking.order.size(), 3U);
}

// The reference is measured and compared, though it is of no axis; never a candidate of a step.
TEST(Tune, MeasuresTheGainOverAReference) {
  Surface surface{[](const Setting& s) { return s[0] == 0 ? 300.0 : cores_of_eight(s); }};
  TuneOptions options = options_for(8, {4, 2});
  options.reference = Setting{0, 2};
  const auto result = surface.run(options);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->recommended, (Setting{8, 2}));
  ASSERT_TRUE(result->ranking.gain);
  const double gain = cores_of_eight({8, 2}) / 300;
  EXPECT_NEAR(result->ranking.gain->point, gain, 0.05 * gain);
  EXPECT_LE(result->ranking.gain->low, result->ranking.gain->point);
  EXPECT_EQ(result->ranking.order.back().setting, (Setting{0, 2}));
}

TEST(Tune, EndsWithinTheBudget) {
  Surface surface{cores_of_eight, 0.01};
  TuneOptions options = options_for(32, {1, 2});
  options.budget_s = 25;
  const auto result = surface.run(options);
  ASSERT_TRUE(result);
  EXPECT_LE(result->elapsed_s, 25);
  EXPECT_FALSE(result->settled);
  EXPECT_GT(result->best[0], 1);  // what it found until then
  options.budget_s = 1;           // not even one block
  Surface none{cores_of_eight, 0.01};
  const auto nothing = none.run(options);
  ASSERT_TRUE(nothing);
  EXPECT_EQ(nothing->recommended, options.start);
  EXPECT_TRUE(nothing->evidence.empty());
}

TEST(Tune, FailingSettingsAreLeftAndRecorded) {
  Surface surface{[](const Setting& s) { return 100.0 * static_cast<double>(s[0]); }};
  surface.failure = [](const Setting& s) -> std::optional<Error> {
    if (s[0] * s[1] <= 16) return std::nullopt;
    return Error{Errc::measurement, "out of memory"};
  };
  const auto result = surface.run(options_for(16, {4, 4}));
  ASSERT_TRUE(result);
  EXPECT_LE(result->best[0] * result->best[1], 16);
  EXPECT_EQ(result->recommended, (Setting{16, 1}));
  const auto failed =
      std::find_if(result->evidence.begin(), result->evidence.end(),
                   [](const TuneComparison& one) { return one.outcome == TuneOutcome::failed; });
  ASSERT_NE(failed, result->evidence.end());
  EXPECT_EQ(failed->reason, "out of memory");
  int tries = 0;
  for (const auto& block : surface.by_block)
    tries +=
        static_cast<int>(std::count(block.second.begin(), block.second.end(), failed->setting));
  EXPECT_EQ(tries, 1);  // once is enough
}

TEST(Tune, StartsFromTheCheapestWhereTheStartFails) {
  Surface surface{cores_of_eight};
  surface.failure = [](const Setting& s) -> std::optional<Error> {
    if (s[0] < 16) return std::nullopt;
    return Error{Errc::timeout, "no answer"};
  };
  const auto result = surface.run(options_for(16, {16, 2}));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->recommended, (Setting{8, 2}));
  EXPECT_EQ(result->evidence.front().outcome, TuneOutcome::failed);

  surface.failure = [](const Setting&) -> std::optional<Error> {
    return Error{Errc::io, "no such folder"};
  };
  const auto nothing = surface.run(options_for(16, {16, 2}));
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().message, "no such folder");
}

// It costs a block, not the search: the incumbent has measured well before.
TEST(Tune, AHiccupOfTheIncumbentIsForgiven) {
  Surface surface{cores_of_eight};
  int count = 0;
  surface.failure = [&count](const Setting&) -> std::optional<Error> {
    if (++count != 7) return std::nullopt;
    return Error{Errc::timeout, "hiccup"};
  };
  const auto result = surface.run(options_for(8, {8, 2}));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->recommended, (Setting{8, 2}));
}

TEST(Tune, AnInterruptionKeepsWhatIsKnown) {
  Surface surface{cores_of_eight};
  int count = 0;
  surface.failure = [&count](const Setting&) -> std::optional<Error> {
    if (++count < 40) return std::nullopt;
    return Error{Errc::interrupted, "stop"};
  };
  const auto result = surface.run(options_for(32, {1, 2}));
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->interrupted);
  EXPECT_FALSE(result->settled);
  EXPECT_EQ(count, 40);
  EXPECT_GT(result->best[0], 1);
}

TEST(Tune, ComparesOnlyWithinBlocksAndInRandomOrder) {
  Surface surface{cores_of_eight};
  const auto result = surface.run(options_for(32, {4, 4}));
  ASSERT_TRUE(result);
  std::set<std::size_t> places;  // of the first incumbent in its blocks
  for (const auto& [block, settings] : surface.by_block) {
    const std::set<Setting> different(settings.begin(), settings.end());
    EXPECT_EQ(different.size(), settings.size()) << block;
    const auto at = std::find(settings.begin(), settings.end(), Setting{4, 4});
    if (block > 0 && at != settings.end())
      places.insert(static_cast<std::size_t>(at - settings.begin()));
  }
  EXPECT_GT(places.size(), 1U);
  for (const TuneComparison& one : result->evidence) {
    if (one.log_ratios.size() < 2) continue;
    EXPECT_LE(one.ratio.low, one.ratio.point);
    EXPECT_LE(one.ratio.point, one.ratio.high);
    EXPECT_TRUE(one.outcome != TuneOutcome::better || one.ratio.low > 1);
    EXPECT_TRUE(one.outcome != TuneOutcome::as_good || one.ratio.low > 0.98);
  }
}

TEST(Tune, TheSameSeedGivesTheSameSearch) {
  const auto once = [] {
    Surface surface{cores_of_eight};
    auto result = surface.run(options_for(32, {2, 8}));
    return result ? surface.by_block : std::map<int, std::vector<Setting>>{};
  };
  EXPECT_EQ(once(), once());
  EXPECT_FALSE(once().empty());
}

TEST(Tune, DoublingAxes) {
  EXPECT_EQ(doubling_axis("w", 0, 6).values, (std::vector<std::int64_t>{0, 1, 2, 4, 6}));
  EXPECT_EQ(doubling_axis("w", 1, 8).values, (std::vector<std::int64_t>{1, 2, 4, 8}));
  EXPECT_EQ(doubling_axis("w", 1, 1).values, (std::vector<std::int64_t>{1}));
  EXPECT_EQ(doubling_axis("w", 4, 8).values, (std::vector<std::int64_t>{4, 8}));
}

TEST(Tune, RefusesBadOptions) {
  Surface surface{cores_of_eight};
  TuneOptions options = options_for(8, {3, 2});
  EXPECT_THAT(surface.run(options).error().message, HasSubstr("start workers=3"));
  options = options_for(8, {4});
  EXPECT_FALSE(surface.run(options));
  options = options_for(8, {4, 2});
  options.looks = {1, 2};
  EXPECT_THAT(surface.run(options).error().message, HasSubstr("looks"));
  options = options_for(8, {4, 2});
  options.axes[0].values = {4, 2};
  EXPECT_THAT(surface.run(options).error().message, HasSubstr("ascend"));
  options.axes.clear();
  options.start.clear();
  EXPECT_FALSE(surface.run(options));
  EXPECT_EQ(surface.calls, 0);
}

}  // namespace
}  // namespace sluice::measure::tune_test
