// sluice/cli/backends/cluster.cpp - a plan as tasks, and results of tasks put together.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/backends/cluster.h"

#include "sluice/analysis/validate.h"
#include "sluice/backend/cluster/collect.h"
#include "sluice/backend/cluster/command.h"
#include "sluice/cli/print.h"
#include "sluice/core/file.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/core/utc.h"
#include "sluice/measure/cpu_list.h"
#include "sluice/peers/places.h"
#include "sluice/report/report.h"
#include "sluice/results/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <unistd.h>

namespace sluice::cli {

namespace fs = std::filesystem;

Result<plan::RunConfig> load_cluster_config(const RunFlags& flags, const Globals& globals) {
  RunFlags here = flags;
  here.overrides.local = true;
  return load_config(here, globals);
}

Result<backend::Submission> new_submission(const plan::RunConfig& config,
                                           const LocalFlags& sampling, const Context& context,
                                           const std::string& backend) {
  backend::Submission one;
  one.backend = backend;
  one.node_types = config.cluster.node_types;
  if (one.node_types.empty()) one.node_types.emplace_back();
  one.slices = backend::slices_of(config, config.cluster.cases_per_task);
  if (static_cast<std::int64_t>(one.slices.size()) > plan::kMaxTasks)
    return Error{Errc::usage,
                 fmt::format("cluster.cases_per_task {}: gives {} tasks; at most {} are accepted",
                             config.cluster.cases_per_task, one.slices.size(), plan::kMaxTasks)};
  std::error_code code;
  one.work_folder = fs::current_path(code);
  one.argv = context.globals.argv;
  one.sample_ms = sampling.sample_ms;
  one.warmup_ms = sampling.warmup_ms;
  one.timeout_s = sampling.timeout_s;
  one.cpus = sampling.cpus;
  if (!one.cpus.empty()) {
    SLUICE_TRY(const measure::CpuList checked, measure::parse_cpu_list(one.cpus));
  }
  one.token = new_token(dump_json(plan::to_json(config)));
  return one;
}

std::string new_token(const std::string& about) {
  std::error_code code;
  Sha256 hash;
  hash.update(
      fmt::format("{} {} {} {}", fs::current_path(code).string(), utc_now(), getpid(), about));
  return hash.hex().substr(0, 8);
}

Status check_sound(const std::vector<results::ResultFile>& files, const plan::Plan& plan) {
  for (std::size_t j = 0; j < files.size(); ++j) {
    const analysis::FileCheck check =
        analysis::validate(files[j], plan.jobs[j].output.generic_string());
    if (!check.issues.empty())
      return Error{Errc::measurement, fmt::format("{}: {}", check.path, check.issues.front())};
  }
  return ok;
}

namespace {

/// By the program itself, as the tasks were measured.
Result<ExitCode> collect_commands(const backend::Submission& submission, const fs::path& out,
                                  const std::string& type) {
  if (!submission.collects()) return ExitCode::done;
  SLUICE_CHECK(backend::markers_of_all(submission, out, type, 0));
  SLUICE_TRY(const peers::Places places, peers::find_places());
  const fs::path folder = backend::folder_of_type(out, type);
  ProcessOptions options;
  options.command = {places.program.string()};
  options.command.insert(options.command.end(), submission.collect_command.begin(),
                         submission.collect_command.end());
  options.command.push_back(folder.string());
  options.descriptors = {{STDOUT_FILENO, STDOUT_FILENO}, {STDERR_FILENO, STDERR_FILENO}};
  SLUICE_TRY(const int code, backend::run_to_end(options));
  const auto ended = static_cast<ExitCode>(code);
  if (ended != ExitCode::done && ended != ExitCode::invalid)
    return Error{ended == ExitCode::usage ? Errc::usage : Errc::measurement,
                 fmt::format("{}: putting the results together ended with exit code {}",
                             shown(folder), code)};
  const Json marker = {
      {"exit_code", code}, {"place", backend::place_here()}, {"finished", utc_now()}};
  SLUICE_CHECK(write_file_atomic(backend::marker_of_collect(folder), dump_json(marker) + "\n"));
  return ended;
}

}  // namespace

Result<ExitCode> collect_type(const plan::RunConfig& config, const backend::Submission& submission,
                              const fs::path& out, const std::string& type) {
  if (!submission.commands.empty()) return collect_commands(submission, out, type);
  SLUICE_TRY(const plan::Plan plan, plan::make_plan(config));
  SLUICE_TRY(const std::vector<results::ResultFile> files,
             backend::collect(plan, submission, out, type));
  const fs::path folder = backend::folder_of_type(out, type);
  SLUICE_CHECK(check_sound(files, plan));
  constexpr double kSubmissionS = 60;  // one that looks at the folder just now
  SLUICE_CHECK(backend::wait_until_free(folder, kSubmissionS));
  SLUICE_CHECK(write_file_atomic(folder / "resolved_config.yaml", plan::to_yaml(config)));
  results::RunFolder::Options where;
  where.out = folder;
  where.resume = true;
  SLUICE_TRY(const results::RunFolder run, results::RunFolder::open(where));
  SLUICE_CHECK(run.write_environment(files.front().environment));
  for (std::size_t j = 0; j < files.size(); ++j)
    SLUICE_CHECK(run.write_result(plan.jobs[j].output, files[j]));
  SLUICE_CHECK(run.write_report(report::markdown(files), report::html(files)));
  const bool failed = std::any_of(files.begin(), files.end(), results::has_failed_row);
  const Json marker = {{"cases", plan.jobs.front().cases.size()},
                       {"failed_rows", failed},
                       {"machine_profile", files.front().machine_profile},
                       {"place", backend::place_here()},
                       {"finished", utc_now()}};
  SLUICE_CHECK(write_file_atomic(backend::marker_of_collect(folder), dump_json(marker) + "\n"));
  print("{}\nreport: {}\n", report::text_table(files), (folder / "report.html").string());
  return failed ? ExitCode::invalid : ExitCode::done;
}

}  // namespace sluice::cli
