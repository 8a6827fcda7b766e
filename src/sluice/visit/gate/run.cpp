// sluice/visit/gate/run.cpp - the life of `sluice gate`, top to bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/gate/run.h"

#include "sluice/core/file.h"
#include "sluice/core/log.h"
#include "sluice/core/text.h"
#include "sluice/core/user_folders.h"
#include "sluice/gate/baseline_pairs.h"
#include "sluice/gate/fence.h"
#include "sluice/gate/machine_cause.h"
#include "sluice/gate/usual_step.h"
#include "sluice/measure/interrupt.h"
#include "sluice/report/gate_exports.h"
#include "sluice/report/gate_text.h"
#include "sluice/visit/gate/pairs.h"
#include "sluice/visit/training/profile.h"
#include "sluice/visit/training/result.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

Json figure(const std::optional<Json>& file, const char* pointer) {
  const Json::json_pointer path(pointer);
  return file && file->contains(path) ? file->at(path) : Json(nullptr);
}

class GateVisit {
 public:
  GateVisit(const Caller& caller, const GatePlan& plan) : caller_(caller), plan_(plan) {}

  Result<GateOutcome> run() {
    if (!plan_.modes.measures()) return compare_stored();
    const backend::VisitOptions visit = training_visit(plan_.training, caller_.argv);
    SLUICE_TRY(profile_, backend::profile_of_visit(visit));
    if (plan_.modes.compare) {  // a baseline that cannot be read is no reason to measure first
      SLUICE_TRY(baseline_, gate::read_baseline(plan_.baseline_dir, profile_));
    }
    SLUICE_CHECK(eval::check_config(plan_.eval));
    results::RunFolder::Options where;
    where.out = caller_.out;
    where.name = "gate";
    where.profile = profile_;
    SLUICE_TRY(const results::RunFolder folder, results::RunFolder::open(where));
    out_.folder = folder.path();
    SLUICE_TRY(const results::ResultFile visited, backend::begin_visit(visit));
    environment_ = visited.environment;
    SLUICE_CHECK(folder.write_environment(environment_));
    if (plan_.modes.bench) SLUICE_CHECK(bench(folder));
    SLUICE_CHECK(create_folders(place("logs")));
    if (plan_.modes.eval) SLUICE_CHECK(evaluate());
    if (plan_.modes.profile) {
      SLUICE_TRY(traces_, profile_pass(plan_.training, out_.folder));
    }
    if (plan_.modes.compare) SLUICE_CHECK(compare());
    SLUICE_CHECK(conclude());
    return std::move(out_);
  }

 private:
  [[nodiscard]] fs::path place(const char* name) const { return out_.folder / name; }

  TrainingPlan measured_plan() const {
    TrainingPlan plan = plan_.training;
    plan.profile = "off";  // never in the same run as gated numbers
    return plan;
  }

  Status bench(const results::RunFolder& folder) {
    SLUICE_TRY(TrainingResult result, run_training(caller_, measured_plan(), &folder));
    if (result.interrupted)
      return Error{Errc::interrupted, fmt::format("interrupted; what was measured is in {}",
                                                  printable(out_.folder.string()))};
    out_.failed_rows = results::has_failed_row(result.file);
    if (const auto metrics = result.file.extra.find("metrics"); metrics != result.file.extra.end())
      out_.metrics = *metrics;
    out_.file = std::move(result.file);
    return ok;
  }

  Status evaluate() {
    const measure::Interrupt interrupt;
    eval::EvalConfig config = plan_.eval;
    config.cancel_fd = interrupt.fd();
    if (!config.worker.empty()) config.worker_log = place("logs") / "eval-worker.log";
    SLUICE_TRY(const eval::EvalResult result, eval::run_eval(config, *caller_.progress));
    out_.eval = eval::eval_json(result, {profile_, metrics_env_json(environment_), utc_now()});
    return write_file_atomic(place("eval.json"), dump_json(*out_.eval) + "\n");
  }

  Status compare() {
    gate::RunFiles current{out_.folder.string(), out_.metrics, out_.eval};
    const gate::CompareScope scope{plan_.modes.bench, plan_.modes.eval};
    out_.report = compare_files(current, scope);
    if (!plan_.modes.bench) return ok;
    SLUICE_TRY(const bool paired, run_pairs());
    if (!paired && !(plan_.confirm && slow())) return ok;
    if (!paired) SLUICE_CHECK(measure_again());
    current.metrics = out_.metrics;
    out_.report = compare_files(current, scope);
    return ok;
  }

  /// False: there is nothing to pair with, and the log says why.
  Result<bool> run_pairs() {
    const std::string program = gate::program_of(baseline_.files);
    if (!plan_.pairs || program.empty() || !out_.metrics || !pairable(plan_.training) ||
        out_.report->status == gate::GateStatus::skip)
      return false;
    SLUICE_TRY(const fs::path cache, user_cache_folder());
    const auto kept = find_program(program, cache);
    if (!kept) {
      log::info("no pairs: {}", kept.error().message);
      return false;
    }
    auto pairs = pair_with_baseline(caller_, measured_plan(), *kept,
                                    plan_.tolerances.step_time_increase_pct, place("logs"));
    if (!pairs && pairs.error().code == Errc::measurement) {
      log::warn("no pairs: {}", pairs.error().message);
      return false;
    }
    if (!pairs) return pairs.error();
    (*pairs)["program"] = program;
    (*out_.metrics)["pairs"] = std::move(*pairs);
    SLUICE_CHECK(write_metrics());
    return true;
  }

  Status write_metrics() const {
    return write_file_atomic(place("metrics.json"), dump_json(*out_.metrics) + "\n");
  }

  /// From files alone, so that a run is judged later as it was at once.
  gate::GateReport compare_files(const gate::RunFiles& current, gate::CompareScope scope) const {
    gate::GateReport report =
        gate::compare_with_baseline(current, baseline_.files, plan_.tolerances, scope);
    report.timestamp = utc_now();
    if (!scope.bench || !current.metrics) return report;
    add_fence(report, current);
    gate::add_usual_step(report, current, baseline_.files, plan_.tolerances.step_time_increase_pct);
    const bool slower = gate::add_baseline_pairs(report, current, baseline_.files);
    gate::MachineFacts facts = gate::machine_facts(current, baseline_.files);
    add_noise(report, facts.noise);
    if (slower) facts = {};  // the machine slowed both programs
    const gate::Tolerances& t = plan_.tolerances;
    gate::excuse(report,
                 {{"tokens_per_sec_p50", t.throughput_drop_pct},
                  {"step_time_p50_s", t.step_time_increase_pct},
                  {gate::kUsualStep, t.step_time_increase_pct},
                  {"step_time_p90_s", t.step_time_p90_increase_pct.value_or(0)}},
                 facts);
    return report;
  }

  /// One line more: what all stored visits say together. Only of the throughput: the step time is
  /// the same thing upside down, and two lines would cry wolf twice.
  void add_fence(gate::GateReport& report, const gate::RunFiles& current) const {
    if (plan_.fence == FenceMode::off || report.status == gate::GateStatus::skip) return;
    gate::GateLine line =
        gate::fence_line(baseline_.history, gate::visit_of(current), "tokens_per_sec_p50", -1);
    line.unit = "tokens/s";
    line.blocking = plan_.fence == FenceMode::fail;
    if (!line.blocking && line.status == gate::GateStatus::fail)
      line.status = gate::GateStatus::warn;
    report.lines.push_back(std::move(line));
    report.status = overall(report.lines);
    report.summary = summary_of(report);
  }

  /// A noisy machine is said beside whatever verdict comes of it.
  static void add_noise(gate::GateReport& report, const Json& noise) {
    if (!gate::is_noisy(noise)) return;
    gate::GateLine line;
    line.metric = "machine";
    line.reason = "noisy after the measurement (" + gate::noise_text(noise) +
                  "): numbers may be worse than the code";
    report.lines.push_back(std::move(line));
  }

  [[nodiscard]] bool slow() const {
    for (const gate::GateLine& line : out_.report->lines) {
      const bool speed = line.metric == "tokens_per_sec_p50" ||
                         line.metric.starts_with("step_time_") || line.metric.starts_with("fence/");
      const bool bad =
          line.status == gate::GateStatus::fail || line.status == gate::GateStatus::invalid;
      if (speed && bad && line.delta) return true;
    }
    return false;
  }

  /// A slow run fails only when a second one, in processes of its own, is slow too: the faster of
  /// the two counts.
  Status measure_again() {
    log::info("slower than the baseline: measuring once more before that counts");
    results::RunFolder::Options where;
    where.out = place("confirm");
    SLUICE_TRY(const results::RunFolder folder, results::RunFolder::open(where));
    SLUICE_TRY(TrainingResult again, run_training(caller_, measured_plan(), &folder));
    if (again.interrupted) return Error{Errc::interrupted, "interrupted"};
    const auto found = again.file.extra.find("metrics");
    if (found == again.file.extra.end()) return ok;
    const Json first = figure(out_.metrics, "/timing/step_time_p50_s");
    const Json second = figure(*found, "/timing/step_time_p50_s");
    Json chosen = second < first ? *found : *out_.metrics;
    Json medians = figure(out_.metrics, "/timing/run_p50_s");
    for (const Json& median : figure(*found, "/timing/run_p50_s"))
      medians.push_back(median);
    chosen["confirmation"] = Json{{"step_time_p50_s", Json::array({first, second})},
                                  {"run_p50_s", std::move(medians)},
                                  {"kept", second < first ? "second" : "first"}};
    if (second < first) out_.file = std::move(again.file);
    out_.metrics = std::move(chosen);
    return write_metrics();
  }

  /// `--compare` alone: files that are there already; this machine plays no part.
  Result<GateOutcome> compare_stored() {
    SLUICE_TRY(const gate::RunFiles current, gate::read_run_files(plan_.current));
    profile_ = current.machine_profile();
    if (!profile_.empty()) {
      SLUICE_TRY(baseline_, gate::read_baseline(plan_.baseline_dir, profile_));
    }
    out_.metrics = current.metrics;
    out_.eval = current.eval;
    gate::CompareScope scope;
    scope.eval = current.eval.has_value() || baseline_.files.eval.has_value();
    out_.report = compare_files(current, scope);
    if (!caller_.out.empty()) {
      SLUICE_CHECK(create_folders(caller_.out));
      out_.folder = caller_.out;
    }
    SLUICE_CHECK(conclude());
    return std::move(out_);
  }

  Json part(bool asked, bool done, const char* file) const {
    Json json{{"status", !asked ? "skipped" : done ? "ok" : "failed"}};
    if (asked && done) json["path"] = place(file).string();
    return json;
  }

  Json compare_json() const {
    Json json = part(plan_.modes.compare, out_.report.has_value(), "gate_report.txt");
    if (!out_.report) return json;
    Json failed = Json::array();
    Json warned = Json::array();
    for (const gate::GateLine& line : out_.report->lines) {
      if (line.status == gate::GateStatus::fail) failed.push_back(line.metric);
      if (line.status == gate::GateStatus::warn) warned.push_back(line.metric);
    }
    json["status"] = to_string(out_.report->status);
    json["report"] = out_.report->summary;
    json["failed_checks"] = std::move(failed);
    json["warned_checks"] = std::move(warned);
    return json;
  }

  /// run_summary.json.
  Json summary() const {
    const GateModes& modes = plan_.modes;
    Json run = Json::array();
    const std::pair<const char*, bool> names[] = {{"env", modes.measures()},
                                                  {"bench", modes.bench},
                                                  {"eval", modes.eval},
                                                  {"profile", modes.profile},
                                                  {"compare", modes.compare}};
    for (const auto& [name, on] : names)
      if (on) run.push_back(name);
    Json bench = part(modes.bench, out_.metrics.has_value(), "metrics.json");
    bench["tokens_per_sec_p50"] = figure(out_.metrics, "/throughput/tokens_per_sec_p50");
    bench["step_time_p50"] = figure(out_.metrics, "/timing/step_time_p50_s");
    bench["mfu_p50"] = figure(out_.metrics, "/mfu/mfu_p50");
    bench["peak_allocated_gb"] = figure(out_.metrics, "/memory/peak_allocated_gb");
    Json eval = part(modes.eval, out_.eval.has_value(), "eval.json");
    eval["ppl_fixed_shard"] = figure(out_.eval, "/ppl_fixed_shard");
    eval["task_probe_accuracy"] = figure(out_.eval, "/task_probe_accuracy");
    Json profile{{"status", modes.profile ? "ok" : "skipped_profile_off"}};
    if (modes.profile) profile["files"] = traces_;
    const bool passed = out_.report && out_.report->status != gate::GateStatus::fail &&
                        out_.report->status != gate::GateStatus::invalid && !out_.failed_rows;
    return Json{{"machine_profile", profile_},
                {"out_dir", out_.folder.string()},
                {"modes_run", std::move(run)},
                {"gate_passed", out_.report ? Json(passed) : Json(nullptr)},
                {"env", part(modes.measures(), modes.measures(), "env.json")},
                {"bench", std::move(bench)},
                {"eval", std::move(eval)},
                {"profile", std::move(profile)},
                {"compare", compare_json()},
                {"scaling", Json{{"status", "no_single_gpu_baseline_for_scaling"},
                                 {"world_size", 1},
                                 {"efficiency", nullptr}}}};
  }

  Status conclude() {
    out_.summary = summary();
    if (out_.folder.empty()) return ok;
    if (out_.report) {
      Json verdict = gate::to_json(*out_.report);
      verdict["tolerances"] = gate::to_json(plan_.tolerances);
      SLUICE_CHECK(write_file_atomic(place("verdict.json"), dump_json(verdict) + "\n"));
      SLUICE_CHECK(write_file_atomic(place("gate_report.txt"), report::gate_text(*out_.report)));
      SLUICE_CHECK(report::write_gate_exports(*out_.report, out_.folder));
    }
    return write_file_atomic(place("run_summary.json"), dump_json(out_.summary) + "\n");
  }

  const Caller& caller_;
  const GatePlan& plan_;
  std::string profile_;
  gate::Baseline baseline_;
  Json environment_, traces_;
  GateOutcome out_;
};

}  // namespace

Result<GateOutcome> run_gate(const Caller& caller, const GatePlan& plan) {
  return GateVisit(caller, plan).run();
}

}  // namespace sluice::visit
