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

TEST(PairedText, AnOpenVerdictSaysWhyHowLongAndWhatDecides) {
  gate::GateReport report;
  report.status = gate::GateStatus::inconclusive;
  gate::PairedBackground background;
  background.a = {0.2, 0.05};
  background.b = {0.21, 0.05};
  background.pair_sd = 0.08;
  background.pair_s = 2;
  background.needed_pairs = 210;
  background.causes = {"the hypervisor kept 12.0 % of the cores' time"};
  background.cpu = gate::PairedEvidence{};
  background.cpu_status = gate::GateStatus::pass;
  background.cpu_helps = true;
  TextOptions options;
  options.width = 200;
  const std::string text = paired_text(report, options, &background);
  EXPECT_THAT(text, HasSubstr("CPU time of a run, user + system: A 200.0 + 50.0 ms, B 210.0"));
  EXPECT_THAT(text, HasSubstr("why: the speed ratio of a pair varies by 8.0 % (sd); the hypervisor "
                              "kept 12.0 %"));
  EXPECT_THAT(text, HasSubstr("--pairs 210, about 7 min (2.000 s a pair)"));
  EXPECT_THAT(text, HasSubstr("to decide now: --metric cpu. CPU time of the same pairs says PASS"));
  report.status = gate::GateStatus::pass;
  EXPECT_THAT(paired_text(report, options, &background), Not(HasSubstr("why:")));
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
