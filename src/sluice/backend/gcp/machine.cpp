// sluice/backend/gcp/machine.cpp - limits, labels, script, job file.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/gcp/machine.h"

#include "sluice/backend/gcp/ledger.h"
#include "sluice/backend/gcp/remote_paths.h"
#include "sluice/backend/gcp/startup_script.h"
#include "sluice/core/secrets.h"
#include "sluice/core/text.h"
#include "sluice/plan/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace sluice::backend::gcp {
namespace {

constexpr double kGpuTimeoutHours = 6;
constexpr double kHostTimeoutHours = 8;
constexpr std::int64_t kHour_s = 3600;
constexpr std::int64_t kAround_s = 2 * kHour_s;  // boot, data, environments, the way of the results
constexpr std::int64_t kGrace_s = kHour_s / 2;   // after the deadline: then anybody may delete it
constexpr std::int64_t kOverFetch = 2;           // of micro rows, which pass over grey images

std::int64_t timeout_of(const plan::RunConfig& config, const Shape& shape) {
  const double hours =
      config.cloud.timeout_hours.value_or(shape.gpus > 0 ? kGpuTimeoutHours : kHostTimeoutHours);
  return std::max<std::int64_t>(1, std::llround(hours * static_cast<double>(kHour_s)));
}

std::int64_t data_limit(const plan::RunConfig& config) {
  if (config.mode() == plan::Mode::pipeline || !config.data.num_items) return 0;
  return kOverFetch * *config.data.num_items;
}

std::vector<std::string> groups_of(const plan::Plan& plan) {
  std::set<std::string> groups;
  for (const plan::Job& job : plan.jobs)
    if (!job.group.empty()) groups.insert(job.group);
  return {groups.begin(), groups.end()};
}

std::string cache_of(const plan::RunConfig& config) {
  if (config.cloud.no_venv_cache) return {};
  return config.cloud.venv_cache_uri.value_or(environment_cache(*config.output.gcs_results_uri));
}

StartupOptions startup_of(const Task& task, const VisitFacts& facts, const Machine& machine,
                          bool resume) {
  const plan::RunConfig& config = task.plan.config;
  StartupOptions options;
  options.project = machine.spec.project;
  options.name = machine.spec.name;
  options.prefix = machine.prefix;
  options.bundle_prefix = machine.bundle_prefix;
  options.bundles = facts.bundles;
  options.work = kVmWork;
  options.program_folder = config.cloud.remote_repo_dir;
  options.data_uri = config.data.remote_data_dir ? "" : *config.data.gcs_uri;
  options.data_folder = config.data.remote_data_dir.value_or("");
  options.media = plan::to_string(config.scenario().media);
  options.data_limit = data_limit(config);
  options.groups = groups_of(task.plan);
  options.cache_uri = cache_of(config);
  options.restore_cache = !config.cloud.force_venv_cache_rebuild;
  options.timeout_s = machine.timeout_s;
  options.deadline_s = machine.spec.deadline_s;
  options.gpu = machine.spec.gpu;
  options.keep = config.cloud.keep_instance;
  options.keep_on_failure = config.cloud.keep_on_failure;
  options.resume = resume;
  options.run_flags = facts.run_flags;
  return options;
}

Json job_of(const Task& task, const VisitFacts& facts, const Machine& machine) {
  const plan::RunConfig& config = task.plan.config;
  const InstanceSpec& spec = machine.spec;
  Json argv = Json::array();
  for (const std::string& word : facts.argv)
    argv.push_back(without_passwords(word));
  const Json run_config = plan::to_json(config);
  return {{"run_id", machine.run_id},
          {"gcs_data_uri", config.data.gcs_uri ? Json(*config.data.gcs_uri) : Json()},
          {"gcs_results_prefix", machine.prefix},
          {"terminate_instance", !config.cloud.keep_instance},
          {"keep_instance_on_failure", config.cloud.keep_on_failure},
          {"venv_cache_uri", cache_of(config).empty() ? Json() : Json(cache_of(config))},
          {"force_venv_cache_rebuild", config.cloud.force_venv_cache_rebuild},
          {"timeout_seconds", machine.timeout_s},
          {"run_config", run_config},
          {"cloud_config", at(run_config, "cloud")},
          {"expected_outputs", at(plan::to_json(task.plan), "expected_outputs")},
          {"submission", {{"argv", argv}, {"start_timestamp_unix", facts.now}}},
          {"instance",
           {{"project", spec.project},
            {"zone", spec.zone},
            {"machine_type", spec.machine_type},
            {"accelerator_type", spec.gpu_type.empty() ? Json() : Json(spec.gpu_type)},
            {"instance_name", spec.name}}}};
}

std::map<std::string, std::string> labels_of(const plan::Cloud& cloud, const VisitFacts& facts,
                                             const Machine& machine) {
  const std::int64_t hours = (machine.spec.deadline_s + kHour_s - 1) / kHour_s;
  std::map<std::string, std::string> labels = {
      {kLabel, kLabelValue},
      {kRunIdLabel, machine.run_id},
      {kSessionLabel, facts.session},
      {kOwnerLabel, owner_label()},
      {kProcessLabel, process_label()},
      {kModeLabel, facts.attached ? "attached" : "detached"},
      {kTtlLabel, std::to_string(hours)},
      {kExpiresLabel, std::to_string(machine.expires)}};
  if (cloud.keep_instance || cloud.keep_on_failure) labels[kKeepLabel] = "yes";
  return labels;
}

Status check_names(const plan::RunConfig& config) {
  const plan::Cloud& cloud = config.cloud;
  SLUICE_CHECK(check_name("cloud.project", *cloud.project));
  SLUICE_CHECK(check_name("cloud.zone", cloud.zone));
  SLUICE_CHECK(check_name("cloud.machine_type", cloud.machine_type));
  if (cloud.gpu_type) SLUICE_CHECK(check_name("cloud.gpu_type", *cloud.gpu_type));
  SLUICE_CHECK(check_uri("output.gcs_results_uri", *config.output.gcs_results_uri));
  if (cloud.venv_cache_uri) SLUICE_CHECK(check_uri("cloud.venv_cache_uri", *cloud.venv_cache_uri));
  if (config.data.remote_data_dir || !config.data.gcs_uri) return ok;
  SLUICE_CHECK(check_uri("data.gcs_uri", *config.data.gcs_uri));
  const std::string& uri = *config.data.gcs_uri;
  const std::string file = uri.substr(uri.rfind('/') + 1);
  if (file.find(".tar") != std::string::npos || file.ends_with(".tgz")) return ok;
  return Error{Errc::invalid_config,
               fmt::format("data.gcs_uri '{}': expected one tarball, such as {}/val.tar",
                           printable(uri), printable(uri))};
}

}  // namespace

Result<Wanted> wanted_machine(const Task& task) {
  const plan::RunConfig& config = task.plan.config;
  const auto named = [&](const Error& error) {
    return Error{error.code, fmt::format("{}: {}", printable(task.name), error.message)};
  };
  if (const Status names = check_names(config); !names) return named(names.error());
  Result<Shape> shape = shape_of(config.cloud);
  if (!shape) return named(shape.error());
  if (const Status rows = check_rows(config, *shape); !rows) return named(rows.error());
  return Wanted{task.name, config.cloud.machine_type, stage_of(config), std::move(*shape),
                config.cloud.disk_size_gb};
}

Result<Machine> make_machine(const Task& task, const VisitFacts& facts, const std::string& run_id,
                             bool resume) {
  const plan::RunConfig& config = task.plan.config;
  const plan::Cloud& cloud = config.cloud;
  SLUICE_TRY(const Shape shape, shape_of(cloud));
  Machine machine;
  machine.run_id = run_id;
  machine.prefix = run_prefix(*config.output.gcs_results_uri, run_id);
  machine.bundle_prefix = bundle_prefix(*config.output.gcs_results_uri, facts.bundle_digest);
  machine.timeout_s = timeout_of(config, shape);
  InstanceSpec& spec = machine.spec;
  spec.project = *cloud.project;
  spec.zone = cloud.zone;
  spec.name = instance_name(cloud.machine_type, run_id);
  spec.machine_type = cloud.machine_type;
  spec.gpu_type = cloud.gpu_type.value_or("");
  spec.gpu = shape.gpus > 0;
  spec.hyperdisk = shape.hyperdisk;
  spec.preemptible = cloud.preemptible;
  spec.disk_gb = cloud.disk_size_gb;
  spec.deadline_s = machine.timeout_s + kAround_s;
  machine.expires = facts.now + spec.deadline_s + kGrace_s;
  spec.labels = labels_of(cloud, facts, machine);
  machine.script = startup_script(startup_of(task, facts, machine, resume));
  machine.job = dump_json(job_of(task, facts, machine)) + "\n";
  machine.config = plan::to_yaml(config);
  return machine;
}

std::vector<Call> calls_of(const Machine& machine, bool attached,
                           const std::filesystem::path& stage,
                           const std::filesystem::path& pulled) {
  const InstanceSpec& spec = machine.spec;
  std::vector<Call> calls = {upload(stage, under(machine.prefix, kJobFolder)),
                             create_instance(spec)};
  if (!attached) return calls;
  const std::string name = name_filter(spec.name);
  for (Call& call :
       std::vector<Call>{list_instances(spec.project, label_filter(kLabel, kLabelValue)),
                         list_objects(machine.prefix), download(machine.prefix, pulled),
                         delete_instance(spec.project, spec.zone, spec.name),
                         list_instances(spec.project, name), list_disks(spec.project, name)})
    calls.push_back(std::move(call));
  return calls;
}

}  // namespace sluice::backend::gcp
