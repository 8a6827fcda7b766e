// tests/gate/compare_test.cpp - when a row fails, improved, passes, or is not decided.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/compare/compare.h"

#include "sluice/core/rng.h"
#include "sluice/stats/multiplicity.h"
#include "sluice/stats/power.h"
#include "sluice/stats/t_test.h"

#include "tests/gate/make_results.h"

namespace sluice::gate::compare_test {
namespace {

using ::testing::HasSubstr;

const std::vector<double> kSteady{100, 101, 99, 100.5, 99.5};
const std::vector<double> kNoisy{60, 140, 100, 80, 120};

std::vector<double> times(std::vector<double> values, double factor) {
  for (double& value : values)
    value *= factor;
  return values;
}

TEST(Compare, VerdictNeedsSignificanceAndSize) {
  EXPECT_EQ(compare_rates(kSteady, times(kSteady, 0.85)).verdict, GateStatus::fail);
  EXPECT_EQ(compare_rates(kSteady, times(kSteady, 1.2)).verdict, GateStatus::improved);
  EXPECT_EQ(compare_rates(kSteady, kSteady).verdict, GateStatus::pass);

  const auto small = compare_rates(kSteady, times(kSteady, 0.97));
  EXPECT_EQ(small.verdict, GateStatus::pass);
  EXPECT_LT(*small.p_holm, 0.05);
  EXPECT_THAT(small.reason, HasSubstr("significant but not over 5.0 %"));

  const auto unclear = compare_rates(kNoisy, times(kNoisy, 0.8));
  EXPECT_EQ(unclear.verdict, GateStatus::inconclusive);
  EXPECT_GT(*unclear.p_holm, 0.05);
  EXPECT_THAT(unclear.reason, HasSubstr("not significant"));

  CompareOptions options;
  options.threshold = 0.02;
  EXPECT_EQ(compare_rates(kSteady, times(kSteady, 0.97), options).verdict, GateStatus::fail);
  options.alpha = 1e-6;
  EXPECT_EQ(compare_rates(kSteady, times(kSteady, 0.97), options).verdict,
            GateStatus::inconclusive);
}

TEST(Compare, LibrariesAndTransformsChooseRows) {
  measure::Row ours = row_of("image-rgb/micro/Resize", kSteady);
  ours.params = {{"transform", "Resize"}};
  measure::Row pad = row_of("image-rgb/micro/Pad", kSteady);
  measure::Row other = ours;
  other.library = "pillow";
  const auto file = file_of({ours, pad, other});
  const auto count = [&](std::vector<std::string> libraries, std::vector<std::string> transforms) {
    CompareOptions options;
    options.libraries = std::move(libraries);
    options.transforms = std::move(transforms);
    const auto comparison = compare(file, file, options);
    return comparison ? static_cast<int>(comparison->rows.size()) : -1;
  };
  EXPECT_EQ(count({}, {}), 3);
  EXPECT_EQ(count({"sluice"}, {}), 2);
  EXPECT_EQ(count({}, {"Resize"}), 2);
  EXPECT_EQ(count({"pillow", "sluice"}, {"Pad"}), 1);
  EXPECT_EQ(count({"pilow"}, {}), -1);
  EXPECT_EQ(count({}, {"Resise"}), -1);
  CompareOptions options;
  options.transforms = {"Resize"};
  const auto gone = compare(file, file_of({pad}), options);  // what candidate lacks still fails
  ASSERT_TRUE(gone) << gone.error().message;
  EXPECT_EQ(gone->outcome, GateStatus::fail);
}

TEST(Compare, PassRulesALossOfTheThresholdOut) {
  EXPECT_THAT(compare_rates(kSteady, kSteady).reason, HasSubstr("a loss of 5.0 % is ruled out"));
  const auto noisy = compare_rates(kNoisy, kNoisy);
  EXPECT_EQ(noisy.verdict, GateStatus::inconclusive) << "equal, but a loss would not be seen";
  EXPECT_THAT(noisy.reason, HasSubstr("a loss of 5.0 % is not ruled out"));
  // Just short of the threshold: no loss over it is shown, and none is ruled out.
  EXPECT_EQ(compare_rates(kSteady, times(kSteady, 0.955)).verdict, GateStatus::inconclusive);
  EXPECT_EQ(compare_rates(kSteady, times(kSteady, 1.04)).verdict, GateStatus::pass);
}

TEST(Compare, RatioIntervalAndPAreWelchOnLogsOfRuns) {
  const std::vector<double> candidate{95, 97, 93, 96};
  const auto row = compare_rates(kSteady, candidate);
  const auto test = stats::welch_t_on_logs(candidate, kSteady);
  EXPECT_NEAR(*row.ratio_point, std::exp(test->difference), 1e-8);
  EXPECT_NEAR(row.ratio->low, std::exp(test->interval.low), 1e-7);
  EXPECT_NEAR(row.ratio->high, std::exp(test->interval.high), 1e-7);
  EXPECT_NEAR(*row.p, test->p, 1e-6);
  EXPECT_EQ(*row.p, *row.p_holm);  // alone in its family
  EXPECT_EQ(row.base->runs, 5);
  EXPECT_EQ(row.candidate->runs, 4);
  EXPECT_NEAR(*row.candidate->value, 95.24, 0.01);
}

TEST(Compare, SwappingTheSidesMirrorsTheVerdict) {
  Rng rng(RngKey{.seed = 4});
  int verdicts = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<double> a;
    std::vector<double> b;
    const double shift = rng.uniform(-0.12, 0.12);
    for (int i = 0; i < 5; ++i) {
      a.push_back(100 * std::exp(0.01 * rng.normal()));
      b.push_back(100 * std::exp(0.01 * rng.normal() + shift));
    }
    const auto forth = compare_rates(a, b);
    const auto back = compare_rates(b, a);
    EXPECT_EQ(forth.verdict == GateStatus::fail, back.verdict == GateStatus::improved);
    EXPECT_EQ(forth.verdict == GateStatus::improved, back.verdict == GateStatus::fail);
    EXPECT_NEAR(*forth.ratio_point * *back.ratio_point, 1, 1e-12);
    if (forth.verdict == GateStatus::fail || forth.verdict == GateStatus::improved) ++verdicts;
  }
  EXPECT_GT(verdicts, 50);
  EXPECT_LT(verdicts, 250);
}

TEST(Compare, LowerIsBetterTurnsTheValueNotTheSense) {
  measure::Row base = row_of("latency", kSteady);
  measure::Row slower = row_of("latency", times(kSteady, 0.8));
  for (measure::Row* row : {&base, &slower}) {
    row->better = measure::Better::lower;
    row->unit = "s";
  }
  const auto row = compare_row(base, slower);
  EXPECT_EQ(row.verdict, GateStatus::fail);
  EXPECT_NEAR(*row.ratio_point, 0.8, 1e-8);
  EXPECT_NEAR(*row.base->value, 0.01, 1e-5);         // seconds per item
  EXPECT_NEAR(*row.candidate->value, 0.0125, 1e-5);  // more of them: worse
}

TEST(Compare, FewerThanThreeRunsHaveNoVerdict) {
  for (const std::size_t n : {1u, 2u}) {
    const std::vector<double> few(kSteady.begin(),
                                  kSteady.begin() + static_cast<std::ptrdiff_t>(n));
    for (const bool in_base : {true, false}) {
      const auto row = in_base ? compare_rates(few, times(kSteady, 0.5))
                               : compare_rates(kSteady, times(few, 0.5));
      EXPECT_EQ(row.verdict, GateStatus::inconclusive);
      EXPECT_THAT(row.reason, HasSubstr("at least 3"));
      EXPECT_TRUE(row.ratio_point.has_value());  // shown all the same
      EXPECT_EQ(row.ratio.has_value(), n == 2);
      EXPECT_FALSE(row.p_holm.has_value());
    }
  }
  EXPECT_EQ(compare_rates({100, 101, 99}, {80, 81, 79}).verdict, GateStatus::fail);
}

// A process with a thousand samples is still one value; only the run means are tested.
TEST(Compare, IterationsAreNotReplicates) {
  const auto few_runs =
      compare_row(row_of("case", {100, 101}, 1000), row_of("case", {50, 51}, 1000));
  EXPECT_EQ(few_runs.verdict, GateStatus::inconclusive);
  const auto once = compare_row(row_of("case", kSteady, 1), row_of("case", kNoisy, 1));
  const auto often = compare_row(row_of("case", kSteady, 500), row_of("case", kNoisy, 500));
  EXPECT_NEAR(*once.p, *often.p, 1e-9);
}

TEST(Compare, RunValueIsItemsOverElapsedSoStallsCount) {
  measure::Row base = row_of("case", kSteady, 10);
  measure::Row stalled = base;
  for (measure::Run& run : stalled.runs)
    run.samples_ns[3] *= 11;  // one sample in ten: twice the time in all
  const auto row = compare_row(base, stalled);
  EXPECT_NEAR(*row.ratio_point, 0.5, 1e-6);
  EXPECT_EQ(row.verdict, GateStatus::fail);
}

TEST(Compare, FileWithItselfIsTheSameEverywhere) {
  results::ResultFile file =
      file_of({row_of("a", kSteady), row_of("b", kNoisy), row_of("c", {5, 5, 5})});
  file.canary = {row_of("canary/gemm", kSteady)};
  const auto comparison = compare(file, file);
  ASSERT_TRUE(comparison.has_value());
  EXPECT_EQ(comparison->outcome, GateStatus::inconclusive) << "b is too noisy to rule a loss out";
  EXPECT_EQ(comparison->counts.pass, 2);
  EXPECT_EQ(comparison->counts.inconclusive, 1);
  for (const RowComparison& row : comparison->rows) {
    EXPECT_EQ(*row.p, 1.0);
    EXPECT_EQ(*row.p_holm, 1.0);
    EXPECT_EQ(*row.ratio_point, 1.0);
  }
}

TEST(Compare, NoSpreadIsNoNan) {
  const auto equal = compare_rates({50, 50, 50}, {50, 50, 50, 50});
  EXPECT_EQ(equal.verdict, GateStatus::pass);
  EXPECT_EQ(*equal.p, 1.0);
  EXPECT_EQ(*equal.mde, 0.0);
  const auto lower = compare_rates({50, 50, 50}, {40, 40, 40});
  EXPECT_EQ(lower.verdict, GateStatus::fail);
  EXPECT_EQ(*lower.p, 0.0);
  EXPECT_NEAR(lower.ratio->low, 0.8, 1e-9);
  EXPECT_NEAR(lower.ratio->high, 0.8, 1e-9);
}

TEST(Compare, HolmIsTakenOverTheJudgedRowsOnly) {
  Rng rng(RngKey{.seed = 12});
  std::vector<measure::Row> base;
  std::vector<measure::Row> candidate;
  for (int i = 0; i < 6; ++i) {
    std::vector<double> a;
    std::vector<double> b;
    for (int run = 0; run < 5; ++run) {
      a.push_back(100 * std::exp(0.03 * rng.normal()));
      b.push_back(96 * std::exp(0.03 * rng.normal()));
    }
    base.push_back(row_of(std::to_string(i), a));
    candidate.push_back(row_of(std::to_string(i), b));
  }
  base.push_back(row_of("few", {1, 2}));
  candidate.push_back(row_of("few", {1, 2}));
  base.push_back(row_of("gone", kSteady));
  const auto comparison = compare(file_of(base), file_of(candidate), {.allow_missing = true});
  std::vector<double> raw;
  for (int i = 0; i < 6; ++i)
    raw.push_back(*comparison->rows[static_cast<std::size_t>(i)].p);
  const auto adjusted = stats::holm(raw);
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_EQ(*comparison->rows[i].p_holm, (*adjusted)[i]);
  EXPECT_FALSE(comparison->rows[6].p_holm.has_value());
  EXPECT_FALSE(comparison->rows[7].p_holm.has_value());
}

// The same clear loss, alone and among many rows that did not change.
TEST(Compare, ManyRowsDemandMoreEvidence) {
  const std::vector<double> slower{94, 91.5, 96.5, 93, 95};
  EXPECT_EQ(compare_rates(kSteady, slower).verdict, GateStatus::fail);
  std::vector<measure::Row> base{row_of("slow", kSteady)};
  std::vector<measure::Row> candidate{row_of("slow", slower)};
  for (int i = 0; i < 200; ++i) {
    base.push_back(row_of(std::to_string(i), kNoisy));
    candidate.push_back(row_of(std::to_string(i), kNoisy));
  }
  const auto comparison = compare(file_of(base), file_of(candidate));
  EXPECT_EQ(comparison->rows[0].verdict, GateStatus::inconclusive);
  EXPECT_GT(*comparison->rows[0].mde, *compare_rates(kSteady, slower).mde);
}

TEST(Compare, MdeIsTheTwoSampleFormula) {
  const std::vector<double> candidate{101, 99, 104, 98, 100};
  const auto row = compare_rates(kSteady, candidate);
  const auto test = stats::welch_t_on_logs(candidate, kSteady);
  const auto mde = stats::minimal_detectable_effect(test->standard_error, test->df,
                                                    {.alpha = 0.025, .power = 0.8});
  EXPECT_NEAR(*row.mde, 1 - std::exp(-*mde), 1e-7);
  EXPECT_GT(*compare_rates(kNoisy, kNoisy).mde, *row.mde);
  EXPECT_LT(*compare_rates(kNoisy, kNoisy).mde, 1.0);
}

TEST(Compare, OptionsOutOfRangeAreRefused) {
  const auto file = file_of({row_of("a", kSteady)});
  for (const double bad : {-0.1, 1.0, std::nan("")}) {
    EXPECT_FALSE(compare(file, file, {.threshold = bad}).has_value()) << bad;
  }
  for (const double bad : {0.0, 1.0, std::nan("")}) {
    EXPECT_FALSE(compare(file, file, {.alpha = bad}).has_value()) << bad;
  }
  CompareOptions options;
  options.min_runs = 1;
  EXPECT_FALSE(compare(file, file, options).has_value());
  EXPECT_FALSE(
      compare(analysis::ResultSet{"empty", {}}, analysis::ResultSet{"b", {file}}).has_value());
}

}  // namespace
}  // namespace sluice::gate::compare_test
