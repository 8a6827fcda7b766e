// tests/gate/machine_cause_test.cpp - scripted measurements on good and bad machines: which slow
// run fails, and which says nothing.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/baseline/machine_cause.h"

#include "sluice/gate/decide.h"

#include <gmock/gmock.h>

#include "tests/gate/gate_files.h"

namespace sluice::gate::machine_cause_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// What a run looked like beside a calm baseline of 10,000 tokens/s and steps of 0.1 s.
struct Scene {
  double slower = 1.10;                         // times the baseline's step
  std::vector<double> canary{100, 100, 100};    // three parts; the baseline's are 100 each
  std::optional<double> waited = 0.0;           // share of the steps
  std::optional<double> baseline_waited = 0.0;  // the same
  double steal = 0;                             // share, of the noise check
  const char* noise = "quiet";                  // its verdict
};

Json with_machine(Json metrics, const std::vector<double>& canary, std::optional<double> waited,
                  const char* noise, double steal) {
  metrics["canary"] =
      Json{{"version", "canary-v1"},
           {"passes_per_s", {{"gemm", canary[0]}, {"idct", canary[1]}, {"memory", canary[2]}}}};
  metrics["timing"]["waited_share"] = waited ? Json(*waited) : Json(nullptr);
  metrics["noise"] =
      Json{{"verdict", noise},
           {"score", 30},
           {"steal", steal},
           {"findings", {{{"severity", "critical"}, {"value", "other processes used 40 %"}}}}};
  return metrics;
}

GateReport judged(const Scene& scene, const CanarySpeed* other = nullptr) {
  const RunFiles baseline = run_of(
      with_machine(metrics_of(), {100, 100, 100}, scene.baseline_waited, "quiet", 0), eval_of());
  Json metrics = with_machine(metrics_of(10'000 / scene.slower, 0.1 * scene.slower), scene.canary,
                              scene.waited, scene.noise, scene.steal);
  if (other != nullptr) metrics["canary"] = to_json(*other);
  const RunFiles current = run_of(std::move(metrics));
  const GateReport report = decide({current, {baseline, {}}}, {.fence = FenceMode::off}).report;
  return report;
}

constexpr GateStatus kFail = GateStatus::fail, kInvalid = GateStatus::invalid,
                     kPass = GateStatus::pass, kWarn = GateStatus::warn;

struct Case {
  const char* name;
  Scene scene;
  GateStatus whole;
  const char* said;  // in the reason of the first line
};

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](const char* name, GateStatus whole, const char* said, auto change) {
    Scene scene;
    change(scene);
    list.push_back({name, scene, whole, said});
  };
  add("10 % on a quiet machine", kFail, "over the tolerance", [](Scene&) {});
  add("within the tolerance on a terrible machine", kPass, "within it", [](Scene& s) {
    s.slower = 1.04;
    s.canary = {50, 50, 50};
    s.noise = "noisy";
  });
  // Noise alone is no excuse: the canary shows nothing.
  add("noisy, but canary and waits are as ever", kFail, "over the tolerance",
      [](Scene& s) { s.noise = "noisy"; });
  // The canary.
  add("the canary lost as much", kInvalid, "10.0 % slower", [](Scene& s) {
    s.canary = {90, 90, 90};
  });
  add("the canary lost half as much: what is left is within", kInvalid, "6.0 % slower",
      [](Scene& s) {
        s.canary = {94, 94, 94};
      });
  add("the canary lost a little", kFail, "leaves 6.", [](Scene& s) { s.canary = {97, 97, 97}; });
  add("the canary lost 1 %: its own noise", kFail, "over the tolerance", [](Scene& s) {
    s.slower = 1.0535;
    s.canary = {99, 99, 99};
  });
  add("one part of the canary lost much: memory was busy", kFail, "over the tolerance",
      [](Scene& s) {
        s.canary = {100, 99, 50};
      });
  add("two parts of it lost much", kInvalid, "slower", [](Scene& s) { s.canary = {99, 90, 60}; });
  add("the canary got faster", kFail, "over the tolerance", [](Scene& s) {
    s.canary = {120, 120, 120};
  });
  add("half as fast, canary 10 % slower", kFail, "leaves", [](Scene& s) {
    s.slower = 2;
    s.canary = {90, 90, 90};
  });
  // Cores that others had.
  add("a third of the time without a core explains 1.46 times", kInvalid,
      "waited for a core 31.0 % of the time, 0.0 % with the baseline", [](Scene& s) {
        s.slower = 1.46;
        s.waited = 0.31;
      });
  add("waiting 2 % explains no 10 %", kFail, "leaves", [](Scene& s) { s.waited = 0.03; });
  add("waiting as long as the baseline did explains nothing", kFail, "over the tolerance",
      [](Scene& s) {
        s.waited = 0.04;
        s.baseline_waited = 0.04;
      });
  add("a baseline that does not tell counts as calm", kInvalid, "waited", [](Scene& s) {
    s.waited = 0.10;
    s.baseline_waited.reset();
  });
  add("a run that does not tell has no such excuse", kFail, "over the tolerance",
      [](Scene& s) { s.waited.reset(); });
  add("stolen time", kInvalid, "hypervisor kept 9.0 %", [](Scene& s) { s.steal = 0.09; });
  add("a little of each adds up", kInvalid, "slower than with the baseline; the steps waited",
      [](Scene& s) {
        s.canary = {97, 97, 97};
        s.waited = 0.03;
      });
  return list;
}

TEST(MachineCause, SaysWhichSlowRunFailsAndWhichSaysNothing) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    const GateReport report = judged(one.scene);
    EXPECT_EQ(report.status, one.whole) << report.summary;
    EXPECT_THAT(report.lines[0].reason, HasSubstr(one.said));
    EXPECT_EQ(report.lines[0].status, report.lines[1].status);  // throughput and step time agree
  }
}

TEST(MachineCause, AnotherCanaryIsNoComparison) {
  const CanarySpeed other{"canary-v2", {{"gemm", 50.0}, {"idct", 50.0}, {"memory", 50.0}}};
  EXPECT_EQ(judged({}, &other).status, kFail);
  const CanarySpeed elsewhere{"canary-v1", {{"other", 50.0}}};
  EXPECT_EQ(judged({}, &elsewhere).status, kFail);
}

TEST(MachineCause, ACanaryOfTheCoresSaysNothingOfAGpu) {
  RunFiles baseline = run_of(with_machine(metrics_of(), {100, 100, 100}, 0, "quiet", 0));
  RunFiles current = run_of(with_machine(metrics_of(9'000, 0.111), {90, 90, 90}, 0, "quiet", 0));
  const auto status = [&] {
    const GateReport report = decide({current, {baseline, {}}}, {.fence = FenceMode::off}).report;
    return report.lines[0].status;
  };
  current.metrics->config.device = "cpu";
  EXPECT_EQ(status(), kInvalid);
  current.metrics->config.device = "cuda:0";
  EXPECT_EQ(status(), kFail);
}

TEST(MachineCause, ABaselineThatWaitedIsWarnedOf) {
  Scene scene;
  scene.slower = 1;
  scene.baseline_waited = 0.31;
  const GateReport report = judged(scene);
  EXPECT_EQ(report.status, kWarn);
  EXPECT_THAT(report.lines.back().reason, HasSubstr("slowdowns up to 45 % can hide"));
  scene.baseline_waited = 0.05;
  EXPECT_EQ(judged(scene).status, kPass);
}

TEST(MachineCause, QualityIsNeverTheMachine) {
  const RunFiles baseline = run_of(with_machine(metrics_of(), {100, 100, 100}, 0, "quiet", 0));
  const RunFiles current =
      run_of(with_machine(metrics_of(), {50, 50, 50}, 0.5, "noisy", 0.3), eval_of(15));
  const GateReport report = decide({current, {baseline, {}}}, {.fence = FenceMode::off}).report;
  EXPECT_EQ(report.status, kFail);
}

TEST(MachineCause, BrokenFactsExplainNothing) {
  for (const Json& odd : {Json("much"), Json(-0.5), Json(1.0), Json(nullptr), Json::array()}) {
    RunFiles current = run_of(metrics_of(9'000));
    put(current, "/timing/waited_share", odd);
    put(current, "/noise", Json{{"verdict", "quiet"}, {"steal", odd}});
    put(current, "/canary", odd);
    const GateReport report = decide({current, {run_of(), {}}}, {.fence = FenceMode::off}).report;
    EXPECT_EQ(report.lines[0].status, kFail);
    EXPECT_THAT(report.lines[0].reason, Not(HasSubstr("machine")));
  }
}

}  // namespace
}  // namespace sluice::gate::machine_cause_test
