// tests/analysis/bottleneck_test.cpp - the verdict by its rules: each boundary from both sides.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/bottleneck.h"

#include "sluice/results/result_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace sluice::analysis::bottleneck_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

StepTimes times(double loader, double model, double together, double wait) {
  StepTimes result;
  result.loader = exactly(loader);
  result.model = exactly(model);
  result.together = exactly(together);
  result.wait_share = exactly(wait);
  return result;
}

struct Case {
  const char* what;
  double loader, model, together, wait;
  const char* verdict;
};
constexpr Case kCases[] = {
    {"slow loader, the model waits", 100, 30, 101, 0.70, "INPUT"},
    {"the same, waiting no more than 5 %", 100, 30, 101, 0.05, "MIXED"},
    {"slow loader and interference: waiting comes first", 100, 30, 200, 0.40, "INPUT"},
    {"loader 2 % slower: as fast", 102, 100, 104, 0.06, "MIXED"},
    {"loader just more than 2 % slower", 102.01, 100, 104, 0.06, "INPUT"},
    {"model hides the loader", 30, 100, 101, 0.00, "COMPUTE"},
    {"equally fast, hidden", 100, 100, 104, 0.00, "COMPUTE"},
    {"overlap 0.9 exactly", 30, 100, 103, 0.00, "COMPUTE"},
    {"overlap below 0.9", 30, 100, 103.1, 0.00, "MIXED"},
    {"overlap high, residual just below 5 %", 100, 100, 105.2, 0.00, "COMPUTE"},
    {"overlap high, residual 5 %", 100, 100, 105.27, 0.00, "MIXED"},
    {"nothing explains 10 % of a step, no wait", 30, 90, 100, 0.05, "INTERFERENCE"},
    {"just below 10 %", 30, 90.1, 100, 0.05, "MIXED"},
    {"nothing explains it, but it waits", 30, 100, 125, 0.20, "MIXED"},
    {"slow loader, nobody waits, unexplained", 90, 30, 100, 0.01, "INTERFERENCE"},
    {"no overlap at all: one after the other", 50, 50, 100, 0.50, "MIXED"},
    // 1 x H100 alone 32.0 ms; eight together 70.4 ms of which about 2 are waiting for data
    {"a published run taken for compute-bound", 20, 32.0, 70.4, 2 / 70.4, "INTERFERENCE"},
    {"its loader as fast as the model", 32.0, 32.0, 70.4, 2 / 70.4, "INTERFERENCE"},
};

TEST(BottleneckTest, FollowsTheRules) {
  for (const Case& one : kCases) {
    const Attribution found = attribute(times(one.loader, one.model, one.together, one.wait));
    EXPECT_STREQ(to_string(found.verdict), one.verdict) << one.what;
    EXPECT_THAT(found.could_also_be, IsEmpty()) << one.what;
    const Finding finding = finding_of(found);
    EXPECT_EQ(finding.diagnosis.rfind(std::string(one.verdict) + ":", 0), 0U) << one.what;
    EXPECT_FALSE(finding.solutions.empty()) << one.what;
    EXPECT_THAT(finding.evidence, HasSubstr("together"));
  }
}

TEST(BottleneckTest, TheWorkedExample) {
  const Attribution found = attribute(times(20, 32.0, 70.4, 2 / 70.4));
  EXPECT_DOUBLE_EQ(found.ideal_ms, 32);
  EXPECT_DOUBLE_EQ(found.serial_ms, 52);
  EXPECT_NEAR(found.residual_ms, 38.4, 1e-9);
  EXPECT_NEAR(found.residual_share, 0.545, 1e-3);
  EXPECT_NEAR(found.headspace, 1 - 32.0 / 70.4, 1e-12);
  EXPECT_NEAR(found.busy_share, 0.97, 2e-3);
  EXPECT_NEAR(found.overlap, (52 - 70.4) / 20, 1e-12);  // negative: in each other's way
}

TEST(BottleneckTest, RanksMaySynchronise) {
  StepTimes one = times(20, 32.0, 70.4, 2 / 70.4);
  one.ranks = RankTimes{1, 30, 2};
  EXPECT_EQ(attribute(one).verdict, Bottleneck::interference);  // a single rank cannot
  one.ranks = RankTimes{8, 34, 1};
  EXPECT_EQ(attribute(one).verdict, Bottleneck::sync);
  one.ranks = RankTimes{8, 70, 1.05};
  EXPECT_EQ(attribute(one).verdict, Bottleneck::interference);
  one.ranks = RankTimes{8, 70, 1.1};
  EXPECT_EQ(attribute(one).verdict, Bottleneck::sync);
}

TEST(BottleneckTest, IntervalsSayWhatElseItCouldBe) {
  StepTimes wide = times(99, 98, 103, 0.06);
  EXPECT_EQ(attribute(wide).verdict, Bottleneck::mixed);
  wide.loader = {99, 95, 106, 0.95};
  const Attribution found = attribute(wide);
  EXPECT_EQ(found.verdict, Bottleneck::mixed);
  EXPECT_THAT(found.could_also_be, ElementsAre(Bottleneck::input, Bottleneck::compute));
  EXPECT_THAT(finding_of(found).evidence, HasSubstr("could also be INPUT or COMPUTE"));
  wide.loader = {99, 95, 106, 0};  // no interval: the bounds mean nothing
  EXPECT_THAT(attribute(wide).could_also_be, IsEmpty());
}

TEST(BottleneckTest, TransferIsTheVerdictWhereItExplainsWhatIsMissing) {
  StepTimes one = times(16, 20, 45, 0.01);  // 25 of 45 ms are missing
  EXPECT_EQ(attribute(one).verdict, Bottleneck::interference);
  one.transfer = exactly(12);
  EXPECT_EQ(attribute(one).verdict, Bottleneck::interference);
  one.transfer = exactly(13);
  one.sending = {false, "fp32"};
  EXPECT_EQ(attribute(one).verdict, Bottleneck::transfer);
  Finding finding = finding_of(attribute(one));
  EXPECT_THAT(finding.diagnosis, HasSubstr("13.00 ms a batch (fp32, pageable memory)"));
  EXPECT_THAT(finding.solutions,
              ElementsAre(HasSubstr("--pin-memory"), HasSubstr("--upload uint8")));
  one.sending = {true, "uint8"};
  finding = finding_of(attribute(one));
  EXPECT_THAT(finding.diagnosis, HasSubstr("(uint8, pinned memory)"));
  EXPECT_THAT(finding.solutions, ElementsAre(HasSubstr("the link to the device")));
  // A copy that is hidden is nobody's concern.
  StepTimes hidden = times(16, 20, 20.4, 0.01);
  hidden.transfer = exactly(9);
  EXPECT_EQ(attribute(hidden).verdict, Bottleneck::compute);
}

TEST(BottleneckTest, JsonHoldsWhatWasMeasuredAndNothingElse) {
  StepTimes one = times(30, 100, 101, 0.01);
  one.loader = {30, 28, 32, 0.95};
  results::ResultFile file;
  file.diagnosis.emplace().attribution.value = attribute(one);
  const Json json = results::to_json(file)["summary"]["attribution"];
  EXPECT_EQ(json["verdict"], "COMPUTE");
  EXPECT_EQ(json["loader_ms_per_batch_ci95"], (Json{{"low", 28}, {"high", 32}}));
  EXPECT_FALSE(json.contains("step_ms_per_batch_ci95"));
  EXPECT_FALSE(json.contains("transfer_ms_per_batch"));
  EXPECT_FALSE(json.contains("ranks"));
  EXPECT_DOUBLE_EQ(json["accelerator_use"].get<double>(), 0.99);
}

/// Whatever the numbers, the identities hold and nothing is NaN.
TEST(BottleneckTest, RandomTimes) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> ms(0, 50), share(0, 1);
  for (int i = 0; i < 2000; ++i) {
    const double loader = i % 10 == 0 ? 0 : ms(random), model = i % 7 == 0 ? 0 : ms(random);
    const double together = i % 13 == 0 ? 0 : ms(random);
    const Attribution found = attribute(times(loader, model, together, share(random)));
    EXPECT_NEAR(found.ideal_ms + found.residual_ms, together, 1e-9);
    for (const double value :
         {found.overlap, found.residual_share, found.headspace, found.busy_share})
      EXPECT_TRUE(std::isfinite(value));
    EXPECT_TRUE(found.verdict != Bottleneck::compute || model >= loader);
    EXPECT_TRUE(found.verdict != Bottleneck::input || loader > model);
  }
}

}  // namespace
}  // namespace sluice::analysis::bottleneck_test
