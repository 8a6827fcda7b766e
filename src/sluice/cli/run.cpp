// sluice/cli/run.cpp - `sluice run`: a plan, carried out on this machine or handed to another.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/flags/run.h"

#include "sluice/backend/members.h"
#include "sluice/cli/backends/backends.h"
#include "sluice/cli/commands.h"
#include "sluice/cli/local_run.h"
#include "sluice/cli/print.h"
#include "sluice/core/file.h"
#include "sluice/core/log.h"
#include "sluice/report/report.h"

#include <fmt/format.h>

#include <memory>

namespace sluice::cli {
namespace {

void show(const Context& context, const plan::Plan& plan, const backend::LocalResult& run) {
  if (context.globals.json) {
    Json files = Json::object();
    for (std::size_t j = 0; j < run.files.size(); ++j)
      files[plan.jobs[j].output.generic_string()] = results::to_json(run.files[j]);
    const Json document{{"folder", run.folder.string()}, {"results", std::move(files)}};
    print("{}", results::to_text(document));
    return;
  }
  print("{}\n", report::text_table(run.files));
  if (run.kept_cases > 0)
    print("{} of {} cases were finished by an earlier run\n", run.kept_cases,
          plan.jobs.front().cases.size());
  if (run.continued_cases > 0)
    print("runs were added to {} cases of an earlier run\n", run.continued_cases);
  print("report: {}\n", (run.folder / "report.html").string());
}

/// A folder of tasks is continued where they run, or it would hold rows of two machines.
Status check_not_on_cluster(const std::filesystem::path& out) {
  std::error_code code;
  if (out.empty() || !std::filesystem::exists(out / "submission.json", code)) return ok;
  return Error{Errc::usage,
               fmt::format("{}: was begun on a cluster; continue it with --backend slurm --resume, "
                           "or name a new folder",
                           shown(out))};
}

Result<ExitCode> run_here(const Context& context, const RunFlags& flags,
                          const LocalFlags& sampling) {
  if (flags.dry_run)
    return Error{Errc::usage,
                 "--dry-run: of --backend slurm or k8s; `sluice plan` shows what a run here would "
                 "measure"};
  SLUICE_TRY(const plan::RunConfig config, load_config(flags, context.globals));
  for (const std::string& note : config.notes)
    log::warn("{}", note);
  SLUICE_CHECK(check_not_on_cluster(config.output.output_dir.value_or("")));
  if (config.on_cloud()) {
    return Error{Errc::usage,
                 fmt::format("cloud.provider {}: this build has no GCP backend; --local drops the "
                             "cloud section and measures here",
                             *config.cloud.provider)};
  }
  SLUICE_TRY(const plan::Plan plan, plan::make_plan(config));
  SLUICE_CHECK(backend::check_host_rows(plan, backend::gpu_here()));
  SLUICE_TRY(
      const backend::LocalOptions options,
      local_options(context, sampling, config.output.output_dir.value_or(""),
                    fmt::format("{}-{}", config.scenario().name, plan::to_string(config.mode()))));
  SLUICE_TRY(const backend::LocalResult run,
             backend::run_local(plan, options, *context.globals.progress));
  SLUICE_CHECK(write_reports(run));
  show(context, plan, run);
  return ending_of(run);
}

Result<ExitCode> run_plan(const Context& context, const RunFlags& flags,
                          const LocalFlags& sampling) {
  if (flags.backend == "slurm") return run_on_slurm(context, flags, sampling);
  if (flags.backend == "k8s") return run_on_k8s(context, flags, sampling);
  if (flags.backend == "gcp")
    return Error{Errc::usage,
                 "--backend gcp: this build has no GCP backend; accepted: local, "
                 "slurm, k8s"};
  RunFlags here = flags;
  if (flags.backend == "local") here.overrides.local = true;
  return run_here(context, here, sampling);
}

}  // namespace

void add_run(CLI::App& root, Context& context) {
  auto flags = std::make_shared<RunFlags>();
  auto sampling = std::make_shared<LocalFlags>();
  CLI::App* command = add_command(
      root, context, "run", "Measure what a configuration asks for, here or on a cluster",
      [flags, sampling, &context] { return run_plan(context, *flags, *sampling); });
  add_run_flags(*command, *flags);
  add_local_flags(*command, *sampling);
  add_backend_flags(*command, *flags);
  add_examples(*command,
               {"sluice run --config configs/examples/local_rgb_micro_cpu.yaml --data-dir photos "
                "--num-items 100 --num-runs 3 --out first",
                "sluice run --config configs/examples/local_rgb_micro_cpu.yaml --data-dir photos "
                "--libraries albumentationsx,pillow --transforms Resize,HorizontalFlip",
                "sluice run --config ... --out first --resume      (continue after Ctrl-C)",
                "sluice run --config ... --out first --resume --num-runs 3      (two more runs)",
                "sluice run --config ... --out first --backend slurm --set slurm.partition=gpu"});
}

}  // namespace sluice::cli
