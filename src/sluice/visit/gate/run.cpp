// sluice/visit/gate/run.cpp - the life of `sluice gate`, top to bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/gate/run.h"

#include "sluice/core/file.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/log.h"
#include "sluice/core/text.h"
#include "sluice/core/user_folders.h"
#include "sluice/core/utc.h"
#include "sluice/gate/baseline/pairs.h"
#include "sluice/gate/baseline/proof.h"
#include "sluice/measure/interrupt.h"
#include "sluice/report/gate/exports.h"
#include "sluice/report/gate/text.h"
#include "sluice/report/report.h"
#include "sluice/visit/gate/pairs.h"
#include "sluice/visit/gate/repository.h"
#include "sluice/visit/training/profile.h"
#include "sluice/visit/training/result.h"
#include "sluice/visit/visit.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unistd.h>
#include <vector>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;

class GateVisit {
 public:
  GateVisit(const Caller& caller, const GatePlan& plan) : caller_(caller), plan_(plan) {}

  Result<GateOutcome> run() {
    baseline_dir_ = plan_.baseline_dir;
    if (plan_.modes.compare && !plan_.baseline_ref.empty()) SLUICE_CHECK(take_base_baselines());
    if (!plan_.modes.measures()) return compare_stored();
    backend::VisitOptions visit =
        plan_.watch ? watch_visit(*plan_.watch) : training_visit(plan_.training);
    visit.argv = caller_.argv;
    SLUICE_TRY(profile_, backend::profile_of_visit(visit));
    if (plan_.modes.compare) {  // a baseline that cannot be read is no reason to measure first
      SLUICE_TRY(stored_, gate::baselines_of(baseline_dir_, profile_));
    }
    SLUICE_CHECK(eval::check_config(plan_.eval));
    SLUICE_TRY(const results::RunFolder folder, open_run_folder(caller_, "gate", profile_));
    out_.folder = folder.path();
    SLUICE_TRY(const results::ResultFile visited, backend::begin_visit(visit));
    environment_ = visited.environment;
    SLUICE_CHECK(folder.write_environment(environment_));
    if (plan_.modes.bench) SLUICE_CHECK(bench(folder));
    SLUICE_CHECK(create_folders(place("logs")));
    if (plan_.modes.eval) SLUICE_CHECK(evaluate());
    if (plan_.modes.profile) {
      SLUICE_TRY(ProfilePass pass, profile_pass(plan_.training, out_.folder));
      traces_ = std::move(pass.files);
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

  /// Our step, or that of the user's program.
  Result<Visited> measure(const results::RunFolder& folder) {
    if (!plan_.watch) {
      TrainingPlan plan = measured_plan();
      if (expects_pairs()) plan.policy.max_runs = plan.policy.runs;  // more would decide nothing
      return run_training(caller_, plan, &folder);
    }
    SLUICE_TRY(WatchResult watched, run_watch(caller_, *plan_.watch, &folder));
    if (!watched.interrupted) SLUICE_CHECK(watch_failure(watched, *plan_.watch));
    profile_ = watched.file.machine_profile;  // with what the program computes with
    return Visited(std::move(watched));
  }

  Status bench(const results::RunFolder& folder) {
    SLUICE_TRY(Visited result, measure(folder));
    if (result.interrupted)
      return Error{Errc::interrupted, fmt::format("interrupted; what was measured is in {}",
                                                  printable(out_.folder.string()))};
    out_.failed_rows = results::has_failed_row(result.file);
    out_.metrics = result.file.training;
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

  /// A change may not bring the numbers it is judged by.
  Status take_base_baselines() {
    const measure::Interrupt interrupt;
    base_.emplace(fs::temp_directory_path() / fmt::format("sluice-baselines-{}", ::getpid()));
    SLUICE_TRY(const FolderAtRevision found,
               folder_at(plan_.baseline_ref, plan_.baseline_dir, base_->path(), "--baseline-ref",
                         interrupt.fd()));
    baseline_dir_ = found.path;
    for (const std::string& file : found.changed)
      log::warn("{}: differs from {}, whose baselines count", printable(file),
                printable(plan_.baseline_ref));
    return ok;
  }

  Status find_baseline(const gate::RunFiles& run) {
    SLUICE_TRY(baseline_, gate::baseline_for(baseline_dir_, run));
    if (base_)  // the copy goes; what it is of, stays
      baseline_.files.name = fmt::format(
          "{}:{}", plan_.baseline_ref, fs::relative(baseline_.files.name, base_->path()).string());
    return ok;
  }

  /// Asks for the verdict, and fetches what it still wants, until it wants nothing more.
  Status compare() {
    SLUICE_CHECK(find_baseline({out_.folder.string(), out_.metrics, out_.eval}));
    const std::string no_pairs = why_no_pairs();
    if (!no_pairs.empty()) log::info("no pairs: {}", no_pairs);
    gate::GatePolicy policy = policy_of({plan_.modes.bench, plan_.modes.eval});
    policy.may_pair = no_pairs.empty();
    policy.may_confirm = plan_.confirm;
    gate::Evidence evidence{{out_.folder.string(), out_.metrics, out_.eval}, baseline_};
    for (;;) {
      gate::Decision decision = gate::decide(evidence, policy);
      out_.report = stamped(std::move(decision.report));
      switch (decision.wanted) {
        case gate::WantedEvidence::nothing:
          return ok;
        case gate::WantedEvidence::pairs: {
          SLUICE_TRY(policy.may_pair, run_pairs());
          break;
        }
        case gate::WantedEvidence::second_run:
          SLUICE_CHECK(measure_again());
          policy.may_confirm = false;
          break;
      }
      evidence.current.metrics = out_.metrics;
    }
  }

  /// The program that measured a baseline, where it is kept here and can run beside this one.
  [[nodiscard]] Result<RunnableProgram> program_beside(const gate::RunFiles& baseline) const {
    const auto none = [](const char* why) { return Error{Errc::unsupported, why}; };
    const std::string program = gate::program_of(baseline);
    if (!plan_.pairs || !plan_.modes.bench) return none("not asked for");
    if (plan_.watch) return none("a watched program is paired with another revision by --against");
    if (program.empty()) return none("the baseline does not say which program measured it");
    if (!pairable(plan_.training))
      return none("they are for one row of our engine without a loader");
    SLUICE_TRY(const fs::path cache, user_cache_folder());
    return find_program(program, cache);
  }

  /// Empty: pairs with the baseline can be taken.
  [[nodiscard]] std::string why_no_pairs() {
    auto kept = program_beside(baseline_.files);
    if (!kept) return kept.error().message;
    kept_ = std::move(*kept);
    return "";
  }

  /// Before the run, which says whose baseline counts: one of this machine can be paired with.
  [[nodiscard]] bool expects_pairs() const {
    return std::ranges::any_of(
        stored_, [this](const gate::RunFiles& one) { return program_beside(one).has_value(); });
  }

  /// False: they could not be taken, and the log says why. Every sample is in pairs.json.
  Result<bool> run_pairs() {
    const PairsAsked asked{plan_.tolerances.step_time_increase_pct,
                           out_.metrics->timing.p50.value.value_or(0)};
    auto taken = pair_with_baseline(caller_, measured_plan(), kept_, asked, place("logs"));
    if (!taken && taken.error().code == Errc::measurement) {
      log::warn("no pairs: {}", taken.error().message);
      return false;
    }
    if (!taken) return taken.error();
    results::ResultFile file = *out_.file;
    file.rows = std::move(taken->rows);
    file.canary.clear();
    file.training.reset();
    file.training_summary.reset();
    file.peer_ratios.clear();
    SLUICE_CHECK(results::write(place("pairs.json"), file));
    taken->report["program"] = gate::program_of(baseline_.files);
    out_.metrics->pairs = std::move(taken->report);
    SLUICE_CHECK(write_metrics(out_.folder, *out_.metrics));
    return true;
  }

  [[nodiscard]] gate::GatePolicy policy_of(gate::CompareScope scope) const {
    return {
        .rule = plan_.rule, .tolerances = plan_.tolerances, .fence = plan_.fence, .scope = scope};
  }

  [[nodiscard]] gate::GateReport stamped(gate::GateReport report) const {
    report.timestamp = utc_now();
    report.reproduce = report::shell_command(caller_.argv);
    return report;
  }

  Status measure_again() {
    log::info("slower than the baseline: measuring once more before that counts");
    SLUICE_TRY(const results::RunFolder folder,
               results::RunFolder::open({.out = place("confirm")}));
    SLUICE_TRY(Visited again, measure(folder));
    if (again.interrupted) return Error{Errc::interrupted, "interrupted"};
    if (!again.file.training) return ok;
    out_.metrics = gate::confirmed(*out_.metrics, *again.file.training);
    if (out_.metrics->confirmation->kept == "second") out_.file = std::move(again.file);
    return write_metrics(out_.folder, *out_.metrics);
  }

  /// `--compare` alone: files that are there already; this machine plays no part.
  Result<GateOutcome> compare_stored() {
    SLUICE_TRY(const gate::RunFiles current, gate::read_run_files(plan_.current));
    SLUICE_TRY(const bool proven, gate::metrics_are_proven(plan_.current, current));
    if (current.metrics && !proven)
      log::warn("{}: no result files beside metrics.json; its figures are taken as they stand",
                shown(plan_.current));
    profile_ = current.machine_profile();
    if (!profile_.empty()) {
      SLUICE_CHECK(find_baseline(current));
    }
    out_.metrics = current.metrics;
    out_.eval = current.eval;
    gate::CompareScope scope;
    scope.eval = current.eval.has_value() || baseline_.files.eval.has_value();
    out_.report = stamped(gate::decide({current, baseline_}, policy_of(scope)).report);
    if (!caller_.out.empty()) {
      SLUICE_CHECK(create_folders(caller_.out));
      out_.folder = caller_.out;
    }
    SLUICE_CHECK(conclude());
    return std::move(out_);
  }

  static Json number(const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
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
    const results::TrainingMetrics found = out_.metrics.value_or(results::TrainingMetrics{});
    bench["tokens_per_sec_p50"] = number(found.throughput.tokens_p50.value);
    bench["step_time_p50"] = number(found.timing.p50.value);
    bench["mfu_p50"] = number(found.mfu.p50.value);
    bench["mfu_estimator"] =
        found.mfu.estimator.empty() ? Json(nullptr) : Json(found.mfu.estimator);
    bench["peak_allocated_gb"] = number(found.memory.peak_allocated_gb.value);
    Json eval = part(modes.eval, out_.eval.has_value(), "eval.json");
    eval["ppl_fixed_shard"] = at(out_.eval.value_or(Json()), "ppl_fixed_shard");
    eval["task_probe_accuracy"] = at(out_.eval.value_or(Json()), "task_probe_accuracy");
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
      verdict["gate_rule"] = plan_.rule == gate::GateRule::seed ? "seed" : "pairs";
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
  fs::path baseline_dir_;
  std::optional<FolderGuard> base_;     // copies of the baselines of --baseline-ref
  std::vector<gate::RunFiles> stored_;  // baselines of this machine, before the run
  gate::Baseline baseline_;
  RunnableProgram kept_;  // of the baseline, if it can be paired with
  Json environment_, traces_;
  GateOutcome out_;
};

}  // namespace

Result<GateOutcome> run_gate(const Caller& caller, const GatePlan& plan) {
  return GateVisit(caller, plan).run();
}

}  // namespace sluice::visit
