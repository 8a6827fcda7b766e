// sluice/cli/tune.cpp - `sluice tune`: the loader settings to use here, with the evidence for them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/flags/loader.h"
#include "sluice/cli/flags/sampling.h"
#include "sluice/cli/print.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/report/tune_text.h"
#include "sluice/visit/tune/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>

namespace sluice::cli {
namespace {

constexpr int kMostWorkers = 64, kMostPrefetch = 64;
constexpr double kBudget_s = 18, kThoroughBudget_s = 120;
// PyTorch starts for seconds, and so does a GPU, for which there is more to try.
constexpr double kOtherBudget_s = 75, kThoroughOtherBudget_s = 300;

struct TuneFlags {
  LoaderFlags loader;
  std::string library = "sluice";
  std::optional<int> max_workers;
  int max_prefetch = 8;
  std::optional<double> budget_s;
  bool thorough = false;
  std::string worth = "2%";
  std::string max_cpu;
  double max_rss_gb = 0;
  double sample_ms = 700;
  double warmup_ms = 50;
  double timeout_s = 120;
};

/// With another library --num-workers and --prefetch are what is used now.
Status set_library(visit::TunePlan& plan, const TuneFlags& flags) {
  plan.library = loader_library(flags.library);
  if (plan.library == "sluice") return ok;
  visit::LoaderRequest& loader = plan.rows.loader;
  SLUICE_CHECK(check_other_loader(flags.loader, loader, flags.library));
  if (flags.max_rss_gb > 0)
    return Error{Errc::usage,
                 fmt::format("--max-rss-gb: is for --library sluice, not for {}", flags.library)};
  plan.present_workers = loader.workers_given ? loader.workers : 0;
  if (loader.workers == 0) loader.workers = static_cast<int>(plan.cores);
  return ok;
}

Result<visit::TunePlan> plan_of(const TuneFlags& flags, const Globals& globals) {
  visit::TunePlan plan;
  plan.cores = usable_cores();
  SLUICE_TRY(plan.rows.loader, loader_request(flags.loader, plan.cores));
  fit_batch(plan.rows.loader, flags.loader);
  SLUICE_CHECK(set_library(plan, flags));
  if (plan.rows.loader.bundling)
    return Error{Errc::usage,
                 "--enable-bundling: `tune` searches workers and prefetch; give it the bundles as "
                 "--input"};
  plan.max_workers = flags.max_workers.value_or(
      std::min(kMostWorkers, std::max(2, 2 * static_cast<int>(plan.cores))));
  if (plan.rows.loader.workers_given &&
      (plan.rows.loader.workers < 1 || plan.rows.loader.workers > plan.max_workers))
    return Error{Errc::usage,
                 fmt::format("--num-workers {}: the search starts there; expected 1 to {}, which "
                             "is --max-workers",
                             plan.rows.loader.workers, plan.max_workers)};
  plan.max_prefetch = flags.max_prefetch;
  const bool quick = plan.library == "sluice" && plan.rows.loader.gpu_index < 0;
  plan.budget_s =
      flags.budget_s.value_or(flags.thorough ? (quick ? kThoroughBudget_s : kThoroughOtherBudget_s)
                                             : (quick ? kBudget_s : kOtherBudget_s));
  SLUICE_TRY(plan.worth, parse_fraction(flags.worth, "--worth"));
  if (plan.worth <= 0 || plan.worth >= 1)
    return Error{Errc::usage,
                 fmt::format("--worth {}: expected above 0 and below 100 %", flags.worth)};
  if (!flags.max_cpu.empty()) {
    SLUICE_TRY(plan.max_cpu, parse_fraction(flags.max_cpu, "--max-cpu"));
    if (plan.max_cpu <= 0)
      return Error{Errc::usage, fmt::format("--max-cpu {}: expected above 0 %", flags.max_cpu)};
  }
  plan.max_rss_bytes = static_cast<std::int64_t>(flags.max_rss_gb * 1e9);
  measure::Policy& policy = plan.rows.policy;
  policy.samples_per_run = 1;
  policy.min_sample_ms = 0.001;  // samples are a number of batches
  plan.rows.sample_s = flags.sample_ms / 1000;
  policy.warmup_ms = flags.warmup_ms;
  policy.slow_item_s = 0;
  policy.step_timeout_s = std::min(flags.timeout_s, std::max(20.0, plan.budget_s));
  policy.seed = globals.seed_given ? globals.seed : std::random_device{}();
  policy.data_seed = globals.seed;
  return plan;
}

Result<ExitCode> run(Context& context, const TuneFlags& flags) {
  SLUICE_TRY(const visit::TunePlan plan, plan_of(flags, context.globals));
  SLUICE_TRY(const visit::Visited result, visit::run_tune(context.globals, plan));
  if (context.globals.json)
    print("{}", results::to_text(results::to_json(result.file)));
  else
    print("{}report: {}\n", report::tune_text(result.file),
          (result.folder / "report.html").string());
  if (result.interrupted)
    return Error{Errc::interrupted,
                 fmt::format("interrupted; what was measured is in {}", result.folder.string())};
  return ExitCode::done;
}

}  // namespace

void add_tune(CLI::App& root, Context& context) {
  auto [command, flags] = add_command<TuneFlags>(
      root, context, "tune",
      "Find the loader settings to use here: workers and prefetch, of a GPU also who decodes", run);
  begin_group(command, "Search");
  add_choice(command, "--library", flags.library, kLoaderNames,
             "whose loader to tune; torch is PyTorch's DataLoader on a folder of images, for which "
             "--num-workers and --prefetch name what you use now");
  command
      .add_option("--max-workers", flags.max_workers, "most workers to try; default: two per core")
      ->check(CLI::Range(1, kMostWorkers));
  add_number(command, "--max-prefetch", flags.max_prefetch, 1, kMostPrefetch,
             "most batches ahead to try");
  const auto seconds = [](double quick, double slow) {
    return fmt::format("{:g}, with another library or a GPU {:g}", quick, slow);
  };
  auto* budget = command
                     .add_option("--budget-s", flags.budget_s,
                                 "seconds that the search may take; default: " +
                                     seconds(kBudget_s, kOtherBudget_s))
                     ->check(CLI::Range(1.0, 86'400.0));
  command
      .add_flag("--thorough", flags.thorough,
                fmt::format("search for longer: {} seconds",
                            seconds(kThoroughBudget_s, kThoroughOtherBudget_s)))
      ->excludes(budget);
  add_value(command, "--worth", flags.worth, "PERCENT",
            "smallest gain that is worth more workers or prefetch")
      ->capture_default_str();
  add_value(command, "--max-cpu", flags.max_cpu, "PERCENT",
            "share of the cores that the loader may keep busy; default: all");
  command
      .add_option("--max-rss-gb", flags.max_rss_gb,
                  "memory that the loader may take, in 10^9 bytes; default: no limit")
      ->check(CLI::Range(0.0, 1e6));
  add_number(command, "--sample-ms", flags.sample_ms, 1.0, 600'000.0,
             "approximate length of a timed sample, in milliseconds");
  add_warmup_flag(command, flags.warmup_ms);
  add_timeout_flag(command, flags.timeout_s);
  add_loader_flags(command, flags.loader);
  show_first(command,
             {"--library", "--max-workers", "--max-prefetch", "--budget-s", "--thorough", "--worth",
              "--max-cpu", "--max-rss-gb", "--input", "--cache-dir", "--gpu", "--batch-size"});
  add_examples(command, {"sluice tune --input photos --batch-size 64",
                         "sluice tune --library torch --input photos --batch-size 64",
                         "sluice tune --input photos --max-cpu 40% --max-rss-gb 4",
                         "sluice tune --input photos --batch-size 256 --gpu cuda:0 --budget-s 60",
                         "sluice tune --input s3://bucket/train --max-workers 32 --budget-s 600"});
}

}  // namespace sluice::cli
