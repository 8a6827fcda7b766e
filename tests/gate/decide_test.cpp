// tests/gate/decide_test.cpp - the verdict as one function: what it still wants, what that changes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/decide.h"

#include "sluice/gate/baseline/pairs.h"

#include <gmock/gmock.h>

#include "tests/gate/gate_files.h"

namespace sluice::gate::decide_test {
namespace {

using ::testing::HasSubstr;

RunFiles run_at(double step_s, const char* program = "digest") {
  Json metrics = metrics_of(1000 / step_s, step_s);
  metrics["program"] = program;
  return run_of(std::move(metrics), eval_of());
}

Evidence evidence_at(double step_s) {
  return {run_at(step_s), {run_at(0.1), {}}};
}

/// A paired report with one line, as a visit leaves it.
Json pairs_that(GateStatus status, double delta_pct) {
  GateReport report;
  GateLine line;
  line.metric = kPairedStep;
  line.kind = LineKind::pairs;
  line.status = status;
  line.delta = delta_pct;
  line.reason = "scripted";
  report.lines = {line};
  report.status = status;
  Json json = to_json(report);
  json["program"] = "digest";
  return json;
}

GatePolicy asking(bool pairs, bool again) {
  return {.fence = FenceMode::off, .may_pair = pairs, .may_confirm = again};
}

const GateLine* line_of(const GateReport& report, const std::string& metric) {
  for (const GateLine& line : report.lines)
    if (line.metric == metric) return &line;
  return nullptr;
}

TEST(Decide, TheRuleOfTheSeedKnowsNoExcuse) {  // R002-18
  Evidence evidence = evidence_at(0.107);
  put(evidence.current, "/timing/run_p50_s", Json{0.107, 0.1, 0.1});
  put(evidence.current, "/pairs", pairs_that(GateStatus::pass, 0.1));
  GatePolicy policy = asking(true, true);
  EXPECT_NE(decide(evidence, policy).report.status, GateStatus::fail) << "pairs excuse it";
  policy.rule = GateRule::seed;
  const Decision decision = decide(evidence, policy);
  EXPECT_EQ(decision.report.status, GateStatus::fail);
  EXPECT_EQ(decision.report.rule, "stored numbers alone");
  EXPECT_EQ(decision.wanted, WantedEvidence::nothing);
  evidence.current = run_at(0.104);
  EXPECT_EQ(decide(evidence, policy).report.status, GateStatus::pass);
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

TEST(Decide, WantsPairsWhereTheyCanBeHad) {
  EXPECT_EQ(decide(evidence_at(0.1), asking(true, true)).wanted, WantedEvidence::pairs);
  EXPECT_EQ(decide(evidence_at(0.2), asking(true, true)).wanted, WantedEvidence::pairs);
  Evidence unknown = evidence_at(0.2);
  unknown.baseline.files.metrics->program.reset();
  EXPECT_EQ(decide(unknown, asking(true, true)).wanted, WantedEvidence::second_run);
  Evidence paired = evidence_at(0.2);
  paired.current.metrics->pairs = pairs_that(GateStatus::pass, 0.1);
  EXPECT_EQ(decide(paired, asking(true, true)).wanted, WantedEvidence::nothing);
}

TEST(Decide, WantsASecondRunOnlyOfASlowOneAndOnlyOnce) {
  EXPECT_EQ(decide(evidence_at(0.1), asking(false, true)).wanted, WantedEvidence::nothing);
  EXPECT_EQ(decide(evidence_at(0.2), asking(false, false)).wanted, WantedEvidence::nothing);
  Evidence slow = evidence_at(0.2);
  EXPECT_EQ(decide(slow, asking(false, true)).wanted, WantedEvidence::second_run);
  slow.current.metrics = confirmed(*slow.current.metrics, *run_at(0.21).metrics);
  EXPECT_EQ(decide(slow, asking(false, true)).wanted, WantedEvidence::nothing);
  Evidence wrong = evidence_at(0.1);
  wrong.current.eval = eval_of(15);
  const Decision decision = decide(wrong, asking(false, true));
  EXPECT_EQ(decision.report.status, GateStatus::fail);
  EXPECT_EQ(decision.wanted, WantedEvidence::nothing) << "quality does not come back";
}

TEST(Decide, WantsNothingWhereNothingIsCompared) {
  const Evidence none{run_at(0.1), {{"none", std::nullopt, std::nullopt}, {}}};
  const Decision decision = decide(none, asking(true, true));
  EXPECT_EQ(decision.report.status, GateStatus::skip);
  EXPECT_EQ(decision.wanted, WantedEvidence::nothing);
  EXPECT_EQ(decision.report.lines.size(), 1U);
}

// The second run decides: this is where a FAIL becomes a PASS.
TEST(Decide, AFastSecondRunPassesAndASlowOneFails) {
  Evidence evidence = evidence_at(0.2);
  EXPECT_EQ(decide(evidence, asking(false, true)).report.status, GateStatus::fail);
  evidence.current.metrics = confirmed(*run_at(0.2).metrics, *run_at(0.101).metrics);
  EXPECT_EQ(decide(evidence, asking(false, true)).report.status, GateStatus::pass);
  EXPECT_EQ(evidence.current.metrics->confirmation->kept, "second");
  evidence.current.metrics = confirmed(*run_at(0.2).metrics, *run_at(0.3).metrics);
  EXPECT_EQ(decide(evidence, asking(false, true)).report.status, GateStatus::fail);
  EXPECT_EQ(evidence.current.metrics->confirmation->kept, "first");
}

TEST(Decide, AConfirmationKeepsTheMediansOfBoth) {
  const results::TrainingMetrics both = confirmed(*run_at(0.2).metrics, *run_at(0.1).metrics);
  EXPECT_EQ(both.confirmation->run_p50_s.size(), 4U);
  EXPECT_EQ(both.confirmation->step_p50_s, (std::vector<double>{0.2, 0.1}));
  EXPECT_EQ(both.timing.p50.value, 0.1);
}

TEST(Decide, PairsThatFailLeaveTheMachineNoExcuse) {
  Evidence evidence = evidence_at(0.12);
  const CanarySpeed canary{"canary-v1", {{"gemm", 100.0}}};
  const CanarySpeed slower{"canary-v1", {{"gemm", 80.0}}};
  evidence.baseline.files.metrics->canary = canary;
  evidence.current.metrics->canary = slower;
  EXPECT_EQ(decide(evidence, asking(false, false)).report.status, GateStatus::invalid);
  evidence.current.metrics->pairs = pairs_that(GateStatus::fail, 10);
  const GateReport report = decide(evidence, asking(false, false)).report;
  EXPECT_EQ(report.status, GateStatus::fail);
  EXPECT_EQ(line_of(report, "step_time_p50_s")->status, GateStatus::fail);
}

TEST(Decide, AFenceThatOnlyWarnsNeverFails) {
  Evidence evidence = evidence_at(0.1);
  for (int i = 0; i < 30; ++i) {
    Visit visit = visit_of(run_at(0.05 * (1 + 0.001 * (i % 5))));
    visit.canary.reset();
    evidence.baseline.history.push_back(visit);
  }
  evidence.current.metrics->canary.reset();
  GatePolicy policy;
  const GateReport strict = decide(evidence, policy).report;
  EXPECT_EQ(line_of(strict, "fence/tokens_per_sec_p50")->status, GateStatus::fail);
  EXPECT_EQ(strict.status, GateStatus::fail);
  policy.fence = FenceMode::warn;
  const GateReport warned = decide(evidence, policy).report;
  EXPECT_EQ(line_of(warned, "fence/tokens_per_sec_p50")->status, GateStatus::warn);
  EXPECT_EQ(warned.status, GateStatus::warn);
  policy.fence = FenceMode::off;
  EXPECT_EQ(line_of(decide(evidence, policy).report, "fence/tokens_per_sec_p50"), nullptr);
}

TEST(Decide, ANoisyMachineIsSaidBesideAnyVerdict) {
  Evidence evidence = evidence_at(0.1);
  evidence.current.metrics->noise = {"noisy", {}, {}, {{"", "critical", "others used 40 %"}}};
  const GateReport report = decide(evidence, asking(false, false)).report;
  EXPECT_EQ(report.status, GateStatus::pass);
  ASSERT_NE(line_of(report, "machine"), nullptr);
  EXPECT_THAT(line_of(report, "machine")->reason, HasSubstr("others used 40 %"));
}

TEST(Decide, TheSameEvidenceGivesTheSameReport) {
  const Evidence evidence = evidence_at(0.13);
  EXPECT_EQ(to_json(decide(evidence, {}).report), to_json(decide(evidence, {}).report));
}

}  // namespace
}  // namespace sluice::gate::decide_test
