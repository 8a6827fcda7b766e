// sluice/cli/diagnose.cpp - `sluice diagnose`: is it the loader, the model, or both at once?
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/flags/loader.h"
#include "sluice/cli/flags/sampling.h"
#include "sluice/cli/flags/training.h"
#include "sluice/cli/print.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/report/diagnose_text.h"
#include "sluice/visit/diagnose/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>

namespace sluice::cli {
namespace {

constexpr int kDiagnoseBatch = 32;
constexpr int kDiagnoseRuns = 3, kThoroughDiagnoseRuns = 10;
constexpr double kWarmUpLimitMs = 250;  // a step of a second is warm after its check
constexpr int kAdvicePairs = 5;         // when nobody says how many runs: three give wide intervals
constexpr std::uint64_t kDiagnoseSeed = 42;

struct DiagnoseFlags {
  LoaderFlags loader;
  TrainingFlags training;
  std::string library = "sluice";
  std::optional<double> model_time_ms;
  bool skip_errors = false;
  bool verify = false;
  int images = 256;
  int runs = kDiagnoseRuns;
  bool thorough = false;
  int samples = 1;
  double sample_ms = 400;
  double warmup_ms = 50;
  double timeout_s = 300;
};

Result<visit::LoaderRequest> request_of(const DiagnoseFlags& flags) {
  if (names_input(flags.loader)) return loader_request(flags.loader, usable_cores());
  LoaderFlags later = flags.loader;  // all but the input, which is made later
  later.input = ".";
  SLUICE_TRY(visit::LoaderRequest request, loader_request(later, usable_cores()));
  request.input.clear();
  return request;
}

/// With another library --num-workers and --prefetch are what is used now.
Status set_library(visit::DiagnosePlan& plan, const DiagnoseFlags& flags) {
  plan.library = loader_library(flags.library);
  if (plan.library == "sluice") return ok;
  if (!names_input(flags.loader))
    return Error{Errc::usage, fmt::format("--library {}: an input is missing: give --input DIR, a "
                                          "folder of images",
                                          flags.library)};
  SLUICE_CHECK(check_other_loader(flags.loader, plan.loader, flags.library));
  if (plan.model_time_ms <= 0)
    return Error{Errc::usage, fmt::format("--library {}: give the time of your step, "
                                          "--model-time-ms X; no model of ours takes its batches",
                                          flags.library)};
  if (flags.verify)
    return Error{Errc::usage, fmt::format("--verify: is for --library sluice; what {} is advised "
                                          "was measured in pairs already",
                                          flags.library)};
  if (!plan.loader.workers_given) plan.loader.workers = 0;
  return ok;
}

Result<visit::DiagnosePlan> plan_of(const DiagnoseFlags& flags, const Globals& globals) {
  visit::DiagnosePlan plan;
  SLUICE_TRY(plan.loader, request_of(flags));
  if (!plan.loader.input.empty()) fit_batch(plan.loader, flags.loader);
  if (plan.loader.bundling)
    return Error{Errc::usage,
                 "--enable-bundling: the input is read as it is; `sluice data bundle` packs it"};
  SLUICE_TRY(plan.engine,
             engine_config_of(flags.training, plan.loader.device, plan.loader.batch_size,
                              globals.seed_given ? globals.seed >> 1U : kDiagnoseSeed));
  if (plan.engine.model.family == train::Family::gpt)
    return Error{Errc::usage, fmt::format("--model {}: takes tokens; diagnose loads images, and "
                                          "image models such as vit5-tiny are accepted",
                                          plan.engine.model.name)};
  if (flags.model_time_ms == 0.0)
    return Error{Errc::usage,
                 "--model-time-ms 0: a step that takes no time only waits for the loader, which "
                 "`sluice bench dataloader` measures alone; 0.001 to 3600000 is accepted"};
  plan.model_time_ms = flags.model_time_ms.value_or(0);
  SLUICE_CHECK(set_library(plan, flags));
  if (flags.loader.upload || plan.loader.gpu_index >= 0) plan.handed = plan.loader.upload;
  plan.skip_errors = flags.skip_errors;
  plan.verify = flags.verify;
  plan.images = flags.images;
  plan.policy.runs = flags.thorough ? kThoroughDiagnoseRuns : flags.runs;
  if (!flags.thorough && flags.runs == kDiagnoseRuns) plan.pairs = kAdvicePairs;
  plan.policy.samples_per_run = flags.samples;
  plan.policy.min_sample_ms = flags.sample_ms;
  plan.policy.warmup_ms = flags.warmup_ms;
  if (!flags.thorough) plan.policy.warmup_limit_ms = std::max(kWarmUpLimitMs, flags.warmup_ms);
  plan.policy.slow_item_s = 0;
  plan.policy.step_timeout_s = flags.timeout_s;
  plan.policy.seed = globals.seed_given ? globals.seed : std::random_device{}();
  plan.policy.data_seed = globals.seed;
  return plan;
}

Result<ExitCode> run_command(Context& context, const DiagnoseFlags& flags) {
  SLUICE_TRY(visit::DiagnosePlan plan, plan_of(flags, context.globals));
  if (!context.globals.quiet)
    plan.so_far = [&](const std::string& line) { context.globals.progress->print(line + "\n"); };
  SLUICE_TRY(const visit::Visited result, visit::run_diagnose(context.globals, plan));
  if (context.globals.json)
    print("{}", results::to_text(results::to_json(result.file)));
  else
    print("{}report: {}\n", report::diagnose_text(result.file),
          (result.folder / "report.html").string());
  if (result.interrupted)
    return Error{Errc::interrupted,
                 fmt::format("interrupted; what was measured is in {}", result.folder.string())};
  return exit_code_of(result.file);
}

}  // namespace

void add_diagnose(CLI::App& root, Context& context) {
  auto [command, flags] = add_command<DiagnoseFlags>(
      root, context, "diagnose", "Find out whether the loader, the model or both limit training",
      run_command);
  flags.loader.batch_size = kDiagnoseBatch;
  begin_group(command, "Measurement");
  command
      .add_option("--model-time-ms", flags.model_time_ms,
                  "emulate an accelerator whose step takes this many milliseconds; no model is run")
      ->check(CLI::Range(0.0, 3'600'000.0));
  add_choice(command, "--library", flags.library, kLoaderNames,
             "whose loader to look at; torch is PyTorch's DataLoader on a folder of images, for "
             "which --num-workers and --prefetch name what you use now; needs --model-time-ms");
  add_number(command, "--images", flags.images, 1, 100'000,
             "number of photographs to generate without --input");
  command.add_flag("--skip-errors", flags.skip_errors, "leave out damaged samples");
  command.add_flag("--verify", flags.verify,
                   "take the first advice and measure, in pairs, what it brings");
  add_depth_flags(command, flags.runs, flags.thorough, kThoroughDiagnoseRuns);
  add_samples_flag(command, flags.samples);
  add_number(command, "--sample-ms", flags.sample_ms, 0.001, 600'000.0,
             "shortest duration of a timed sample, in milliseconds");
  add_warmup_flag(command, flags.warmup_ms);
  add_timeout_flag(command, flags.timeout_s);
  add_training_flags(command, flags.training);
  add_loader_flags(command, flags.loader);
  show_first(command, {"--model-time-ms", "--library", "--images", "--verify", "--skip-errors",
                       "--thorough", "--model", "--image-size", "--dtype", "--input", "--cache-dir",
                       "--gpu", "--batch-size", "--num-workers"});
  add_examples(command,
               {"sluice diagnose --input photos --model vit5-tiny --batch-size 8",
                "sluice diagnose --input photos --batch-size 256 --model-time-ms 32 --verify",
                "sluice diagnose --library torch --input photos --model-time-ms 20 --num-workers 1",
                "sluice diagnose --model-time-ms 20 --json"});
}

}  // namespace sluice::cli
