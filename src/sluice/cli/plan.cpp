// sluice/cli/plan.cpp - `sluice plan`: the jobs and files of a run configuration; runs nothing.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/flags/run.h"
#include "sluice/cli/print.h"
#include "sluice/core/log.h"
#include "sluice/core/text.h"
#include "sluice/plan/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

namespace sluice::cli {
namespace {

using Cells = std::array<std::string, 6>;

Cells cells_of(const plan::Job& job) {
  const auto not_attempted = std::count_if(job.cases.begin(), job.cases.end(),
                                           [](const plan::Case& item) { return item.excluded; });
  const std::string cases = not_attempted == 0
                                ? std::to_string(job.cases.size())
                                : fmt::format("{} ({} excluded)", job.cases.size(), not_attempted);
  return {join(job.row_libraries), job.backend, job.group.empty() ? "-" : job.group, job.device,
          job.thread_policy,       cases};
}

void print_jobs(const std::vector<plan::Job>& jobs) {
  std::vector<Cells> rows = {{"library", "backend", "group", "device", "threads", "cases"}};
  for (const plan::Job& job : jobs)
    rows.push_back(cells_of(job));
  std::array<std::size_t, 6> widths{};
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += fmt::format("{:<{}}", row[i], i + 1 == row.size() ? 0 : widths[i] + 2);
    print("{}\n", line);
  }
}

void print_excluded(const plan::Plan& plan) {
  for (const plan::Job& job : plan.jobs) {
    for (const plan::Case& item : job.cases) {
      if (!item.excluded) continue;
      print("{} {}: {}: {}\n", job.library, item.transform,
            measure::to_string(item.excluded->status), item.excluded->reason);
    }
    for (const std::string& label : job.labels)
      print("{}: {}\n", job.library, label);
  }
}

void print_plan(const plan::Plan& plan) {
  const plan::RunConfig& run = plan.config;
  const std::string items =
      run.data.num_items ? std::to_string(*run.data.num_items) : std::string("all");
  print("{} {}: {} items, {} runs", run.scenario().name, plan::to_string(run.mode()), items,
        run.execution.num_runs);
  if (run.mode() == plan::Mode::pipeline) {
    print(", batch {}, {} workers, {}", run.execution.batch_size, run.execution.workers,
          plan::to_string(run.execution.pipeline_scope));
  }
  print("\n");
  if (run.on_cloud()) {
    print("on {}: {} in {}, {} GB disk\n", *run.cloud.provider, printable(run.cloud.machine_type),
          printable(run.cloud.zone), run.cloud.disk_size_gb);
  }
  print("\n");
  print_jobs(plan.jobs);
  print("\n");
  print_excluded(plan);
  print("expected in {}:\n",
        run.output.output_dir ? printable(*run.output.output_dir) : "a new folder of runs/");
  for (const auto& path : plan.expected_outputs)
    print("  results/{}\n", path.generic_string());
}

Result<ExitCode> run_plan(Context& context, const RunFlags& flags) {
  if (flags.configs.size() > 1)
    return usage_error(
        "--config: `plan` shows one configuration; `run --backend gcp --dry-run` several");
  SLUICE_TRY(const plan::RunConfig config, load_config(flags, context.globals));
  for (const std::string& note : config.notes)
    log::warn("{}", note);
  SLUICE_TRY(const plan::Plan plan, plan::make_plan(config));
  if (context.globals.json) {
    const Json json = {{"resolved_config", plan::to_json(plan.config)},
                       {"plan", plan::to_json(plan)}};
    print("{}\n", dump_json(json));
  } else {
    print_plan(plan);
  }
  return ExitCode::done;
}

}  // namespace

void add_plan(CLI::App& root, Context& context) {
  auto [command, flags] = add_command<RunFlags>(
      root, context, "plan", "Show the jobs and result files of a configuration; runs nothing",
      run_plan);
  add_run_flags(command, flags);
  add_examples(
      command,
      {"sluice plan --config configs/examples/local_rgb_micro_cpu.yaml",
       "sluice plan --config configs/paper/prod_c4_rgb_micro_cpu.yaml --num-items 100 --json"});
}

}  // namespace sluice::cli
