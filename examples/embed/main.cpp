// examples/embed/main.cpp - Sluice from C++: which machine is this, how fast are two ways to sort,
// is one slower; and whole visits: a loader, a gate against a stored baseline, an evaluation.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <sluice/core/rng.h>
#include <sluice/core/version.h>
#include <sluice/env/collect.h>
#include <sluice/env/profile.h>
#include <sluice/eval/eval.h>
#include <sluice/gate/baseline/promotion.h>
#include <sluice/gate/compare/compare.h>
#include <sluice/measure/runner.h>
#include <sluice/measure/worker/server.h>
#include <sluice/results/result_file.h>
#include <sluice/scenario/scenario.h>
#include <sluice/visit/gate/run.h>
#include <sluice/visit/loader/run.h>
#include <string>
#include <vector>

using sluice::Errc;
using sluice::Error;
using sluice::Result;
using sluice::Status;
namespace env = sluice::env;
namespace gate = sluice::gate;
namespace measure = sluice::measure;
namespace results = sluice::results;
namespace visit = sluice::visit;

namespace {

/// The code under test: sorts the same 20,000 numbers in every pass.
class Sort final : public measure::Subject {
 public:
  explicit Sort(bool stable) : stable_(stable), input_(20'000), output_(input_.size()) {
    sluice::Rng rng(sluice::RngKey{.seed = 1});
    for (std::uint32_t& value : input_)
      value = rng.next_u32();
  }
  // Results before times: a subject whose output is wrong is never timed.
  Result<std::string> check() override {
    run_pass();
    if (!std::is_sorted(output_.begin(), output_.end()))
      return Error{Errc::measurement, "the output is not sorted"};
    return fmt::format("{} numbers, smallest {}", output_.size(), output_.front());
  }
  void run_pass() override {
    std::copy(input_.begin(), input_.end(), output_.begin());
    if (stable_) {
      std::stable_sort(output_.begin(), output_.end());
    } else {
      std::sort(output_.begin(), output_.end());
    }
  }
  [[nodiscard]] std::int64_t items_per_pass() const override {
    return static_cast<std::int64_t>(input_.size());
  }
  [[nodiscard]] double bytes_per_item() const override { return sizeof(std::uint32_t); }

 private:
  bool stable_;
  std::vector<std::uint32_t> input_;
  std::vector<std::uint32_t> output_;
};

/// A subject is measured in processes of its own, started as `embed worker <how>`.
Status serve(const std::string& how) {
  measure::Catalogue catalogue;
  catalogue.library = "embed";
  catalogue.version = "1";
  catalogue.scenarios["sort"] =
      [how](const measure::SubjectContext&) -> Result<std::unique_ptr<measure::Subject>> {
    return std::unique_ptr<measure::Subject>(std::make_unique<Sort>(how == "stable"));
  };
  return measure::serve_on_environment(catalogue);
}

/// The rows of Sluice itself, as `sluice worker` serves them: a visit starts this program again.
Status serve_rows() {
  return measure::serve_on_environment(sluice::scenario::catalogue());
}

/// Three fresh processes with short samples: enough to show, too little to publish.
Result<results::ResultFile> measure_sort(const std::string& how) {
  measure::SubjectSpec subject;
  subject.case_name = "sort";
  subject.library = "embed";
  subject.command = {"/proc/self/exe", "worker", how};
  subject.unit = "numbers/s";

  measure::Policy policy;
  policy.runs = 3;
  policy.samples_per_run = 1;
  policy.min_sample_ms = 10;
  policy.warmup_ms = 5;
  policy.single_thread_cpu_limit = 2;  // samples this short are too coarse to prove one thread

  sluice::SystemClock clock;
  measure::ProcessLauncher launcher;
  measure::RunnerContext context;
  context.clock = &clock;
  context.launcher = &launcher;
  context.progress = &sluice::Progress::silent();
  context.session_id = how;
  SLUICE_TRY(measure::WaveResult wave, measure::run_wave({subject}, policy, context));

  SLUICE_TRY(const env::Environment environment, env::collect());
  results::ResultFile file;
  file.tool = {.version = sluice::version::kProgram, .git = sluice::version::git()};
  file.environment = env::to_json(environment);
  file.machine_profile = env::machine_profile(
      environment, {.framework = env::framework_sluice(results::kSchemaVersion)});
  file.run_config = measure::to_json(policy);
  file.session_id = how;
  file.rows = wave.rows;
  return file;
}

Status run() {
  SLUICE_TRY(const results::ResultFile base, measure_sort("stable"));
  SLUICE_TRY(const results::ResultFile candidate, measure_sort("plain"));
  SLUICE_TRY(const gate::Comparison comparison, gate::compare(base, candidate));
  fmt::print("machine {}\n", base.machine_profile);
  for (const gate::RowComparison& row : comparison.rows) {
    if (!row.ratio) return Error{Errc::measurement, row.reason};
    fmt::print("{} {}: candidate over baseline {:.2f} [{:.2f}, {:.2f}], {}\n", row.library,
               row.case_name, row.ratio->point, row.ratio->low, row.ratio->high,
               gate::to_string(row.verdict));
  }
  fmt::print("outcome {}\n", gate::to_string(comparison.outcome));
  return sluice::ok;
}

/// `embed gate RUN DIR OUT`: a run folder beside the stored baseline of its machine profile, pairs
/// and fence included. What `sluice gate --compare --current RUN --baseline-dir DIR --out OUT`
/// does.
Status judge(const std::string& run_folder, const std::string& baseline_dir,
             const std::string& out) {
  visit::Caller caller;
  caller.out = out;
  visit::GatePlan plan;
  plan.modes = {.env = false, .bench = false, .eval = false, .profile = false, .compare = true};
  plan.current = run_folder;
  plan.baseline_dir = baseline_dir;
  SLUICE_TRY(const visit::GateOutcome outcome, visit::run_gate(caller, plan));
  for (const gate::GateLine& line : outcome.report->lines)
    fmt::print("{} {}: {}\n", gate::to_string(line.status), line.metric, line.reason);
  fmt::print("gate {}\n", outcome.report->summary);
  return sluice::ok;
}

/// `embed loader DIR OUT`: how fast a folder of images becomes batches. What `sluice bench
/// dataloader --input DIR --out OUT --batch-size 8 --num-batches 4 --runs 2` does.
Status measure_loader(const std::string& input, const std::string& out) {
  visit::Caller caller;
  caller.out = out;
  caller.argv = {"embed", "loader", input, out};
  visit::DataloaderPlan plan;
  plan.loader.input = input;
  plan.loader.batch_size = 8;
  plan.loader.num_batches = 4;
  plan.policy.runs = 2;
  plan.policy.samples_per_run = 1;
  SLUICE_TRY(const visit::Visited result, visit::run_dataloader(caller, plan));
  for (const measure::Row& row : result.file.rows) {
    fmt::print("{} {}: {}\n", row.library, row.case_name,
               row.summary ? fmt::format("{:.0f} {}", row.summary->mean, row.unit) : row.reason);
  }
  return sluice::ok;
}

/// `embed promote RUN DIR`: makes it the baseline, as a maintainer may.
Status promote(const std::string& run_folder, const std::string& baseline_dir) {
  gate::Promotion promotion;
  promotion.run = run_folder;
  promotion.dir = baseline_dir;
  promotion.authority.maintainer = true;
  promotion.authority.reason = "promoted by a program";
  promotion.utc = "2026-01-31T12:00:00Z";
  SLUICE_TRY(const gate::Promoted done, gate::promote(promotion));
  fmt::print("promoted {}, visits {}\n", done.profile, done.visits);
  return sluice::ok;
}

/// `embed eval CHECKPOINT`: perplexity and probes of a GPT of ours.
Status evaluate(const std::string& checkpoint) {
  sluice::eval::EvalConfig config;
  config.checkpoint = checkpoint;
  SLUICE_TRY(const sluice::eval::EvalResult result, sluice::eval::run_eval(config));
  fmt::print("perplexity {:.4f}\n", result.ppl_fixed_shard.value_or(0));
  for (const sluice::eval::ProbeOutcome& probe : result.probes)
    fmt::print("{} {:.2f}\n", probe.name, probe.accuracy());
  return sluice::ok;
}

Status run_words(const std::vector<std::string>& words) {
  if (words.empty()) return run();
  if (words.size() == 2 && words[0] == "worker") return serve(words[1]);
  if (words.size() == 1 && words[0] == "worker") return serve_rows();
  if (words.size() == 4 && words[0] == "gate") return judge(words[1], words[2], words[3]);
  if (words.size() == 3 && words[0] == "loader") return measure_loader(words[1], words[2]);
  if (words.size() == 3 && words[0] == "promote") return promote(words[1], words[2]);
  if (words.size() == 2 && words[0] == "eval") return evaluate(words[1]);
  return Error{
      Errc::usage,
      "expected nothing, gate RUN DIR OUT, loader DIR OUT, promote RUN DIR or eval CHECKPOINT"};
}

}  // namespace

int main(int argc, char** argv) {
  const Status status = run_words({argv + 1, argv + argc});
  if (!status) fmt::print(stderr, "embed: {}\n", status.error().message);
  return status ? 0 : 1;
}
