// tests/report/paired_text_test.cpp - verdicts of pairs and the self-test as text.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gate/paired_text.h"

#include "sluice/gate/pairs/paired_report.h"
#include "sluice/report/gate/selftest_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::report::paired_text_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

gate::GateReport slower() {
  const double steps[] = {1, -1, 2, -2, 1, -1, 2, -2};
  const auto outcome =
      gate::run_pairs({{.name = "wall", .unit = "s", .better = measure::Better::lower}}, {},
                      [&](int index, bool) -> Result<std::vector<gate::PairValue>> {
                        return std::vector<gate::PairValue>{{0.2, 0.21 + 1e-4 * steps[index % 8]}};
                      });
  EXPECT_TRUE(outcome);
  gate::GateReport report = gate::report_of(*outcome);
  report.base_name = "./before";
  report.candidate_name = "./after\n\x1b[31m";
  return report;
}

TEST(PairedText, OneLinePerMetricWithItsReason) {
  const std::string text = paired_text(slower());
  EXPECT_THAT(text, HasSubstr("A  ./before\n"));
  EXPECT_THAT(text, HasSubstr("200.0 ms  210.0 ms  -4.76 %"));
  EXPECT_THAT(text, HasSubstr("8 (7)  FAIL\n"));
  EXPECT_THAT(text, HasSubstr("confirmed by 8 fresh pairs"));
  EXPECT_THAT(text, HasSubstr("\nFAIL after 8 pairs and 8 to confirm\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << "names of commands cannot colour the terminal";
}

TEST(PairedText, ALineWithoutNumbersHasDashes) {
  gate::GateReport report;
  gate::GateLine line;
  line.metric = "x";
  line.reason = "not measured";
  report.lines.push_back(line);
  EXPECT_THAT(paired_text(report), HasSubstr("–"));
}

TEST(SelftestText, NamesSharesNoiseAndNeed) {
  auto conditions = gate::selftest_conditions(300, 100, {0.05});
  conditions[0].trials = 300;
  conditions[0].passed = 300;
  conditions[0].pairs = 2400;
  const std::string text = selftest_text(conditions, {0.01, 9, {0.02, 0.012, 0.008}}, {});
  EXPECT_THAT(text, HasSubstr("none (A/A)  300 of 300   0.0 % (0.0 to 1.3)"));
  EXPECT_THAT(text, HasSubstr("5 %           0 of 100"));
  EXPECT_THAT(text, HasSubstr("a drop of 3 % needs 9 pairs here"));
  EXPECT_THAT(text, Not(HasSubstr("cries wolf")));
  conditions[0].failed = 30;
  EXPECT_THAT(selftest_text(conditions, {0.01, 9, {}}, {}), HasSubstr("cries wolf"));
}

TEST(SelftestText, TheSimulatedTable) {
  gate::SimulationOptions options;
  options.trials = 100;
  gate::SimulatedDesign ours{"ours", 16.5, {0, 100}, {{95, 100}, {100, 100}}, true};
  const std::string text = simulation_text({ours}, options);
  EXPECT_THAT(text, HasSubstr("finds -3 %"));
  EXPECT_THAT(text, HasSubstr("95.0 % (88.8 to 97.8)"));
}

}  // namespace
}  // namespace sluice::report::paired_text_test
