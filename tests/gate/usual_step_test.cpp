// tests/gate/usual_step_test.cpp - the step that most runs reach, and its line; what luck does to a
// verdict is in rows of verdicts_test.cpp.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/baseline/usual_step.h"

#include "sluice/gate/decide.h"

#include <gmock/gmock.h>

#include "tests/gate/gate_files.h"
#include <algorithm>

namespace sluice::gate::usual_step_test {
namespace {

using ::testing::HasSubstr;

constexpr GateStatus kFail = GateStatus::fail, kPass = GateStatus::pass;

/// As a run leaves it: the best median is what the seed's lines judge.
RunFiles run_with(const std::vector<double>& medians) {
  const double best = *std::min_element(medians.begin(), medians.end());
  Json metrics = metrics_of(1000 / best, best);
  metrics["timing"]["run_p50_s"] = medians;
  return run_of(std::move(metrics), eval_of());
}

GateReport judged(const RunFiles& baseline, const RunFiles& current) {
  return decide({current, {baseline, {}}}, {.fence = FenceMode::off}).report;
}

const GateLine& line_of(const GateReport& report, const std::string& metric) {
  for (const GateLine& line : report.lines)
    if (line.metric == metric) return line;
  static const GateLine kNone;
  return kNone;
}

const std::vector<double> kCalm{0.100, 0.101, 0.102, 0.103, 0.104};

TEST(UsualStep, IsTheLowerQuartileOfAtLeastFour) {
  EXPECT_DOUBLE_EQ(*usual_step({0.5, 0.1, 0.3, 0.2, 0.4}), 0.2);
  EXPECT_DOUBLE_EQ(*usual_step({4, 1, 2, 3}), 1.75);
  EXPECT_FALSE(usual_step({0.1, 0.2, 0.3}));
  EXPECT_FALSE(usual_step({}));
  EXPECT_FALSE(usual_step({0, 0, 0, 0}));
}

TEST(UsualStep, AConfirmationHoldsTheRunsOfBoth) {
  RunFiles run = run_with(kCalm);
  EXPECT_EQ(run_medians(run), kCalm);
  put(run, "/confirmation", Json{{"run_p50_s", {0.3, 0.1, "odd"}}});
  EXPECT_EQ(run_medians(run), (std::vector<double>{0.3, 0.1}));
  EXPECT_TRUE(run_medians({}).empty());
}

// A slowdown of 10 % hid behind one lucky run of five.
TEST(UsualStep, OneLuckyRunHidesNoSlowdown) {
  const GateReport report = judged(run_with(kCalm), run_with({0.113, 0.111, 0.100, 0.112, 0.114}));
  EXPECT_EQ(line_of(report, "step_time_p50_s").status, kPass);
  const GateLine& usual = line_of(report, kUsualStep);
  EXPECT_EQ(usual.status, kFail);
  EXPECT_NEAR(*usual.delta, 100 * (0.111 / 0.101 - 1), 1e-9);
  EXPECT_THAT(usual.threshold, HasSubstr("at most 5 % more"));
  EXPECT_THAT(usual.reason, HasSubstr("5 run medians, of 5 with the baseline"));
  EXPECT_EQ(report.status, kFail);
}

TEST(UsualStep, IsLeftOutWhereASideHasTooFewRuns) {
  EXPECT_EQ(judged(run_with({0.100, 0.101}), run_with(kCalm)).lines.size(),
            compare_with_baseline(run_with(kCalm), run_with({0.100, 0.101}), {}).lines.size());
  EXPECT_EQ(judged(run_of(), run_with(kCalm)).status,
            compare_with_baseline(run_with(kCalm), run_of(), {}).status);
}

}  // namespace
}  // namespace sluice::gate::usual_step_test
