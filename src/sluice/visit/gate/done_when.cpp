// sluice/visit/gate/done_when.cpp - the three done-when gates, on a model of milliseconds.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/gate/done_when.h"

#include "sluice/analysis/training_metrics.h"
#include "sluice/core/file.h"
#include "sluice/eval/eval.h"
#include "sluice/gate/decide.h"
#include "sluice/measure/interrupt.h"
#include "sluice/results/eval_file.h"
#include "sluice/train/profile/schedule.h"
#include "sluice/visit/training/result.h"
#include "sluice/visit/training/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;
using gate::GateStatus;

constexpr const char* kBench = "bench";  // folder of the first run; others have a number

class DoneWhen {
 public:
  DoneWhen(const Caller& caller, TrainingPlan plan, fs::path folder)
      : caller_(caller), folder_(std::move(folder)), plan_(std::move(plan)) {}

  Result<std::vector<DoneWhenGate>> run() {
    SLUICE_CHECK(create_folders(folder_));
    SLUICE_CHECK(files());
    SLUICE_CHECK(repeats());
    traces();
    comparisons();
    return std::move(gates_);
  }

 private:
  void begin(const char* name) { gates_.push_back({name, {}}); }
  void check(std::string text, bool passed, std::string reason = "") {
    gates_.back().checks.push_back({std::move(text), passed, passed ? "" : std::move(reason)});
  }
  /// A step that went wrong is a failed check, an interruption ends everything.
  template <class T>
  Status done(const Result<T>& result, const std::string& text) {
    if (!result && result.error().code == Errc::interrupted) return result.error();
    check(text, result.has_value(), result ? "" : result.error().message);
    return ok;
  }

  /// The files that a run of the benchmark leaves in `folder_ / name`.
  Result<gate::RunFiles> bench(const std::string& name, const TrainingPlan& plan) {
    SLUICE_TRY(const results::RunFolder folder, results::RunFolder::open({.out = folder_ / name}));
    SLUICE_TRY(const Visited measured, run_training(caller_, plan, &folder));
    if (measured.interrupted) return Error{Errc::interrupted, "interrupted"};
    return gate::read_run_files(folder.path());
  }

  Status files() {
    begin("Gate 1: bench and eval leave sound files, and the same figures again");
    const auto left = bench(kBench, plan_);
    SLUICE_CHECK(done(left, "the benchmark runs"));
    if (left) metrics_ = left->metrics;
    check("metrics.json is there", metrics_.has_value(), "the benchmark wrote none");
    if (metrics_) {
      check_problems("metrics.json",
                     analysis::training_metrics_problems(results::to_json(*metrics_)));
      const gate::Visit visit = gate::visit_of(*left);
      for (const char* figure : {"tokens_per_sec_p50", "step_time_p50_s"}) {
        const auto at = visit.figures.find(figure);
        check(fmt::format("{} is above 0", figure), at != visit.figures.end() && at->second > 0,
              "it is not");
      }
    }
    const measure::Interrupt interrupt;
    eval::EvalConfig config;
    config.cancel_fd = interrupt.fd();
    const auto evaluated = eval::run_eval(config, *caller_.progress);
    SLUICE_CHECK(done(evaluated, "the evaluation runs"));
    if (evaluated) {
      eval_ = eval::eval_json(*evaluated,
                              {"test_validation_profile", metrics_ ? metrics_->env : Json::object(),
                               "2026-01-01T00:00:00Z"});
      check_problems("eval.json", results::eval_problems(eval_, results::Perplexity::or_reason));
    }
    return ok;
  }

  void check_problems(const std::string& file, const std::vector<std::string>& problems) {
    check(file + " has every key of its schema", problems.empty(),
          problems.empty() ? "" : problems.front());
  }

  /// A run keeps its fastest repetition; the fastest of several runs that two of them reach is no
  /// stroke of luck. A machine that others use may need more than two runs for it.
  Status repeats() {
    constexpr double kSpread = 0.03;
    constexpr std::size_t kMostRuns = 8;
    constexpr int kRepetitions = 5;
    if (!metrics_) return ok;  // said above
    std::vector<double> p50;
    double spread = 1;
    TrainingPlan plan = plan_;
    plan.profile = "off";
    plan.policy.runs = kRepetitions;
    while (p50.size() < kMostRuns && spread > kSpread) {
      const auto left = bench(fmt::format("{}-{}", kBench, p50.size() + 2), plan);
      if (!left || !left->metrics || !left->metrics->timing.p50.value)
        return done(left, "the benchmark runs again");
      p50.push_back(*left->metrics->timing.p50.value);
      std::vector<double> sorted = p50;
      std::ranges::sort(sorted);
      if (sorted.size() > 1) spread = sorted[1] / sorted[0] - 1;
    }
    std::string list;
    for (const double one : p50)
      list += fmt::format("{}{:.3f}", list.empty() ? "" : ", ", one * 1e3);
    check("step_time_p50_s of repeated runs is within 3 %", spread <= kSpread,
          fmt::format("{} ms: the two fastest of {} runs differ by {:.1f} %", list, p50.size(),
                      100 * spread));
    return ok;
  }

  /// What `bench training --profile trace` left beside the measurement of gate 1.
  void traces() {
    begin("Gate 2: --profile trace leaves what Chrome, Perfetto and TensorBoard open");
    const fs::path profile = folder_ / kBench / "profile";
    std::vector<fs::path> tensorboard;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(profile / "tb", none))
      tensorboard.push_back(entry.path());
    std::ranges::sort(tensorboard);
    const train::ProfileSchedule schedule;
    check("one trace for TensorBoard per cycle",
          tensorboard.size() == static_cast<std::size_t>(schedule.repeat),
          fmt::format("{} traces", tensorboard.size()));
    for (const fs::path& path : tensorboard)
      check_trace(path, "the trace for TensorBoard");
    check_trace(profile / "chrome" / "trace.json", "chrome/trace.json");
  }

  void check_trace(const fs::path& path, const std::string& name) {
    const auto text = read_text_file(path);
    const auto json = text ? parse_json(*text, path.string()) : Result<Json>(text.error());
    check(name + " is JSON", json.has_value(), json ? "" : json.error().message);
    if (!json) return;
    std::set<std::string> names;
    bool step = false;
    if (json->contains("traceEvents")) {
      for (const Json& event : (*json)["traceEvents"]) {
        names.insert(string_at(event, "name"));
        step = step || string_at(event, "name").starts_with("ProfilerStep#") ||
               string_at(event, "cat") == "step";
      }
    }
    check(name + " has steps", step, "no event is one");
    for (const char* region :
         {"data", "forward", "loss", "backward", "grad_sync", "optimizer_step"})
      check(fmt::format("{} has region {}", name, region), names.contains(region),
            "no event has that name");
  }

  /// The baseline with throughput, step time, perplexity and one probe changed.
  [[nodiscard]] gate::RunFiles changed(double tokens, double step, double ppl,
                                       double points) const {
    gate::RunFiles files{"candidate", metrics_, eval_};
    *files.metrics->throughput.tokens_p50.value *= tokens;
    *files.metrics->timing.p50.value *= step;
    Json& perplexity = (*files.eval)["ppl_fixed_shard"];
    perplexity = perplexity.get<double>() * ppl;
    Json& probe = (*files.eval)["task_probe_accuracy"].begin().value();
    probe = probe.get<double>() + points / 100;
    return files;
  }

  void comparisons() {
    begin("Gate 3: a comparison passes, fails and skips as it should");
    const bool possible = metrics_ && eval_.is_object();
    check("gate 1 left something to compare", possible, "see gate 1");
    if (!possible) return;
    metrics_->machine_profile = string_at(eval_, "machine_profile");
    // Both sides are the same run, changed: what the machine did meanwhile is no part of it.
    metrics_->noise.reset();
    metrics_->canary.reset();
    metrics_->timing.waited_share = {std::nullopt, "both sides are the same run"};
    const gate::RunFiles base{"baseline", metrics_, eval_};
    const auto expect = [&](const char* text, const gate::RunFiles& current,
                            const gate::RunFiles& baseline, GateStatus status) {
      const gate::GateReport report = gate::decide({current, {baseline, {}}}, {}).report;
      check(text, report.status == status, "it is " + report.summary);
    };
    expect("A: -3 % tokens/s, +3 % step time, +0.83 % perplexity, -1 point: PASS",
           changed(0.97, 1.03, 1.0083, -1), base, GateStatus::pass);
    expect("B: -8 % tokens/s: FAIL", changed(0.92, 1, 1, 0), base, GateStatus::fail);
    expect("C: +2.5 % perplexity: FAIL", changed(1, 1, 1.025, 0), base, GateStatus::fail);
    expect("D: no baseline: SKIP", base, {"none", std::nullopt, std::nullopt}, GateStatus::skip);
  }

  const Caller& caller_;
  fs::path folder_;
  TrainingPlan plan_;
  std::optional<results::TrainingMetrics> metrics_;
  Json eval_;
  std::vector<DoneWhenGate> gates_;
};

const char* word(bool passed) {
  return passed ? "PASS" : "FAIL";
}

}  // namespace

bool DoneWhenGate::passed() const {
  return std::ranges::all_of(checks, &DoneWhenCheck::passed);
}

bool all_passed(const std::vector<DoneWhenGate>& gates) {
  return std::ranges::all_of(gates, &DoneWhenGate::passed);
}

Result<std::vector<DoneWhenGate>> run_done_when(const Caller& caller, const TrainingPlan& plan,
                                                const fs::path& folder) {
  return DoneWhen(caller, plan, folder).run();
}

std::string done_when_text(const std::vector<DoneWhenGate>& gates) {
  std::string text;
  for (const DoneWhenGate& gate : gates) {
    text += fmt::format("{}: {}\n", gate.name, word(gate.passed()));
    for (const DoneWhenCheck& check : gate.checks)
      if (!check.passed) text += fmt::format("  {}: {}\n", check.text, check.reason);
  }
  return text + fmt::format("OVERALL: {}\n", word(all_passed(gates)));
}

Json to_json(const std::vector<DoneWhenGate>& gates) {
  Json list = Json::array();
  for (const DoneWhenGate& gate : gates) {
    Json checks = Json::array();
    for (const DoneWhenCheck& check : gate.checks) {
      Json one{{"check", check.text}, {"passed", check.passed}};
      if (!check.passed) one["reason"] = check.reason;
      checks.push_back(std::move(one));
    }
    list.push_back(
        Json{{"gate", gate.name}, {"passed", gate.passed()}, {"checks", std::move(checks)}});
  }
  return Json{{"gates", std::move(list)}, {"passed", all_passed(gates)}};
}

}  // namespace sluice::visit
