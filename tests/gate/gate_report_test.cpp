// tests/gate/gate_report_test.cpp - the whole is the worst line; a report survives JSON.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/gate_report.h"

#include <gtest/gtest.h>

#include <limits>

namespace sluice::gate::gate_report_test {
namespace {

std::vector<GateLine> lines_of(std::initializer_list<GateStatus> statuses) {
  std::vector<GateLine> lines;
  for (const GateStatus status : statuses) {
    GateLine line;
    line.metric = "metric";
    line.status = status;
    line.reason = "because";
    lines.push_back(line);
  }
  return lines;
}

TEST(GateReport, TheWholeIsTheWorstLine) {
  using S = GateStatus;
  EXPECT_EQ(overall({}), S::skip);
  EXPECT_EQ(overall(lines_of({S::skip, S::skip})), S::skip);
  EXPECT_EQ(overall(lines_of({S::skip, S::pass})), S::pass);
  EXPECT_EQ(overall(lines_of({S::pass, S::improved})), S::improved);
  EXPECT_EQ(overall(lines_of({S::improved, S::warn})), S::warn);
  EXPECT_EQ(overall(lines_of({S::warn, S::inconclusive})), S::inconclusive);
  EXPECT_EQ(overall(lines_of({S::inconclusive, S::invalid})), S::invalid);
  EXPECT_EQ(overall(lines_of({S::invalid, S::fail})), S::fail);
}

TEST(GateReport, SurvivesJson) {
  GateReport report;
  report.rule = "pairs";
  report.machine_profile = "cpu";
  report.timestamp = "2026-11-16T02:00:00Z";
  report.base_name = "a";
  report.candidate_name = "b";
  report.reproduce = "sluice ab";
  report.lines = lines_of({GateStatus::fail, GateStatus::warn});
  report.lines[0].baseline = 2.5;
  report.lines[0].current = std::numeric_limits<double>::infinity();
  report.lines[0].delta = -1.0 / 3;
  report.lines[0].blocking = false;
  report.lines[0].details = {{"p", 0.01}};
  report.status = overall(report.lines);
  report.summary = summary_of(report);
  EXPECT_EQ(report.summary, "FAIL (1 failure, 1 warning)");
  const auto json = parse_json(dump_json(to_json(report)), "report");
  ASSERT_TRUE(json) << json.error().message;
  const auto back = gate_report_from_json(*json);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(dump_json(to_json(*back)), dump_json(to_json(report)));
  EXPECT_EQ(back->lines[0].current, report.lines[0].current);
  EXPECT_FALSE(back->lines[1].delta);
  EXPECT_EQ(back->reproduce, "sluice ab");
}

TEST(GateReport, RefusesWhatIsNone) {
  EXPECT_FALSE(gate_report_from_json(Json::array()));
  EXPECT_FALSE(gate_report_from_json({{"lines", Json::array()}, {"status", "FINE"}}));
  const Json bad_number = {{"status", "PASS"},
                           {"lines", {{{"status", "PASS"}, {"baseline", "much"}}}}};
  const auto refused = gate_report_from_json(bad_number);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("baseline"), std::string::npos);
}

}  // namespace
}  // namespace sluice::gate::gate_report_test
