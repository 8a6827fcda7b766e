// tests/report/gate_text_test.cpp - gate_report.txt, character by character.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/baseline/compare.h"
#include "sluice/report/gate/text.h"

#include <gmock/gmock.h>

#include "tests/gate/gate_files.h"
#include <limits>

namespace sluice::report::gate_text_test {
namespace {

using gate::GateLine;
using gate::GateStatus;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(GateText, AReportWithEveryKindOfRow) {  // COMP-10, COMP-15
  gate::RunFiles current =
      gate::run_of(gate::metrics_of(9'200, 0.102, 1.2e9), gate::eval_of(12.06));
  (*current.eval)["task_probe_accuracy"].erase("code_sanity_20");
  gate::GateReport report = gate::compare_with_baseline(current, gate::run_of(), {});
  report.timestamp = "2026-01-31T12:00:00Z";
  EXPECT_EQ(
      gate_text(report),
      "=== Performance Gate Report ===\n"
      "Machine Profile: cpu_test\n"
      "Timestamp: 2026-01-31T12:00:00Z\n"
      "\n"
      "Metric                                 Baseline        Current      Delta   Status\n"
      "------------------------------------------------------------------------------------\n"
      "tokens_per_sec_p50                        10000           9200     -8.00%     FAIL\n"
      "step_time_p50_s                             0.1          0.102     +2.00%     PASS\n"
      "peak_allocated_bytes                 1000000000     1200000000    +20.00%     WARN\n"
      "ppl_fixed_shard                              12          12.06     +0.50%     PASS\n"
      "probe/basic_reasoning_25                   0.92           0.92    +0.00pp     PASS\n"
      "probe/format_following_30                   0.9            0.9    +0.00pp     PASS\n"
      "probe/code_sanity_20                       0.85             --         --     WARN\n"
      "loss_slope                                -0.01          -0.01         +0     PASS\n"
      "\n"
      "tokens_per_sec_p50 (tokens/s), step_time_p50_s (s): median step of the best run\n"
      "\n"
      "Overall: FAIL (1 failure, 2 warnings)\n"
      "\n"
      "FAIL details:\n"
      "  tokens_per_sec_p50: fell by 8.00 %, over the tolerance\n"
      "    Baseline: 10000  Current: 9200  Delta: -8.00%  threshold: at most 5 % less\n"
      "\n"
      "WARN details:\n"
      "  peak_allocated_bytes: rose by 20.00 %, over the tolerance\n"
      "    Baseline: 1000000000  Current: 1200000000  Delta: +20.00%  threshold: at most 10 % "
      "more\n"
      "  probe/code_sanity_20: the probe is missing in the current results\n"
      "    Baseline: 0.85  Current: --  Delta: --\n"
      "\n"
      "Rule: stored baseline\n");
}

TEST(GateText, SkippedRowsAreNotesAndOddNumbersHaveNames) {
  gate::GateReport report;
  GateLine line;
  line.metric = "probe/x\n";
  line.baseline = 0;
  line.current = std::numeric_limits<double>::quiet_NaN();
  line.delta = std::numeric_limits<double>::infinity();
  line.delta_unit = "%";
  line.status = GateStatus::invalid;
  line.reason = "odd";
  report.lines.push_back(line);
  line = {};
  line.metric = "loss_slope";
  line.reason = "no loss";
  report.lines.push_back(line);
  const std::string text = gate_text(report);
  EXPECT_THAT(text, HasSubstr("probe/x\\n                                     0             --"
                              "      +inf%  INVALID\n"));
  EXPECT_THAT(text, HasSubstr("INVALID details:\n"));
  EXPECT_THAT(text, HasSubstr("Notes, not judged:\n  loss_slope: no loss\n"));
  EXPECT_THAT(text, Not(HasSubstr("SKIP")));
}

TEST(GateText, SaysWhatPairsCouldSeeAndHowToReproduce) {
  gate::GateReport report;
  GateLine line;
  line.metric = "pairs";
  line.status = GateStatus::pass;
  line.reason = "fine";
  report.lines = {line};
  EXPECT_THAT(gate_text(report), Not(HasSubstr("MDE")));
  EXPECT_THAT(gate_text(report), Not(HasSubstr("Reproduce")));
  report.lines[0].details = Json{{"mde", 0.0213}, {"pairs", 16}};
  report.reproduce = "./sluice gate --quick\n";
  EXPECT_THAT(gate_text(report),
              HasSubstr("\nMDE, the smallest loss that pairs would have found: pairs 2.1 % with 16 "
                        "pairs\n"));
  EXPECT_THAT(gate_text(report), HasSubstr("\nReproduce: ./sluice gate --quick\\n\n"));
}

}  // namespace
}  // namespace sluice::report::gate_text_test
