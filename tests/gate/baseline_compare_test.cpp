// tests/gate/baseline_compare_test.cpp - every rule of the stored baseline, at, above and below its
// tolerance.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/training_use.h"
#include "sluice/gate/baseline/compare.h"
#include "sluice/gate/baseline/workload.h"

#include <gmock/gmock.h>

#include "tests/gate/gate_files.h"
#include <cmath>
#include <limits>
#include <tuple>

namespace sluice::gate::baseline_compare_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

const GateLine& line_of(const GateReport& report, const std::string& metric) {
  for (const GateLine& line : report.lines)
    if (line.metric == metric) return line;
  static const GateLine none;
  ADD_FAILURE() << "no line " << metric;
  return none;
}

/// One change against the run of `run_of()`, and what must come of it.
struct Case {
  const char* id;
  const char* file;  // "metrics" or "eval": where the change is
  const char* pointer;
  Json value;  // discarded: the key goes
  const char* metric;
  GateStatus line;
  GateStatus whole;
};

Json gone() {
  return Json(Json::value_t::discarded);
}

TEST(JudgedRateTest, AWatchedProgramWithoutTokensCountsWhatItsUserCounts) {
  results::TrainingMetrics metrics;
  metrics.throughput.tokens_per_step = metrics.throughput.samples_per_step = 32;
  EXPECT_STREQ(judged_rate(metrics).metric, "tokens_per_sec_p50") << "our engine counts tokens";
  metrics.config.mode = "watch";
  EXPECT_STREQ(judged_rate(metrics).metric, "samples_per_sec_p50");
  EXPECT_STREQ(judged_rate(metrics).unit, "samples/s");
  metrics.config.other = Json{{"counted", "steps: no --samples-per-step was given"}};
  EXPECT_STREQ(judged_rate(metrics).unit, "steps/s");
  metrics.throughput.tokens_per_step = 4096;
  EXPECT_STREQ(judged_rate(metrics).unit, "tokens/s");
}

/// R002-19: what differs, and whether both files tell it.
TEST(WorkloadTest, OnlyEqualWorkIsCompared) {
  struct Other {
    const char* pointer;
    Json stored, now;
    const char* said;  // empty: nothing
  };
  const Other cases[] = {
      {"/run_config/model", "gpt-tiny", "vit5-tiny",
       "model (baseline 'gpt-tiny', run 'vit5-tiny')"},
      {"/run_config/model_shape", Json{{"dim", 192}}, Json{{"dim", 384}}, "model_shape.dim"},
      {"/run_config/per_device_batch_size", 8, 16,
       "per_device_batch_size (baseline '8', run '16')"},
      {"/run_config/grad_accum_steps", 1, 2, "grad_accum_steps"},
      {"/run_config/seq_len", 128, 256, "seq_len"},
      {"/run_config/dtype", "fp32", "bf16", "dtype"},
      {"/run_config/mode", "synthetic", "e2e", "mode"},
      {"/run_config/device", "cpu", "cuda:0", "device"},
      {"/run_config/device", "cuda:0", "cuda:1", ""},
      {"/run_config/optimizer", "lamb", "adamw", "optimizer"},
      {"/run_config/checkpoint_activations", false, true, "checkpoint_activations"},
      {"/run_config/input", "names+sizes:1", "names+sizes:2", "input"},
      {"/run_config/step_clock", "host", "device", "step_clock (baseline 'host', run 'device')"},
      {"/run_config/measure_steps", 20, 100, ""},
      {"/run_config/repeat", 1, 5, ""},
  };
  for (const Other& one : cases) {
    SCOPED_TRACE(one.pointer);
    RunFiles stored = run_of(), now = run_of();
    put(stored, one.pointer, one.stored);
    put(now, one.pointer, one.now);
    const GateReport report = compare_with_baseline(now, stored, {});
    if (*one.said == '\0') {
      EXPECT_EQ(report.status, GateStatus::pass);
      continue;
    }
    EXPECT_EQ(report.status, GateStatus::skip);
    ASSERT_EQ(report.lines.size(), 1U);
    EXPECT_EQ(report.lines[0].metric, "workload");
    EXPECT_THAT(report.lines[0].reason, HasSubstr(one.said));
  }
}

/// A run of ours as versions before `random_erasing` wrote it: what is off is left out.
RunFiles run_of_ours(const Json& also = Json::object()) {
  Json metrics = metrics_of();
  metrics["run_config"]["model_shape"] = {{"dim", 192}};
  for (const auto& [key, value] : also.items())
    metrics["run_config"][key] = value;
  return run_of(metrics);
}

TEST(WorkloadTest, WhatOursLeaveOutIsOff) {
  for (const char* key : {"mixup", "cutmix", "random_erasing"}) {
    SCOPED_TRACE(key);
    const RunFiles untold = run_of_ours(), off = run_of_ours({{key, 0.0}}),
                   on = run_of_ours({{key, 0.8}});
    for (const RunFiles& without : {untold, off}) {
      for (const auto& [stored, now, said] :
           {std::tuple(without, on, "(baseline '0.0', run '0.8')"),
            std::tuple(on, without, "(baseline '0.8', run '0.0')")}) {
        const GateReport report = compare_with_baseline(now, stored, {});
        EXPECT_EQ(report.status, GateStatus::skip);
        EXPECT_THAT(report.lines[0].reason, HasSubstr(std::string(key) + " " + said));
      }
    }
    EXPECT_EQ(compare_with_baseline(off, untold, {}).status, GateStatus::pass);
    EXPECT_EQ(compare_with_baseline(untold, off, {}).status, GateStatus::pass);
    EXPECT_EQ(compare_with_baseline(run_of_ours({{key, 0}}), off, {}).status, GateStatus::pass);
    EXPECT_EQ(compare_with_baseline(on, on, {}).status, GateStatus::pass);
    RunFiles other = run_of();  // of another program, of which nothing is known
    EXPECT_EQ(compare_with_baseline(on, other, {}).status, GateStatus::pass);
    EXPECT_EQ(workload_digest(untold), workload_digest(off)) << "histories go on";
    EXPECT_NE(workload_digest(untold), workload_digest(on));
  }
}

/// Of a watched program its words count, not where it lies; of ours nothing is said.
TEST(WorkloadTest, AWatchedProgramIsItsWords) {
  const auto differing = [](const char* mode, const Json& stored, const Json& now) {
    RunFiles base = run_of(), current = run_of();
    for (RunFiles* run : {&base, &current})
      put(*run, "/run_config/mode", mode);
    put(base, "/run_config/program", stored);
    put(current, "/run_config/program", now);
    return differences(workload_of(base), workload_of(current));
  };
  const Json mine{"/usr/bin/python3", "train.py", "--wide"};
  EXPECT_TRUE(
      differing("watch", mine, Json{"/opt/venv/bin/python3", "train.py", "--wide"}).empty());
  EXPECT_THAT(differing("watch", mine, Json{"/usr/bin/python3", "train.py"}),
              ::testing::ElementsAre(
                  "program (baseline 'python3 train.py --wide', run 'python3 train.py')"));
  EXPECT_TRUE(differing("synthetic", mine, Json{"other"}).empty());
  EXPECT_TRUE(differing("watch", mine, Json(7)).empty());
}

TEST(LossSlopeTest, LossesOfAWatchedProgramRiseOnlyBeyondTheirScatter) {
  struct Losses {
    const char* what;
    const char* mode;
    double (*loss)(int);
    int count;
    GateStatus expected;
  };
  const auto scatter = [](int i) { return 2 + 0.01 * i + (i * 7919 % 13) / 6.0; };
  const Losses all[] = {
      {"a clear rise", "watch", [](int i) { return 1 + 0.01 * i; }, 40, GateStatus::fail},
      {"no more than scatter", "watch", scatter, 40, GateStatus::pass},
      {"ours, which repeat one batch", "synthetic", scatter, 40, GateStatus::fail},
      {"too few", "watch", [](int i) { return 1 + 0.5 * i; }, 9, GateStatus::pass},
      {"a fall", "watch", [](int i) { return 9 - 0.1 * i; }, 40, GateStatus::pass}};
  for (const Losses& one : all) {
    SCOPED_TRACE(one.what);
    RunFiles base = run_of(), now = run_of();
    std::vector<double> values;
    for (int i = 0; i < one.count; ++i)
      values.push_back(one.loss(i));
    for (RunFiles* run : {&base, &now}) {
      put(*run, "/run_config/mode", one.mode);
      put(*run, "/loss/loss_values", values);
      put(*run, "/loss/loss_slope", *analysis::loss_slope(values));
    }
    const GateReport report = compare_with_baseline(now, base, {});
    const auto line = std::ranges::find(report.lines, "loss_slope", &GateLine::metric);
    ASSERT_NE(line, report.lines.end());
    EXPECT_EQ(line->status, one.expected) << line->reason;
  }
}

TEST(WorkloadTest, AnEvalOfAnotherTextOrProbeSetIsNotCompared) {
  const auto with = [](const char* pointer, const Json& value) {
    Json eval = eval_of();
    eval[Json::json_pointer(pointer)] = value;
    return run_of(metrics_of(), std::move(eval));
  };
  const std::pair<const char*, const char*> cases[] = {
      {"/eval_config/fixed_shard_sha256", "eval.fixed_shard_sha256"},
      {"/eval_config/max_length", "eval.max_length"},
      {"/model/tokenizer_sha256", "eval.tokenizer_sha256"},
      {"/model/training_steps", "eval.training_steps"},
      {"/model/training_sha256", "eval.training_sha256"},
      {"/probes/basic_reasoning_25/sha256", "eval.probes.basic_reasoning_25"},
  };
  for (const auto& [pointer, said] : cases) {
    SCOPED_TRACE(pointer);
    const GateReport report = compare_with_baseline(with(pointer, "b"), with(pointer, "a"), {});
    EXPECT_EQ(report.status, GateStatus::skip);
    EXPECT_THAT(report.lines[0].reason, HasSubstr(said));
    EXPECT_EQ(
        compare_with_baseline(with(pointer, "b"), with(pointer, "a"), {}, {true, false}).status,
        GateStatus::pass)
        << "of the training alone";
  }
  EXPECT_EQ(compare_with_baseline(with("/model/weights_sha256", "b"),
                                  with("/model/weights_sha256", "a"), {})
                .status,
            GateStatus::pass)
      << "what became of the weights is what is judged";
}

constexpr const char* kTps = "/throughput/tokens_per_sec_p50";
constexpr const char* kStep = "/timing/step_time_p50_s";
constexpr const char* kBytes = "/memory/peak_allocated_bytes";
constexpr const char* kPpl = "/ppl_fixed_shard";
constexpr const char* kProbe = "/task_probe_accuracy/basic_reasoning_25";
constexpr const char* kSlope = "/loss/loss_slope";
constexpr GateStatus kPass = GateStatus::pass, kFail = GateStatus::fail, kWarn = GateStatus::warn,
                     kSkip = GateStatus::skip, kInvalid = GateStatus::invalid;

const std::vector<Case>& cases() {
  static const std::vector<Case> list{
      {"COMP-02", "metrics", kTps, 9'400, "tokens_per_sec_p50", kFail, kFail},
      {"COMP-02a", "metrics", kTps, 9'200, "tokens_per_sec_p50", kFail, kFail},
      {"COMP-02b", "metrics", kTps, 9'700, "tokens_per_sec_p50", kPass, kPass},
      {"COMP-02c", "metrics", kTps, 20'000, "tokens_per_sec_p50", kPass, kPass},
      {"COMP-02d", "metrics", kTps, 9'499.99, "tokens_per_sec_p50", kFail, kFail},
      {"COMP-03", "metrics", kTps, 9'500, "tokens_per_sec_p50", kPass, kPass},
      {"COMP-03a", "metrics", kStep, 0.105, "step_time_p50_s", kPass, kPass},
      {"COMP-03b", "metrics", kBytes, 1.1e9, "peak_allocated_bytes", kPass, kPass},
      {"COMP-03c", "eval", kPpl, 12.18, "ppl_fixed_shard", kPass, kPass},
      {"COMP-03d", "eval", kProbe, 0.90, "probe/basic_reasoning_25", kPass, kPass},
      {"COMP-03e", "metrics", kSlope, 0.001, "loss_slope", kPass, kPass},
      {"COMP-04", "metrics", kStep, 0.106, "step_time_p50_s", kFail, kFail},
      {"COMP-04a", "metrics", kStep, 0.103, "step_time_p50_s", kPass, kPass},
      {"COMP-04b", "metrics", kStep, 0.05, "step_time_p50_s", kPass, kPass},
      {"COMP-05", "metrics", kBytes, 1.11e9, "peak_allocated_bytes", kWarn, kWarn},
      {"COMP-05a", "metrics", kBytes, 0.5e9, "peak_allocated_bytes", kPass, kPass},
      {"COMP-05b", "metrics", kBytes, nullptr, "peak_allocated_bytes", kInvalid, kInvalid},
      {"COMP-05c", "metrics", kBytes, gone(), "peak_allocated_bytes", kSkip, kPass},
      {"COMP-06", "eval", kPpl, 12.252, "ppl_fixed_shard", kFail, kFail},
      {"COMP-06a", "eval", kPpl, 12.1, "ppl_fixed_shard", kPass, kPass},
      {"COMP-06b", "eval", kPpl, 12.3, "ppl_fixed_shard", kFail, kFail},
      {"COMP-06c", "eval", kPpl, 11.0, "ppl_fixed_shard", kPass, kPass},
      {"COMP-06d", "eval", kPpl, kNaN, "ppl_fixed_shard", kInvalid, kInvalid},
      {"COMP-06e", "eval", kPpl, nullptr, "ppl_fixed_shard", kInvalid, kInvalid},
      {"COMP-07", "eval", kProbe, 0.89, "probe/basic_reasoning_25", kFail, kFail},
      {"COMP-07a", "eval", kProbe, 0.91, "probe/basic_reasoning_25", kPass, kPass},
      {"COMP-07b", "eval", kProbe, 1.0, "probe/basic_reasoning_25", kPass, kPass},
      {"COMP-07c", "eval", kProbe, kNaN, "probe/basic_reasoning_25", kInvalid, kInvalid},
      {"COMP-09", "eval", kProbe, gone(), "probe/basic_reasoning_25", kWarn, kWarn},
      {"COMP-09a", "eval", "/task_probe_accuracy", gone(), "probe/code_sanity_20", kWarn, kWarn},
      {"COMP-13", "metrics", kSlope, 0.002, "loss_slope", kFail, kFail},
      {"COMP-13a", "metrics", kSlope, nullptr, "loss_slope", kSkip, kPass},
      {"COMP-13b", "metrics", kSlope, gone(), "loss_slope", kSkip, kPass},
      {"COMP-13c", "metrics", kSlope, kNaN, "loss_slope", kInvalid, kInvalid},
      {"NAN-01", "metrics", kTps, kNaN, "tokens_per_sec_p50", kInvalid, kInvalid},
      {"NAN-02", "metrics", kTps, nullptr, "tokens_per_sec_p50", kInvalid, kInvalid},
      {"NAN-03", "metrics", kTps, gone(), "tokens_per_sec_p50", kInvalid, kInvalid},
      {"NAN-04", "metrics", kTps, "fast", "tokens_per_sec_p50", kInvalid, kInvalid},
      {"NAN-05", "metrics", kStep, std::numeric_limits<double>::infinity(), "step_time_p50_s",
       kInvalid, kInvalid},
  };
  return list;
}

class Rules : public ::testing::TestWithParam<Case> {};

TEST_P(Rules, OneChange) {
  const Case& test = GetParam();
  Json metrics = metrics_of(), eval = eval_of();
  Json& file = test.file == std::string("eval") ? eval : metrics;
  const Json::json_pointer path(test.pointer);
  if (test.value.is_discarded())
    file.at(path.parent_pointer()).erase(path.back());
  else
    file[path] = test.value;
  const GateReport report = compare_with_baseline(run_of(metrics, eval), run_of(), {});
  EXPECT_EQ(line_of(report, test.metric).status, test.line);
  EXPECT_FALSE(line_of(report, test.metric).reason.empty());
  EXPECT_EQ(report.status, test.whole);
}

INSTANTIATE_TEST_SUITE_P(Matrix, Rules, ::testing::ValuesIn(cases()), [](const auto& tested) {
  std::string name = tested.param.id;
  std::erase(name, '-');
  return name;
});

TEST(BaselineCompare, IdenticalRunsPassInTheOrderOfTheReport) {  // COMP-01
  const GateReport report = compare_with_baseline(run_of(), run_of(), {});
  std::vector<std::string> metrics;
  for (const GateLine& line : report.lines) {
    metrics.push_back(line.metric);
    EXPECT_EQ(line.status, GateStatus::pass) << line.metric;
  }
  EXPECT_THAT(metrics,
              ElementsAre("tokens_per_sec_p50", "step_time_p50_s", "peak_allocated_bytes",
                          "ppl_fixed_shard", "probe/basic_reasoning_25",
                          "probe/format_following_30", "probe/code_sanity_20", "loss_slope"));
  EXPECT_EQ(report.summary, "PASS (0 failures, 0 warnings)");
}

TEST(BaselineCompare, DeltaIsRelativeToTheBaseline) {  // COMP-12
  EXPECT_DOUBLE_EQ(delta_pct(200, 190), -5);
  EXPECT_DOUBLE_EQ(delta_pct(-2, -1), 50);
  EXPECT_EQ(delta_pct(0, 0), 0);
  EXPECT_EQ(delta_pct(0, 1), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(delta_pct(kNaN, 1)));
  EXPECT_TRUE(std::isnan(delta_pct(1, kNaN)));
}

TEST(BaselineCompare, TwoPointsAreTwoPoints) {  // the float trap: (0.92 - 0.90) * 100 > 2.0
  const GateReport report =
      compare_with_baseline(run_of(metrics_of(), eval_of(12, 0.90)), run_of(), {});
  const GateLine& line = line_of(report, "probe/basic_reasoning_25");
  EXPECT_EQ(line.status, GateStatus::pass);
  EXPECT_NEAR(*line.delta, -2.0, 1e-9);
  EXPECT_EQ(line.delta_unit, "points");
}

TEST(BaselineCompare, P90IsLookedAtOnlyWhenAsked) {
  RunFiles current = run_of();
  current.metrics->timing.p90.value = 0.2;
  EXPECT_EQ(compare_with_baseline(current, run_of(), {}).status, GateStatus::pass);
  Tolerances tolerances;
  tolerances.step_time_p90_increase_pct = 20;
  const GateReport report = compare_with_baseline(current, run_of(), tolerances);
  EXPECT_EQ(report.status, GateStatus::fail);
  EXPECT_EQ(report.lines[2].metric, "step_time_p90_s");
}

TEST(BaselineCompare, MissingThings) {
  const RunFiles none{"bench/baselines", std::nullopt, std::nullopt};
  GateReport report = compare_with_baseline(run_of(), none, {});  // COMP-08
  EXPECT_EQ(report.status, GateStatus::skip);
  EXPECT_THAT(report.lines.at(0).reason, HasSubstr("no baseline for machine profile cpu_test"));

  report = compare_with_baseline(none, run_of(), {});
  EXPECT_EQ(report.status, GateStatus::fail);
  report = compare_with_baseline(none, none, {});
  EXPECT_EQ(report.status, GateStatus::fail);
  report = compare_with_baseline({"run", results::training_metrics_of(metrics_of()), std::nullopt},
                                 run_of(), {});
  EXPECT_EQ(report.status, GateStatus::fail);

  const RunFiles metrics_alone{"b", results::training_metrics_of(metrics_of()), std::nullopt};
  report = compare_with_baseline(run_of(), metrics_alone, {});
  EXPECT_EQ(report.status, GateStatus::pass);
  EXPECT_EQ(line_of(report, "ppl_fixed_shard").status, GateStatus::skip);
  report = compare_with_baseline(run_of(), metrics_alone, {}, {.bench = false, .eval = true});
  EXPECT_EQ(report.status, GateStatus::skip);
}

TEST(BaselineCompare, AnotherSchemaOrProfileIsNoBaseline) {  // COMP-14
  RunFiles base = run_of();
  base.metrics->schema_version = "0.9";
  EXPECT_EQ(compare_with_baseline(run_of(), base, {}).status, GateStatus::skip);
  put(base, "/schema_version", 1);
  EXPECT_EQ(compare_with_baseline(run_of(), base, {}).status, GateStatus::skip);
  base = run_of();
  (*base.eval)["schema_version"] = "2.0";
  const GateReport report = compare_with_baseline(run_of(), base, {});
  EXPECT_EQ(report.status, GateStatus::skip);
  EXPECT_THAT(report.lines.at(0).reason, HasSubstr("eval.json is of schema '2.0'"));
  EXPECT_EQ(compare_with_baseline(run_of(), base, {}, {.bench = true, .eval = false}).status,
            GateStatus::pass);
  base = run_of();
  base.metrics->machine_profile = "other";
  EXPECT_EQ(compare_with_baseline(run_of(), base, {}).lines.at(0).metric, "machine_profile");
}

TEST(BaselineCompare, AnotherLastBlockIsOtherWork) {
  RunFiles now = run_of();
  put(now, "/run_config/last_block", "class-token");
  RunFiles base = run_of();  // of a CPU, from before it was told: the whole block
  const GateReport report = compare_with_baseline(now, base, {});
  EXPECT_EQ(report.status, GateStatus::skip);
  ASSERT_EQ(report.lines.size(), 1U);
  EXPECT_EQ(report.lines[0].metric, "last_block");
  EXPECT_THAT(report.lines[0].reason, HasSubstr("the baseline computes the last block 'full'"));
  put(base, "/run_config/device", "cuda:0");
  put(base, "/run_config/model", "vit5-small");
  EXPECT_EQ(compare_with_baseline(now, base, {}).status, GateStatus::pass) << "so it was there";
  put(now, "/run_config/last_block", "full");
  EXPECT_EQ(compare_with_baseline(now, base, {}).status, GateStatus::skip);
  put(base, "/run_config/last_block", "full");
  EXPECT_EQ(compare_with_baseline(now, base, {}).status, GateStatus::pass);
}

TEST(BaselineCompare, AnotherEstimatorIsSaidInOneLine) {
  RunFiles now = run_of();
  put(now, "/mfu/estimator", "shapes");
  const GateReport report = compare_with_baseline(now, run_of(), {});
  EXPECT_EQ(report.status, GateStatus::pass) << "times are compared all the same";
  const auto line = std::find_if(report.lines.begin(), report.lines.end(),
                                 [](const GateLine& one) { return one.metric == "mfu_p50"; });
  ASSERT_NE(line, report.lines.end());
  EXPECT_EQ(line->status, GateStatus::skip);
  EXPECT_THAT(line->reason, HasSubstr("counts FLOP by '6ND', the run by 'shapes'"));
}

TEST(BaselineCompare, ANullWithAReasonIsNotJudged) {
  RunFiles current = run_of();
  (*current.eval)["ppl_fixed_shard"] = nullptr;
  (*current.eval)["ppl_fixed_shard_reason"] = "an endpoint gives no log-probabilities";
  const GateReport report = compare_with_baseline(current, run_of(), {});
  EXPECT_EQ(line_of(report, "ppl_fixed_shard").status, GateStatus::skip);
  EXPECT_THAT(line_of(report, "ppl_fixed_shard").reason, HasSubstr("no log-probabilities"));
}

TEST(BaselineCompare, AProbeThatTheBaselineLacksIsNotJudged) {
  RunFiles current = run_of();
  (*current.eval)["task_probe_accuracy"]["new_10"] = 0.1;
  const GateReport report = compare_with_baseline(current, run_of(), {});
  EXPECT_EQ(line_of(report, "probe/new_10").status, GateStatus::skip);
  EXPECT_EQ(report.status, GateStatus::pass);
}

TEST(BaselineCompare, ZeroMemoryInTheBaseline) {
  const GateReport report = compare_with_baseline(run_of(), run_of(metrics_of(10'000, 0.1, 0)), {});
  EXPECT_EQ(line_of(report, "peak_allocated_bytes").status, GateStatus::warn);
  EXPECT_TRUE(std::isinf(*line_of(report, "peak_allocated_bytes").delta));
}

TEST(Tolerances, PresetsAndRanges) {
  const Tolerances defaults = *tolerance_preset("default");
  EXPECT_EQ(defaults.throughput_drop_pct, 5);
  EXPECT_EQ(defaults.step_time_increase_pct, 5);
  EXPECT_EQ(defaults.memory_increase_pct, 10);
  EXPECT_EQ(defaults.ppl_increase_pct, 1.5);
  EXPECT_EQ(defaults.probe_drop_abs, 2);
  EXPECT_EQ(defaults.loss_slope_threshold, 0.001);
  EXPECT_FALSE(defaults.step_time_p90_increase_pct);
  const Tolerances strict = *tolerance_preset("strict");
  EXPECT_EQ(strict.throughput_drop_pct, 2);
  EXPECT_EQ(strict.ppl_increase_pct, 0.5);
  EXPECT_EQ(strict.probe_drop_abs, 1);
  const Tolerances lenient = *tolerance_preset("lenient");
  EXPECT_EQ(lenient.memory_increase_pct, 20);
  EXPECT_EQ(lenient.probe_drop_abs, 5);
  EXPECT_THAT(tolerance_preset("soft").error().message, HasSubstr("strict or lenient"));
  for (const ToleranceField& field : tolerance_fields()) {
    Tolerances one;
    one.*field.value = 0;
    EXPECT_EQ(check(one).has_value(), field.zero_allowed) << field.name;
    for (const double bad : {-1.0, kNaN, HUGE_VAL}) {
      one.*field.value = bad;
      EXPECT_FALSE(check(one)) << field.name << ' ' << bad;
    }
  }
  Tolerances p90;
  p90.step_time_p90_increase_pct = 0;
  EXPECT_FALSE(check(p90));
}

TEST(Tolerances, EveryOneMovesItsLimit) {
  RunFiles current = run_of(metrics_of(9'400, 0.106, 1.11e9), eval_of(12.252, 0.89));
  current.metrics->loss.slope.value = 0.002;
  Tolerances wide = *tolerance_preset("lenient");
  wide.loss_slope_threshold = 0.01;
  EXPECT_EQ(compare_with_baseline(current, run_of(), {}).summary, "FAIL (5 failures, 1 warning)");
  EXPECT_EQ(compare_with_baseline(current, run_of(), wide).status, GateStatus::pass);
}

}  // namespace
}  // namespace sluice::gate::baseline_compare_test
