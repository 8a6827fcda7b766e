// sluice/cli/run.cpp - `sluice run`: a plan, carried out on this machine.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/local.h"
#include "sluice/cli/commands.h"
#include "sluice/cli/run_flags.h"
#include "sluice/cli/sampling_flags.h"
#include "sluice/core/file.h"
#include "sluice/core/log.h"
#include "sluice/measure/cpu_list.h"
#include "sluice/peers/places.h"
#include "sluice/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace sluice::cli {
namespace {

struct LocalFlags : SamplingFlags {
  std::string cpus;
};

Result<backend::LocalOptions> local_options(const Context& context, const LocalFlags& flags,
                                            const plan::RunConfig& config) {
  if (flags.resume && !config.output.output_dir)
    return Error{Errc::usage, "--resume: needs --out DIR, the folder of the run to continue"};
  SLUICE_TRY(const peers::Places places, peers::find_places());
  backend::LocalOptions options;
  if (config.output.output_dir) options.out = *config.output.output_dir;
  options.name = fmt::format("{}-{}", config.scenario().name, plan::to_string(config.mode()));
  options.resume = flags.resume;
  options.min_sample_ms = flags.sample_ms;
  options.warmup_ms = flags.warmup_ms;
  options.step_timeout_s = flags.timeout_s;
  if (!flags.cpus.empty()) {
    SLUICE_TRY(options.cpus, measure::parse_cpu_list(flags.cpus));
  }
  options.argv = context.argv;
  if (!places.adapters.empty()) options.semantics = places.adapters / "semantics.json";
  return options;
}

Status write_reports(const backend::LocalResult& run) {
  SLUICE_CHECK(write_file_atomic(run.folder / "report.md", report::markdown(run.files)));
  return write_file_atomic(run.folder / "report.html", report::html(run.files));
}

void show(const Context& context, const plan::Plan& plan, const backend::LocalResult& run) {
  if (context.globals.json) {
    Json files = Json::object();
    for (std::size_t j = 0; j < run.files.size(); ++j)
      files[plan.jobs[j].output.generic_string()] = results::to_json(run.files[j]);
    const Json document{{"folder", run.folder.string()}, {"results", std::move(files)}};
    fmt::print("{}", results::to_text(document));
    return;
  }
  fmt::print("{}\n", report::text_table(run.files));
  if (run.kept_cases > 0)
    fmt::print("{} of {} cases were finished by an earlier run\n", run.kept_cases,
               plan.jobs.front().cases.size());
  fmt::print("report: {}\n", (run.folder / "report.html").string());
}

Result<ExitCode> run_plan(const Context& context, const RunFlags& flags,
                          const LocalFlags& sampling) {
  SLUICE_TRY(const plan::RunConfig config, load_config(flags, context.globals));
  for (const std::string& note : config.notes)
    log::warn("{}", note);
  if (config.on_cloud()) {
    return Error{Errc::usage,
                 fmt::format("cloud.provider {}: this build has no GCP backend; --local drops the "
                             "cloud section and measures here",
                             *config.cloud.provider)};
  }
  SLUICE_TRY(const plan::Plan plan, plan::make_plan(config));
  SLUICE_TRY(const backend::LocalOptions options, local_options(context, sampling, config));
  SLUICE_TRY(const backend::LocalResult run, backend::run_local(plan, options, *context.progress));
  SLUICE_CHECK(write_reports(run));
  show(context, plan, run);
  if (run.interrupted) {
    return Error{
        Errc::interrupted,
        fmt::format("interrupted; finished cases are kept, continue with --out {} --resume",
                    run.folder.string())};
  }
  const bool failed = std::any_of(run.files.begin(), run.files.end(), [](const auto& file) {
    return std::any_of(file.rows.begin(), file.rows.end(), [](const measure::Row& row) {
      return row.status == measure::RowStatus::failed;
    });
  });
  return failed ? ExitCode::invalid : ExitCode::done;
}

}  // namespace

void add_run(CLI::App& root, Context& context) {
  auto flags = std::make_shared<RunFlags>();
  auto sampling = std::make_shared<LocalFlags>();
  CLI::App* command =
      add_command(root, context, "run", "Measure what a configuration asks for, on this machine",
                  [flags, sampling, &context] { return run_plan(context, *flags, *sampling); });
  add_run_flags(*command, *flags);
  sampling->timeout_s = 120;  // imports of other people's libraries may be slow
  add_sampling_flags(*command, *sampling);
  command->add_option("--cpus", sampling->cpus, "cores for the workers, such as 0-3,6");
  add_examples(*command,
               {"sluice run --config configs/examples/local_rgb_micro_cpu.yaml --data-dir photos "
                "--num-items 100 --num-runs 3 --out first",
                "sluice run --config configs/examples/local_rgb_micro_cpu.yaml --data-dir photos "
                "--libraries albumentationsx,pillow --transforms Resize,HorizontalFlip",
                "sluice run --config ... --out first --resume      (continue after Ctrl-C)"});
}

}  // namespace sluice::cli
