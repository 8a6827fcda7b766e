// sluice/cli/run.cpp - `sluice run`: a plan, carried out on this machine, or handed to a backend.
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
#include <utility>

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

/// Flags that say something about Google Cloud.
Status check_not_gcp(const RunFlags& flags) {
  const std::pair<const char*, bool> given[] = {{"--attached", flags.attached},
                                                {"--detached", flags.detached},
                                                {"--bundle", !flags.bundles.empty()},
                                                {"--quota", !flags.quota.empty()},
                                                {"--zones", !flags.zones.empty()}};
  for (const auto& [flag, present] : given)
    if (present) return usage_error(fmt::format("{}: goes with --backend gcp only", flag));
  return ok;
}

Result<ExitCode> run_here(const Context& context, const RunFlags& given,
                          const LocalFlags& sampling) {
  if (given.dry_run)
    return usage_error("--dry-run: shows runs on other machines; `sluice plan` shows this one");
  RunFlags flags = given;
  flags.overrides.local = true;
  SLUICE_TRY(const plan::RunConfig config, load_config(flags, context.globals));
  for (const std::string& note : config.notes)
    log::warn("{}", note);
  SLUICE_CHECK(check_not_on_cluster(config.output.output_dir.value_or("")));
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
  SLUICE_TRY(const std::string backend, chosen_backend(flags, context.globals));
  if (backend == "gcp") return run_on_gcp(context, flags, sampling);
  SLUICE_CHECK(check_not_gcp(flags));
  if (backend == "slurm") return run_on_slurm(context, flags, sampling);
  if (backend == "k8s") return run_on_k8s(context, flags, sampling);
  return run_here(context, flags, sampling);
}

}  // namespace

void add_run(CLI::App& root, Context& context) {
  auto flags = std::make_shared<RunFlags>();
  auto sampling = std::make_shared<LocalFlags>();
  CLI::App* command =
      add_command(root, context, "run",
                  "Measure what a configuration asks for, here, on a cluster or in the cloud",
                  [flags, sampling, &context] { return run_plan(context, *flags, *sampling); });
  add_run_flags(*command, *flags);
  add_local_flags(*command, *sampling);
  add_backend_flags(*command, *flags);
  show_first(*command,
             {"--config", "--data-dir", "--num-items", "--num-runs", "--device", "--libraries",
              "--transforms", "--set", "--allow-generated", "--local", "--resume", "--backend",
              "--dry-run", "--attached", "--detached", "--bundle"});
  add_examples(*command,
               {"sluice run --config configs/examples/local_rgb_micro_cpu.yaml --data-dir photos "
                "--num-items 100 --num-runs 3 --out first",
                "sluice run --config configs/examples/local_rgb_micro_cpu.yaml --data-dir photos "
                "--libraries albumentationsx,pillow --transforms Resize,HorizontalFlip",
                "sluice run --config ... --out first --resume      (continue after Ctrl-C)",
                "sluice run --config ... --out first --resume --num-runs 3      (two more runs)",
                "sluice run --config ... --out first --backend slurm --set slurm.partition=gpu",
                "sluice run --backend gcp --config configs/paper --dry-run      (docs/gcp.md)"});
}

}  // namespace sluice::cli
