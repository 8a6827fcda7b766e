// sluice/cli/bench/dataloader.cpp - `sluice bench dataloader`: from files or a bucket to batches,
// how fast, what limits it, and beside whom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/loader_metrics.h"
#include "sluice/cli/commands.h"
#include "sluice/cli/flags/loader.h"
#include "sluice/cli/flags/sampling.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/print.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/report/loader_text.h"
#include "sluice/visit/loader/rows.h"
#include "sluice/visit/loader/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <random>

namespace sluice::cli {
namespace {

constexpr int kLoaderRuns = 3, kThoroughLoaderRuns = 5, kThoroughLoaderSamples = 2;

struct DataloaderFlags {
  LoaderFlags loader;
  std::string libraries = "sluice";
  std::vector<std::string> sweeps;
  double step_ms = 0;
  std::filesystem::path trace;
  bool explain = false;
  bool skip_errors = false;
  int runs = kLoaderRuns;
  bool thorough = false;
  int samples = 1;
  std::vector<std::string> targets;
  double sample_ms = 1000;
  double warmup_ms = 50;
  double timeout_s = 300;
};

Result<visit::DataloaderPlan> plan_of(const DataloaderFlags& flags, const Globals& globals) {
  visit::DataloaderPlan plan;
  SLUICE_TRY(plan.loader, loader_request(flags.loader, usable_cores()));
  plan.loader.clips = true;
  fit_batch(plan.loader, flags.loader);
  SLUICE_TRY(plan.libraries, parse_libraries(flags.libraries, "loader"));
  if (plan.loader.decode_scaled && plan.libraries.size() > 1)
    return Error{Errc::usage,
                 "--decode scaled: other libraries decode every pixel; compare with exact"};
  if (plan.loader.random_erasing > 0 && plan.libraries.size() > 1)
    return Error{Errc::usage,
                 fmt::format("--random-erasing {:g}: loaders of other libraries erase nothing; "
                             "compare without it",
                             plan.loader.random_erasing)};
  if (plan.loader.remote && plan.libraries.size() > 1)
    return Error{Errc::usage,
                 fmt::format("--libraries {}: other loaders read local folders only; {} is not one",
                             printable(flags.libraries), printable(plan.loader.input))};
  for (const std::string& text : flags.sweeps)
    SLUICE_CHECK(parse_sweep(plan.sweep, text));
  plan.step_ms = flags.step_ms;
  plan.trace = flags.trace;
  if (!flags.trace.empty()) {
    const auto folder = std::filesystem::absolute(flags.trace).parent_path();
    std::error_code problem;
    if (!std::filesystem::is_directory(folder, problem))
      return Error{Errc::usage,
                   fmt::format("--trace {}: there is no folder {}", printable(flags.trace.string()),
                               printable(folder.string()))};
  }
  plan.skip_errors = flags.skip_errors;
  plan.sample_s = flags.sample_ms / 1000;
  for (const std::string& text : flags.targets)
    if (const Status set = analysis::set_target(plan.targets, text); !set)
      return Error{Errc::usage, "--" + set.error().message};
  plan.all_set_ups = flags.thorough;
  plan.policy.runs = flags.thorough ? kThoroughLoaderRuns : flags.runs;
  plan.policy.samples_per_run =
      flags.thorough ? std::max(flags.samples, kThoroughLoaderSamples) : flags.samples;
  plan.policy.min_sample_ms = 0.001;  // samples are a number of batches, the same for all
  plan.policy.warmup_ms = flags.warmup_ms;
  plan.policy.slow_item_s = 0;
  plan.policy.step_timeout_s = flags.timeout_s;
  plan.policy.seed = globals.seed_given ? globals.seed : std::random_device{}();
  plan.policy.data_seed = globals.seed;
  return plan;
}

void explain(bool json) {
  Json list = Json::array();
  for (const analysis::LoaderMetric& metric : analysis::loader_metrics()) {
    if (json) {
      list.push_back(Json{{"key", metric.key()},
                          {"title", metric.title},
                          {"unit", metric.unit},
                          {"definition", metric.definition}});
    } else {
      print("{}{}{}\n    {}\n", metric.key(), *metric.unit != '\0' ? ", " : "", metric.unit,
            metric.definition);
    }
  }
  if (json) print("{}\n", dump_json(Json{{"definitions", std::move(list)}}));
}

Result<ExitCode> run_bench(Context& context, const DataloaderFlags& flags) {
  if (flags.explain) {
    explain(context.globals.json);
    return ExitCode::done;
  }
  SLUICE_TRY(const visit::DataloaderPlan plan, plan_of(flags, context.globals));
  OutputFiles files(context.globals);
  if (!plan.trace.empty()) SLUICE_CHECK(files.claim({plan.trace}, NamedBy::user));
  SLUICE_TRY(const visit::Visited result, visit::run_dataloader(context.globals, plan));
  if (!plan.trace.empty()) files.written(plan.trace);
  if (context.globals.json) {
    print("{}", results::to_text(results::to_json(result.file)));
  } else {
    print("{}report: {}\n", report::loader_text(result.file),
          (result.folder / "report.html").string());
    if (!plan.trace.empty()) print("trace: {} (ui.perfetto.dev opens it)\n", plan.trace.string());
  }
  if (result.interrupted)
    return Error{Errc::interrupted,
                 fmt::format("interrupted; what was measured is in {}", result.folder.string())};
  return exit_code_of(result.file);
}

void add_flags(CLI::App& command, DataloaderFlags& flags) {
  add_loader_flags(command, flags.loader);
  begin_group(command, "Measurement");
  add_value(command, "--libraries", flags.libraries, "NAME,NAME",
            "loaders to measure side by side, ours among them")
      ->capture_default_str();
  add_value(command, "--sweep", flags.sweeps, "NAME=N,N",
            "measure every combination: workers=0,1,2,4 and prefetch=1,2,4");
  command
      .add_option("--step-ms", flags.step_ms,
                  "emulate a consumer that needs this many milliseconds per batch")
      ->check(CLI::Range(0.001, 600'000.0));
  add_value(command, "--trace", flags.trace, "FILE",
            "file to write a trace of every worker's stages to, for Perfetto");
  command.add_flag("--explain", flags.explain, "print the definition of every metric and exit");
  command.add_flag("--skip-errors", flags.skip_errors,
                   "replace samples that cannot be decoded; they are counted and named");
  add_depth_flags(command, flags.runs, flags.thorough, kThoroughLoaderRuns,
                  " of 2 samples, more set-ups of other libraries");
  add_value(
      command, "--target", flags.targets, "NAME=N",
      "what to compare with instead of the usual targets: rate=5000 (samples/s), overhead=5%, "
      "gpu=80%, idle-vram=40%; none drops them all");
  add_samples_flag(command, flags.samples);
  add_number(command, "--sample-ms", flags.sample_ms, 1.0, 600'000.0,
             "length of a sample in milliseconds, without --num-batches");
  add_warmup_flag(command, flags.warmup_ms);
  add_timeout_flag(command, flags.timeout_s);
}

void add_dataloader(CLI::App& parent, Context& context, const std::string& name,
                    const std::string& description) {
  auto [command, flags] =
      add_command<DataloaderFlags>(parent, context, name, description, run_bench);
  add_flags(command, flags);
  add_force_flag(command, context.globals);
  show_first(command, {"--input", "--cache-dir", "--gpu", "--batch-size", "--num-workers",
                       "--prefetch", "--libraries", "--sweep", "--step-ms", "--trace", "--explain",
                       "--skip-errors", "--thorough"});
  add_examples(command,
               {"sluice bench dataloader --input photos --batch-size 64 --num-workers 2",
                "sluice bench dataloader --input s3://bucket/train --cache-dir cache --json",
                "sluice bench dataloader --input photos --sweep workers=0,1,2,4 --sweep "
                "prefetch=1,2,4",
                "sluice bench dataloader --input photos --step-ms 30      (is it the loader?)",
                "sluice bench dataloader --input photos --libraries sluice,torch-tensor,dali-cpu"});
}

}  // namespace

void add_bench_dataloader(CLI::App& bench, Context& context) {
  add_dataloader(bench, context, "dataloader",
                 "Measure a loader from files or a bucket to batches, beside other loaders");
}

void add_benchmark_dataloader(CLI::App& root, Context& context) {
  add_dataloader(root, context, "benchmark-dataloader", "The same as `bench dataloader`");
}

}  // namespace sluice::cli
