// tests/gate/baseline_pairs_test.cpp - the value of a pair, and its line; what it does to a verdict
// is in rows of verdicts_test.cpp.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/baseline/pairs.h"
#include "sluice/gate/decide.h"
#include "sluice/gate/pairs/paired_gate.h"
#include "sluice/gate/pairs/paired_report.h"

#include <gmock/gmock.h>

#include "tests/gate/gate_files.h"

namespace sluice::gate::baseline_pairs_test {
namespace {

using ::testing::HasSubstr;

constexpr GateStatus kFail = GateStatus::fail, kPass = GateStatus::pass;

using Steps = std::vector<std::int64_t>;

/// As the gate runs them: B takes `times` as long as A, give or take 1 %, in turns.
Json pairs_of(double times) {
  PairedOptions options;
  options.tau = options.floor = 0.05;
  const auto outcome =
      run_pairs({{.name = kPairedStep, .unit = "s", .better = measure::Better::lower}}, options,
                [&](int index, bool) -> Result<std::vector<PairValue>> {
                  const double luck = 1 + 0.005 * ((index * 7) % 5 - 2);
                  return std::vector<PairValue>{{0.1, 0.1 * times * luck}};
                });
  EXPECT_TRUE(outcome);
  Json json = to_json(report_of(*outcome));
  json["program"] = "digest";
  return json;
}

RunFiles run_at(double step_s, const Json& pairs = Json()) {
  Json metrics = metrics_of(1000 / step_s, step_s);
  metrics["program"] = "digest";
  if (!pairs.is_null()) metrics["pairs"] = pairs;
  return run_of(std::move(metrics), eval_of());
}

GateReport judged(const RunFiles& current, const RunFiles& baseline = run_at(0.1)) {
  return decide({current, {baseline, {}}}, {.fence = FenceMode::off}).report;
}

const GateLine& line_of(const GateReport& report, const std::string& metric) {
  for (const GateLine& line : report.lines)
    if (line.metric == metric) return line;
  ADD_FAILURE() << "no line " << metric;
  return report.lines.front();
}

// The machine is three times slower now and then; medians of both sides would say 200 %.
TEST(ValueOfRounds, ComparesNeighboursOnly) {
  const Steps a{100, 300, 100, 300, 100}, b{110, 330, 330, 330, 110};
  const auto value = value_of_rounds(a, b, 1);
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_NEAR(value->a, 100e-9, 1e-15);
  EXPECT_NEAR(value->b, 110e-9, 1e-15);
}

TEST(ValueOfRounds, ATurnOfSeveralStepsIsItsMedian) {
  const Steps a{10, 10, 90, 30, 30, 30, 50}, b{20, 20, 20, 60, 99, 60, 100};
  const auto value = value_of_rounds(a, b, 3);
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_NEAR(value->b / value->a, 2, 1e-12);
  EXPECT_NEAR(value->a, 30e-9, 1e-15);
}

TEST(ValueOfRounds, RefusesWhatIsNoPair) {
  const Steps two{1, 2}, one{1}, none{}, zero{0, 1};
  EXPECT_FALSE(value_of_rounds(two, one, 1));
  EXPECT_FALSE(value_of_rounds(none, none, 1));
  EXPECT_FALSE(value_of_rounds(two, two, 0));
  EXPECT_FALSE(value_of_rounds(two, two, -1));
  EXPECT_FALSE(value_of_rounds(two, zero, 1));
}

TEST(BaselinePairs, AFasterMachineHidesNoSlowerProgram) {
  const GateReport report = judged(run_at(0.09, pairs_of(1.10)));
  EXPECT_EQ(line_of(report, "step_time_p50_s").status, kPass);
  const GateLine& line = line_of(report, kPairedStep);
  EXPECT_EQ(line.status, kFail);
  EXPECT_NEAR(*line.delta, 10, 0.5);
  EXPECT_TRUE(line.baseline && line.current);
  EXPECT_THAT(line.threshold, HasSubstr("5.0 %"));
  EXPECT_EQ(report.status, kFail);
}

}  // namespace
}  // namespace sluice::gate::baseline_pairs_test
