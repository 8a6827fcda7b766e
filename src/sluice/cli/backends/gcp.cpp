// sluice/cli/backends/gcp.cpp - `sluice run --backend gcp`: configurations in, waves of machines,
// what came of them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/validate.h"
#include "sluice/backend/gcp/remote_paths.h"
#include "sluice/backend/gcp/run.h"
#include "sluice/cli/backends/backends.h"
#include "sluice/cli/print.h"
#include "sluice/core/file.h"
#include "sluice/core/log.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;
namespace gcp = backend::gcp;

/// Files as named, and those of named folders by name.
Result<std::vector<fs::path>> config_files(const RunFlags& flags) {
  std::vector<fs::path> files;
  for (const fs::path& named : flags.configs) {
    std::error_code code;
    if (!fs::is_directory(named, code)) {
      files.push_back(named);
      continue;
    }
    std::vector<fs::path> inside;
    for (fs::directory_iterator it(named, code), end; !code && it != end; it.increment(code))
      if (it->path().extension() == ".yaml") inside.push_back(it->path());
    if (inside.empty())
      return Error{Errc::not_found, fmt::format("--config {}: no .yaml file in it", shown(named))};
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

struct CloudVisit {
  std::vector<gcp::Task> tasks;
  gcp::GcpOptions options;
  bool dry_run = false;
};

/// What is of this machine stays here.
void forget_local_paths(plan::RunConfig& config) {
  config.output.output_dir.reset();
  config.data.data_dir.reset();
}

Status load_tasks(const Context& context, const RunFlags& flags, CloudVisit& visit) {
  SLUICE_TRY(const std::vector<fs::path> files, config_files(flags));
  for (const fs::path& file : files) {
    RunFlags one = flags;
    one.config = file;
    one.overrides.set.insert(one.overrides.set.begin(), "cloud.provider=gcp");
    if (flags.attached || flags.detached)
      one.overrides.set.push_back(fmt::format("cloud.attached={}", flags.attached));
    SLUICE_TRY(plan::RunConfig config, load_config(one, context.globals));
    for (const std::string& note : config.notes)
      log::warn("{}: {}", shown(file), note);
    visit.dry_run = visit.dry_run || config.cloud.dry_run;
    if (visit.tasks.empty()) {
      visit.options.attached = config.cloud.attached;
      visit.options.out = config.output.output_dir.value_or("");
    } else if (visit.options.attached != config.cloud.attached) {
      return usage_error(
          fmt::format("{}: cloud.attached is not that of {}; --attached or "
                      "--detached says it for all",
                      shown(file), shown(files.front())));
    }
    forget_local_paths(config);
    gcp::Task task;
    task.name = file.stem().string();
    SLUICE_TRY(task.plan, plan::make_plan(config));
    if (files.size() > 1) task.folder = task.name;
    visit.tasks.push_back(std::move(task));
  }
  return ok;
}

Status check_pulled(const fs::path& folder, const plan::Plan& plan) {
  std::vector<fs::path> files;
  for (const fs::path& output : plan.expected_outputs)
    files.push_back(folder / "results" / output);
  SLUICE_TRY(const auto sound, analysis::read_sound(files));
  (void)sound;
  return ok;
}

Result<CloudVisit> visit_of(const Context& context, const RunFlags& flags,
                            const LocalFlags& sampling) {
  CloudVisit visit;
  visit.dry_run = flags.dry_run;
  SLUICE_CHECK(load_tasks(context, flags, visit));
  gcp::GcpOptions& options = visit.options;
  SLUICE_TRY(options.quota, gcp::parse_quota(flags.quota));
  options.more_zones = split(flags.zones, ',');
  for (const std::string& zone : options.more_zones)
    SLUICE_CHECK(gcp::check_name("--zones", zone));
  if (sampling.resume && options.out.empty())
    return usage_error("--resume: needs --out DIR, the folder of the run to continue");
  options.resume = sampling.resume;
  options.bundles = flags.bundles;
  options.run_flags = {"--sample-ms", fmt::format("{}", sampling.sample_ms),
                       "--warmup-ms", fmt::format("{}", sampling.warmup_ms),
                       "--timeout",   fmt::format("{}", sampling.timeout_s)};
  if (!sampling.cpus.empty()) {
    options.run_flags.emplace_back("--cpus");
    options.run_flags.push_back(sampling.cpus);
  }
  options.argv = context.globals.argv;
  options.check = check_pulled;
  options.name = visit.tasks.size() > 1 ? "gcp" : visit.tasks.front().name;
  return visit;
}

Json json_of(const gcp::Preview& preview, const gcp::Quota& quota) {
  Json waves = Json::array();
  for (const auto& wave : preview.waves) {
    Json machines = Json::array();
    for (const gcp::Preview::One& one : wave) {
      Json commands = Json::array();
      for (const gcp::Call& call : one.calls)
        commands.push_back(gcp::to_text(call));
      machines.push_back({{"config", one.task->name},
                          {"instance", one.machine.spec.name},
                          {"machine_type", one.machine.spec.machine_type},
                          {"zone", one.machine.spec.zone},
                          {"results_prefix", one.machine.prefix},
                          {"commands", commands},
                          {"startup_script", one.machine.script},
                          {"job", parse_json(one.machine.job, "job").value()}});
    }
    waves.push_back(std::move(machines));
  }
  Json before = Json::array();
  for (const gcp::Call& call : preview.before)
    before.push_back(gcp::to_text(call));
  return {{"dry_run", true},
          {"quota",
           {{"vcpus", quota.vcpus},
            {"c4_vcpus", quota.c4_vcpus},
            {"gpus", quota.gpus},
            {"disk_gb", quota.disk_gb}}},
          {"finished", preview.finished},
          {"before", before},
          {"waves", waves}};
}

void print_preview(const gcp::Preview& preview, const CloudVisit& visit) {
  print("dry run: nothing is made. Quota: {}\n", gcp::to_text(visit.options.quota));
  for (const std::string& name : preview.finished)
    print("finished already, needs no machine: {}\n", printable(name));
  for (const gcp::Call& call : preview.before)
    print("$ {}\n", gcp::to_text(call));
  for (std::size_t w = 0; w < preview.waves.size(); ++w) {
    print("\nwave {} of {}: {}\n", w + 1, preview.waves.size(), gcp::to_text(preview.loads[w]));
    for (const gcp::Preview::One& one : preview.waves[w]) {
      const gcp::Machine& machine = one.machine;
      print("  {}: {} in {}, start-up script {}, deleted after {} h at the latest\n",
            printable(one.task->name), machine.spec.machine_type, machine.spec.zone,
            gcp::under(gcp::under(machine.prefix, gcp::kJobFolder), gcp::kStartupScript),
            machine.spec.deadline_s / 3600);
      for (const gcp::Call& call : one.calls)
        print("    $ {}\n", gcp::to_text(call));
    }
  }
  if (visit.options.bundles.empty())
    print("\na run that is not dry also needs --bundle FILE, the archive of `make dist`\n");
}

void show_cloud(const Context& context, const gcp::GcpResult& result) {
  if (context.globals.json) {
    Json tasks = Json::array();
    for (const gcp::TaskResult& task : result.tasks) {
      tasks.push_back({{"config", task.name},
                       {"state", gcp::to_string(task.state)},
                       {"reason", task.reason.empty() ? Json() : Json(task.reason)},
                       {"instance", task.instance.empty() ? Json() : Json(task.instance)},
                       {"zone", task.zone},
                       {"machine_type", task.machine_type},
                       {"results_prefix", task.prefix.empty() ? Json() : Json(task.prefix)},
                       {"folder", task.folder.string()}});
    }
    print("{}\n", dump_json({{"folder", result.folder.string()},
                             {"waves", result.waves},
                             {"tasks", tasks},
                             {"swept", result.swept},
                             {"left", result.left}}));
    return;
  }
  for (const gcp::TaskResult& task : result.tasks) {
    print("{}: {}{}{}\n", printable(task.name), gcp::to_string(task.state),
          task.reason.empty() ? "" : ": ", printable(task.reason));
  }
  print("results: {}\n", printable(result.folder.string()));
}

Result<ExitCode> ending_in_cloud(const gcp::GcpResult& result) {
  for (const std::string& left : result.left)
    log::error("{}", left);
  if (result.interrupted) {
    return Error{Errc::interrupted,
                 fmt::format("interrupted; {}, finished rows are kept, continue with --out {} "
                             "--resume",
                             result.left.empty() ? "the machines are deleted"
                                                 : "not every machine could be deleted",
                             shown(result.folder))};
  }
  const auto any = [&](gcp::TaskState state) {
    return std::any_of(result.tasks.begin(), result.tasks.end(),
                       [&](const gcp::TaskResult& task) { return task.state == state; });
  };
  if (any(gcp::TaskState::failed) || any(gcp::TaskState::failed_rows) || !result.left.empty())
    return ExitCode::invalid;
  if (any(gcp::TaskState::timed_out)) return ExitCode::timeout;
  if (any(gcp::TaskState::running)) {
    log::warn("machines run on by themselves; collect with --out {} --resume",
              shown(result.folder));
  }
  return ExitCode::done;
}

}  // namespace

Result<ExitCode> run_on_gcp(const Context& context, const RunFlags& flags,
                            const LocalFlags& sampling) {
  SLUICE_TRY(const CloudVisit visit, visit_of(context, flags, sampling));
  if (visit.dry_run) {
    SLUICE_TRY(const gcp::Preview preview, gcp::preview(visit.tasks, visit.options));
    if (context.globals.json) {
      print("{}\n", dump_json(json_of(preview, visit.options.quota)));
    } else {
      print_preview(preview, visit);
    }
    return ExitCode::done;
  }
  SLUICE_TRY(const gcp::GcpResult result, gcp::run_gcp(visit.tasks, visit.options));
  show_cloud(context, result);
  return ending_in_cloud(result);
}

}  // namespace sluice::cli
