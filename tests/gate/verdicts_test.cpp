// tests/gate/verdicts_test.cpp - every verdict of the gate as a row: evidence and policy in;
// status, exit code, words and what is still wanted out.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/command.h"
#include "sluice/gate/baseline/pairs.h"
#include "sluice/gate/baseline/usual_step.h"
#include "sluice/gate/decide.h"
#include "sluice/gate/pairs/paired_report.h"

#include <gmock/gmock.h>

#include "tests/gate/gate_files.h"
#include <algorithm>
#include <cctype>
#include <limits>
#include <ostream>

namespace sluice::gate::verdicts_test {
namespace {

using ::testing::HasSubstr;
using Steps = std::vector<double>;

constexpr const char* kTokens = "tokens_per_sec_p50";
constexpr const char* kStep = "step_time_p50_s";
constexpr const char* kFence = "fence/tokens_per_sec_p50";
constexpr GateStatus kPass = GateStatus::pass, kWarn = GateStatus::warn, kSkip = GateStatus::skip,
                     kFail = GateStatus::fail, kInvalid = GateStatus::invalid;
constexpr WantedEvidence kNothing = WantedEvidence::nothing;

/// What a line of the report must be.
struct Line {
  const char* metric = "";
  GateStatus status = kPass;
  const char* words = "";  // in its reason
};

struct Verdict {
  const char* name = "";
  Evidence evidence{};
  GatePolicy policy{};
  GateStatus status = kPass;
  int code = 0;
  std::vector<Line> lines{};
  WantedEvidence wanted = kNothing;
};

struct Verdicts {
  std::vector<Verdict> rows{};

  void add(const char* name, Evidence evidence, const GatePolicy& policy, GateStatus status,
           int code, std::vector<Line> lines = {}, WantedEvidence wanted = kNothing) {
    rows.push_back({name, std::move(evidence), policy, status, code, std::move(lines), wanted});
  }
};

void PrintTo(const Verdict& verdict, std::ostream* out) {
  *out << verdict.name;
}

/// As a run of five processes leaves it: the best median is what the lines of the seed judge.
RunFiles run_with(const Steps& medians) {
  const double best = *std::min_element(medians.begin(), medians.end());
  Json metrics = metrics_of(1000 / best, best);
  metrics["timing"]["run_p50_s"] = medians;
  metrics["program"] = "digest";
  return run_of(std::move(metrics));
}

/// Steps of 0.1 s unless told otherwise; too few runs for a usual step.
RunFiles run_at(double step_s) {
  return run_with({step_s, step_s * 1.001});
}

RunFiles with(RunFiles run, const char* pointer, const Json& value) {
  put(run, pointer, value);
  return run;
}

RunFiles with_eval(RunFiles run, const char* pointer, const Json& value) {
  (*run.eval)[Json::json_pointer(pointer)] = value;
  return run;
}

Evidence beside(RunFiles current, RunFiles baseline = run_at(0.1)) {
  return {std::move(current), {std::move(baseline), {}}};
}

/// As the gate runs them: B takes `times` as long as A, give or take `scatter`, in turns.
Json pairs_of(double times, double scatter = 0.005) {
  PairedOptions options;
  options.tau = options.floor = 0.05;
  const auto outcome =
      run_pairs({{.name = kPairedStep, .unit = "s", .better = measure::Better::lower}}, options,
                [&](int index, bool) -> Result<std::vector<PairValue>> {
                  const double luck = 1 + scatter * ((index * 7) % 5 - 2);
                  return std::vector<PairValue>{{0.1, 0.1 * times * luck}};
                });
  EXPECT_TRUE(outcome);
  Json json = to_json(report_of(*outcome));
  json["program"] = "digest";
  return json;
}

RunFiles paired(double step_s, const Json& pairs) {
  return with(run_at(step_s), "/pairs", pairs);
}

RunFiles with_canary(RunFiles run, double speed) {
  run.metrics->canary = CanarySpeed{"canary-v1", {{"gemm", speed}}};
  return run;
}

/// Stored numbers, pairs and machine; the fence has rows of its own.
const GatePolicy kPlain{.fence = FenceMode::off};
const GatePolicy kSeed{
    .rule = GateRule::seed, .fence = FenceMode::fail, .may_pair = true, .may_confirm = true};
const GatePolicy kMayPair{.fence = FenceMode::off, .may_pair = true, .may_confirm = true};
const GatePolicy kMayConfirm{.fence = FenceMode::off, .may_confirm = true};

/// Only like is compared with like: everything else is no verdict, and says what differs.
Verdicts of_comparability() {
  Verdicts rows;
  const RunFiles none{"bench/baselines", std::nullopt, std::nullopt};
  RunFiles left_nothing = run_at(0.1);
  left_nothing.metrics.reset();
  RunFiles other_schema = run_at(0.1);
  other_schema.metrics->schema_version = "0.9";
  const RunFiles vit = with(run_at(0.1), "/run_config/model", "vit5-tiny"),
                 gpt = with(run_at(0.1), "/run_config/model", "gpt-tiny");
  const RunFiles mixed = with(with(run_at(0.1), "/run_config/model_shape", Json{{"dim", 192}}),
                              "/run_config/mixup", 0.8),
                 unmixed = with(run_at(0.1), "/run_config/model_shape", Json{{"dim", 192}});
  const char* text = "/eval_config/fixed_shard_sha256";
  const RunFiles shard_a = with_eval(run_at(0.1), text, "a"),
                 shard_b = with_eval(run_at(0.1), text, "b");
  GatePolicy bench = kPlain;
  bench.scope.eval = false;
  rows.add("the same", beside(run_at(0.1)), kPlain, kPass, 0, {{kTokens, kPass, "unchanged"}});
  rows.add("another workload", beside(vit, gpt), kMayPair, kSkip, 4,
           {{"workload", kSkip, "model (baseline 'gpt-tiny', run 'vit5-tiny')"}});
  rows.add("another workload by the rule of the seed", beside(vit, gpt), kSeed, kSkip, 4,
           {{"workload", kSkip, "model (baseline 'gpt-tiny', run 'vit5-tiny')"}});
  rows.add("images mixed, the baseline's were not", beside(mixed, unmixed), kMayPair, kSkip, 4,
           {{"workload", kSkip, "mixup (baseline '0.0', run '0.8')"}});
  rows.add("images as they are, the baseline's were mixed", beside(unmixed, mixed), kMayPair, kSkip,
           4, {{"workload", kSkip, "mixup (baseline '0.8', run '0.0')"}});
  rows.add("another text of the eval", beside(shard_b, shard_a), kMayPair, kSkip, 4,
           {{"workload", kSkip, "eval.fixed_shard_sha256 (baseline 'a', run 'b')"}});
  rows.add("another text where only the training counts", beside(shard_b, shard_a), bench, kPass,
           0);
  rows.add("another profile",
           beside(run_at(0.1), with(run_at(0.1), "/machine_profile", "gpu_test")), kMayPair, kSkip,
           4, {{"machine_profile", kSkip, "of machine profile 'gpu_test', the run of 'cpu_test'"}});
  rows.add("no baseline", beside(run_at(0.1), none), kMayPair, kSkip, 4,
           {{"baseline", kSkip, "no baseline for machine profile cpu_test"}});
  rows.add("another schema", beside(run_at(0.1), other_schema), kMayPair, kSkip, 4,
           {{"schema_version", kSkip, "of schema '0.9'"}});
  rows.add("the run left nothing", beside(left_nothing), kMayPair, kFail, 1,
           {{"metrics.json", kFail, "left no current results"}});
  return rows;
}

/// R002-18: stored numbers and tolerances alone; no excuse, no further evidence.
Verdicts of_the_seed() {
  Verdicts rows;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  RunFiles excused = with_canary(paired(0.107, pairs_of(1.0)), 80);
  put(excused, "/timing/run_p50_s", Json{0.107, 0.1, 0.1, 0.1, 0.1});
  put(excused, "/timing/waited_share", 0.3);
  RunFiles worse = run_at(0.1);
  worse.eval = eval_of(15);
  rows.add("seed: 6 % loss", beside(with(run_at(0.1), "/throughput/tokens_per_sec_p50", 9'400)),
           kSeed, kFail, 1, {{kTokens, kFail, "over the tolerance"}});
  rows.add("seed: a loss that everything else excuses",
           beside(excused, with_canary(run_at(0.1), 100)), kSeed, kFail, 1,
           {{kTokens, kFail, "over the tolerance"}, {kStep, kFail, "over the tolerance"}});
  rows.add("the same by pairs", beside(excused, with_canary(run_at(0.1), 100)), kMayPair, kPass, 0,
           {{kTokens, kSkip, "the machine was slower"}, {kPairedStep, kPass, ""}});
  rows.add("seed: 4 % loss", beside(run_at(0.104)), kSeed, kPass, 0, {{kStep, kPass, "within it"}});
  rows.add("seed: worse quality", beside(worse), kSeed, kFail, 1, {{"ppl_fixed_shard", kFail, ""}});
  rows.add("seed: a figure that is none", beside(with(run_at(0.1), "/loss/loss_slope", nan)), kSeed,
           kInvalid, 5, {{"loss_slope", kInvalid, ""}});
  rows.add("seed: more memory", beside(with(run_at(0.1), "/memory/peak_allocated_bytes", 1.2e9)),
           kSeed, kWarn, 0, {{"peak_allocated_bytes", kWarn, ""}});
  return rows;
}

/// Pairs with the baseline's program, beside its stored numbers.
Verdicts of_pairs() {
  Verdicts rows;
  const Json passes = pairs_of(1.0), fails = pairs_of(1.10), open = pairs_of(1.04, 0.2),
             wide = pairs_of(1.0, 0.15);
  RunFiles other = run_at(0.1), unknown = run_at(0.1), worse = paired(0.13, passes);
  other.metrics->program = "another";
  unknown.metrics->program.reset();
  worse.eval = eval_of(15);
  Json broken = passes;
  broken["lines"] = "none";
  const Evidence slow_canary =
      beside(with_canary(paired(0.12, fails), 80), with_canary(run_at(0.1), 100));
  const RunFiles waited = with(run_at(0.1), "/timing/waited_share", 0.3);
  const RunFiles lucky = run_with({0.1, 0.13, 0.13, 0.13});
  const RunFiles usual = with(run_with({0.13, 0.13, 0.13, 0.13}), "/pairs", passes);
  rows.add("pairs pass where the stored numbers fail", beside(paired(0.13, passes)), kMayPair,
           kPass, 0,
           {{kPairedStep, kPass, ""},
            {kTokens, kSkip, "the machine was slower"},
            {kStep, kSkip, "the machine was slower"}});
  rows.add("pairs fail where the stored numbers pass", beside(paired(0.09, fails)), kMayPair, kFail,
           1, {{kStep, kPass, ""}, {kPairedStep, kFail, "slower"}});
  rows.add("pairs fail on a slower machine", slow_canary, kMayPair, kFail, 1,
           {{kStep, kFail, "over the tolerance"}, {kPairedStep, kFail, "slower"}});
  rows.add("pairs are open and the stored numbers pass", beside(paired(0.1, open)), kMayPair, kPass,
           0, {{kPairedStep, kSkip, ""}, {kStep, kPass, ""}});
  rows.add("pairs are open and the stored numbers fail", beside(paired(0.112, open)), kMayPair,
           kFail, 1, {{kPairedStep, kSkip, ""}, {kStep, kFail, ""}});
  // -12 % against stored numbers, -6 to +6 % in pairs: a false alarm once.
  rows.add("pairs are open and contradict the stored numbers", beside(paired(0.16, wide)), kMayPair,
           kInvalid, 5,
           {{kPairedStep, kSkip, ""},
            {kTokens, kInvalid, "the machine was slower"},
            {kStep, kInvalid, "the machine was slower"}});
  rows.add("pairs find it faster", beside(paired(0.08, pairs_of(0.8))), kMayPair,
           GateStatus::improved, 0, {{kPairedStep, GateStatus::improved, "faster"}});
  rows.add("pairs within the tolerance", beside(paired(0.103, pairs_of(1.03))), kMayPair, kPass, 0);
  rows.add("pairs excuse no quality", beside(worse), kMayPair, kFail, 1,
           {{"ppl_fixed_shard", kFail, ""}, {kStep, kSkip, "the machine was slower"}});
  rows.add("pairs pass beside a lucky baseline", beside(usual, lucky), kMayPair, kPass, 0,
           {{kStep, kSkip, "the machine was slower"}});
  rows.add("pairs beside another program", beside(paired(0.13, passes), other), kPlain, kFail, 1,
           {{kStep, kFail, "over the tolerance"}});
  rows.add("pairs beside an unknown program", beside(paired(0.13, passes), unknown), kPlain, kFail,
           1, {{kStep, kFail, "over the tolerance"}});
  rows.add("broken pairs", beside(paired(0.13, broken)), kPlain, kFail, 1, {{kStep, kFail, ""}});
  rows.add("pairs that are a word", beside(paired(0.13, "odd")), kPlain, kFail, 1,
           {{kStep, kFail, ""}});
  rows.add("pairs that are a list", beside(paired(0.13, Json::array())), kPlain, kFail, 1,
           {{kStep, kFail, ""}});
  rows.add("a baseline that waited", beside(run_at(0.1), waited), kPlain, kWarn, 0,
           {{"baseline", kWarn, "can hide"}});
  rows.add("a baseline that waited, where pairs decided", beside(paired(0.1, passes), waited),
           kPlain, kPass, 0);
  rows.add("a baseline that waited, where pairs are open", beside(paired(0.1, wide), waited),
           kPlain, kWarn, 0, {{"baseline", kWarn, "can hide"}});
  return rows;
}

/// Luck of a best run, and what the machine did.
Verdicts of_luck_and_machine() {
  Verdicts rows;
  const Steps calm{0.100, 0.101, 0.102, 0.103, 0.104}, slow{0.110, 0.111, 0.112, 0.113, 0.114};
  const RunFiles lucky = run_with({0.091, 0.101, 0.102, 0.103, 0.104});
  RunFiles worse = run_with(calm), noisy = run_at(0.1);
  worse.eval = eval_of(15);
  noisy.metrics->noise = {"noisy", {}, {}, {{"", "critical", "others used 40 %"}}};
  const RunFiles stolen = with(run_at(0.11), "/noise", Json{{"verdict", "quiet"}, {"steal", 0.09}});
  const auto steps = [](const char* said, GateStatus status) {
    return std::vector<Line>{{kTokens, status, said}, {kStep, status, said}};
  };
  rows.add("a lucky run of the baseline", beside(run_with(calm), lucky), kPlain, kWarn, 0,
           {{kUsualStep, kPass, ""},
            {kTokens, kWarn, "usual step changed by +0.0 %"},
            {kStep, kWarn, "usual step changed by +0.0 %"}});
  // A slowdown of 10 % hid behind one lucky run of five.
  rows.add("a lucky run hides a slowdown",
           beside(run_with({0.113, 0.111, 0.100, 0.112, 0.114}), run_with(calm)), kPlain, kFail, 1,
           {{kStep, kPass, ""}, {kUsualStep, kFail, "5 run medians, of 5 with the baseline"}});
  rows.add("all runs are slower", beside(run_with(slow), run_with(calm)), kPlain, kFail, 1,
           {{kStep, kFail, ""}, {kTokens, kFail, ""}, {kUsualStep, kFail, ""}});
  rows.add("luck excuses no quality", beside(worse, lucky), kPlain, kFail, 1,
           {{"ppl_fixed_shard", kFail, ""}, {kStep, kWarn, ""}});
  rows.add("the canary lost as much, usual step and best run",
           beside(with_canary(run_with(slow), 90), with_canary(run_with(calm), 100)), kPlain,
           kInvalid, 5,
           {{kStep, kInvalid, "the machine explains it"}, {kUsualStep, kInvalid, "explains it"}});
  rows.add("the canary lost as much",
           beside(with_canary(run_at(0.12), 80), with_canary(run_at(0.1), 100)), kPlain, kInvalid,
           5, steps("the machine explains it", kInvalid));
  rows.add("the canary lost too little",
           beside(with_canary(run_at(0.2), 90), with_canary(run_at(0.1), 100)), kPlain, kFail, 1,
           steps("over the tolerance", kFail));
  rows.add("steps waited for cores", beside(with(run_at(0.146), "/timing/waited_share", 0.31)),
           kPlain, kInvalid, 5, steps("waited for a core 31.0 %", kInvalid));
  rows.add("the hypervisor took time", beside(stolen), kPlain, kInvalid, 5,
           steps("hypervisor kept 9.0 %", kInvalid));
  rows.add("a noisy machine is said", beside(noisy), kPlain, kPass, 0,
           {{"machine", kSkip, "others used 40 %"}});
  return rows;
}

/// Stored visits, all twice as fast as the baseline that was promoted last.
Verdicts of_the_fence() {
  Verdicts rows;
  Evidence evidence = beside(run_at(0.1));
  for (int i = 0; i < 30; ++i) {
    Visit visit = visit_of(run_at(0.05 * (1 + 0.001 * (i % 5))));
    visit.canary.reset();
    evidence.baseline.history.push_back(visit);
  }
  evidence.current.metrics->canary.reset();
  Evidence few = evidence, within = evidence;
  few.baseline.history.resize(19);
  within.current = run_at(0.0501);
  within.current.metrics->canary.reset();
  rows.add("beyond the fence", evidence, {}, kFail, 1, {{kStep, kPass, ""}, {kFence, kFail, ""}});
  rows.add("beyond a fence that warns", evidence, {.fence = FenceMode::warn}, kWarn, 0,
           {{kFence, kWarn, ""}});
  rows.add("no fence", evidence, {.fence = FenceMode::off}, kPass, 0);
  rows.add("too few visits for a fence", few, {}, kPass, 0, {{kFence, kSkip, "19"}});
  rows.add("within the fence", within, {}, kPass, 0, {{kFence, kPass, ""}});
  return rows;
}

/// What would let it decide better, and a second run that was taken.
Verdicts of_what_is_wanted() {
  Verdicts rows;
  RunFiles unknown = run_at(0.1), fast_again = run_at(0.2), slow_again = run_at(0.2),
           worse = run_at(0.1);
  unknown.metrics->program.reset();
  fast_again.metrics = confirmed(*run_at(0.2).metrics, *run_at(0.101).metrics);
  slow_again.metrics = confirmed(*run_at(0.2).metrics, *run_at(0.3).metrics);
  worse.eval = eval_of(15);
  constexpr WantedEvidence kPairs = WantedEvidence::pairs, kAgain = WantedEvidence::second_run;
  rows.add("pairs of a fast run", beside(run_at(0.1)), kMayPair, kPass, 0, {}, kPairs);
  rows.add("pairs of a slow run", beside(run_at(0.2)), kMayPair, kFail, 1, {}, kPairs);
  rows.add("no kept program", beside(run_at(0.2), unknown), kMayPair, kFail, 1, {}, kAgain);
  rows.add("no second run of a fast one", beside(run_at(0.1)), kMayConfirm, kPass, 0);
  rows.add("a second run of a slow one", beside(run_at(0.2)), kMayConfirm, kFail, 1, {}, kAgain);
  rows.add("no second run can be taken", beside(run_at(0.2)), kPlain, kFail, 1);
  rows.add("quality does not come back", beside(worse), kMayConfirm, kFail, 1);
  rows.add("the second run was fast", beside(fast_again), kMayConfirm, kPass, 0,
           {{kStep, kPass, ""}});
  rows.add("the second run was slow", beside(slow_again), kMayConfirm, kFail, 1,
           {{kStep, kFail, ""}});
  return rows;
}

std::vector<Verdict> all() {
  std::vector<Verdict> list;
  for (const auto& part : {of_comparability, of_the_seed, of_pairs, of_luck_and_machine,
                           of_the_fence, of_what_is_wanted})
    for (const Verdict& one : part().rows)
      list.push_back(one);
  return list;
}

class Decided : public ::testing::TestWithParam<Verdict> {};

TEST_P(Decided, AsTheRowSays) {
  const Verdict& row = GetParam();
  const Decision decision = decide(row.evidence, row.policy);
  const GateReport& report = decision.report;
  EXPECT_EQ(report.status, row.status) << report.summary;
  EXPECT_EQ(static_cast<int>(cli::exit_code_of(report.status, false)), row.code);
  EXPECT_EQ(decision.wanted, row.wanted);
  EXPECT_EQ(report.summary, summary_of(report));
  EXPECT_EQ(report.rule == "stored numbers alone", row.policy.rule == GateRule::seed);
  if (row.status == kSkip) {
    EXPECT_EQ(report.lines.size(), 1U) << "nothing is compared";
  }
  for (const Line& wanted : row.lines) {
    const auto line = std::ranges::find(report.lines, wanted.metric, &GateLine::metric);
    ASSERT_NE(line, report.lines.end()) << wanted.metric;
    EXPECT_EQ(line->status, wanted.status) << wanted.metric << ": " << line->reason;
    EXPECT_THAT(line->reason, HasSubstr(wanted.words)) << wanted.metric;
  }
  if (row.policy.fence == FenceMode::off) {
    EXPECT_EQ(std::ranges::count(report.lines, std::string(kFence), &GateLine::metric), 0);
  }
  EXPECT_EQ(to_json(decide(row.evidence, row.policy).report), to_json(report)) << "pure";
}

INSTANTIATE_TEST_SUITE_P(Table, Decided, ::testing::ValuesIn(all()), [](const auto& tested) {
  std::string name = tested.param.name;
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace sluice::gate::verdicts_test
