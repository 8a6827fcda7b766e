// tests/gate/decide_test.cpp - what goes into a verdict: stored visits of equal work, two runs as
// one. The verdicts are rows of verdicts_test.cpp.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/decide.h"

#include <gtest/gtest.h>

#include "tests/gate/gate_files.h"

namespace sluice::gate::decide_test {
namespace {

RunFiles run_at(double step_s, const char* program = "digest") {
  Json metrics = metrics_of(1000 / step_s, step_s);
  metrics["program"] = program;
  return run_of(std::move(metrics), eval_of());
}

Evidence evidence_at(double step_s) {
  return {run_at(step_s), {run_at(0.1), {}}};
}

const GateLine* line_of(const GateReport& report, const std::string& metric) {
  for (const GateLine& line : report.lines)
    if (line.metric == metric) return &line;
  return nullptr;
}

TEST(Decide, TheFenceIsOfVisitsThatDidTheSameWork) {
  Evidence evidence = evidence_at(0.1);
  for (RunFiles* run : {&evidence.current, &evidence.baseline.files}) {
    put(*run, "/run_config/device", "cuda:0");
    put(*run, "/run_config/model", "vit5-small");
    put(*run, "/run_config/last_block", "full");
  }
  Visit before = visit_of(evidence.current);  // twice as fast, since it left work out
  before.figures["tokens_per_sec_p50"] *= 2;
  before.last_block.clear();
  Visit after = visit_of(evidence.current);
  EXPECT_EQ(visit_from_json(to_json(after), "visit").value().last_block, "full");
  evidence.baseline.history.assign(25, before);
  const GatePolicy policy{.fence = FenceMode::fail, .may_pair = false, .may_confirm = false};
  EXPECT_EQ(line_of(decide(evidence, policy).report, "fence/tokens_per_sec_p50")->status,
            GateStatus::skip)
      << "a GPU took the class token alone then";
  evidence.baseline.history.insert(evidence.baseline.history.end(), 25, after);
  EXPECT_EQ(line_of(decide(evidence, policy).report, "fence/tokens_per_sec_p50")->status,
            GateStatus::pass);
  evidence.baseline.history.assign(25, before);
  for (RunFiles* run : {&evidence.current, &evidence.baseline.files})
    put(*run, "/run_config/last_block", "class-token");
  EXPECT_EQ(line_of(decide(evidence, policy).report, "fence/tokens_per_sec_p50")->status,
            GateStatus::fail);
}

TEST(Decide, AConfirmationKeepsTheMediansOfBoth) {
  const results::TrainingMetrics both = confirmed(*run_at(0.2).metrics, *run_at(0.1).metrics);
  EXPECT_EQ(both.confirmation->run_p50_s.size(), 4U);
  EXPECT_EQ(both.confirmation->step_p50_s, (std::vector<double>{0.2, 0.1}));
  EXPECT_EQ(both.timing.p50.value, 0.1);
  EXPECT_EQ(both.confirmation->kept, "second");
  const results::TrainingMetrics slower = confirmed(*run_at(0.2).metrics, *run_at(0.3).metrics);
  EXPECT_EQ(slower.confirmation->kept, "first");
  EXPECT_EQ(slower.timing.p50.value, 0.2);
}

}  // namespace
}  // namespace sluice::gate::decide_test
