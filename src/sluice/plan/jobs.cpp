// sluice/plan/jobs.cpp - libraries x transforms to jobs and cases.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/plan/jobs.h"

#include "sluice/plan/exclusions.h"
#include "sluice/plan/output_names.h"
#include "sluice/plan/policy.h"
#include "sluice/plan/recipes.h"

#include <fmt/format.h>

#include <set>

namespace sluice::plan {
namespace {

constexpr const char* kClip = "clip";  // the one case of decode mode

std::vector<std::string> measured(const RunConfig& run) {
  return run.mode() == Mode::decode ? std::vector<std::string>{kClip} : *run.selection.transforms;
}

void add_pipeline_fields(Json& spec, const RunConfig& run, const std::string& transform) {
  spec["recipe"] = recipe_stages(transform);
  spec["scope"] = to_string(run.execution.pipeline_scope);
  spec["batch_size"] = run.execution.batch_size;
  spec["workers"] = run.execution.workers;
  spec["min_time_s"] = run.execution.min_time;
  spec["min_batches"] = run.execution.min_batches;
  if (run.execution.copy_to) spec["copy_to"] = *run.execution.copy_to;
}

Json spec_of(const RunConfig& run, const std::string& transform) {
  const MatrixScenario& scenario = run.scenario();
  const Transform* known = find_transform(transform);
  Json spec = {{"scenario", scenario.name},
               {"mode", to_string(run.mode())},
               {"transform", transform},
               {"params", known != nullptr ? known->params : Json::object()},
               {"channels", scenario.channels},
               {"clip_length", scenario.clip_length}};
  if (run.mode() == Mode::pipeline) add_pipeline_fields(spec, run, transform);
  return spec;
}

std::map<std::string, std::string> params_of(const RunConfig& run, const std::string& transform) {
  std::map<std::string, std::string> params = {{"transform", transform}};
  if (run.mode() == Mode::pipeline) {
    params["scope"] = to_string(run.execution.pipeline_scope);
    params["batch_size"] = std::to_string(run.execution.batch_size);
    params["workers"] = std::to_string(run.execution.workers);
  }
  return params;
}

std::vector<Case> cases_of(const RunConfig& run, const Job& job) {
  std::vector<Case> cases;
  for (const std::string& transform : measured(run)) {
    Case item{case_name(job.scenario, job.mode, transform), transform, params_of(run, transform),
              spec_of(run, transform), std::nullopt};
    const Exclusion* exclusion =
        find_exclusion(job.library, transform, job.scenario, job.mode, job.device);
    if (exclusion != nullptr && !run.execution.attempt_excluded)
      item.excluded = Case::NotAttempted{exclusion->status, std::string(exclusion->reason)};
    cases.push_back(std::move(item));
  }
  return cases;
}

void finish_job(Job& job, const RunConfig& run) {
  job.scenario = run.scenario().name;
  job.mode = run.mode();
  job.thread_policy = *run.execution.thread_policy;
  job.unit = media_policy(run.scenario().media).unit;
  job.output = output_with_runs(job, run, run.execution.num_runs);
  for (std::string& label : labels_of(job.library, job.scenario, job.mode, job.device))
    job.labels.push_back(std::move(label));
  job.cases = cases_of(run, job);
}

Job library_job(const RunConfig& run, const Support& support) {
  Job job;
  job.library = support.library;
  job.row_libraries = row_libraries(support);
  job.group = support.group;
  const bool on_host = !has_device(support, run.execution.device);
  job.device = on_host ? "none" : run.execution.device;
  if (on_host) job.labels.emplace_back("runs on the host CPU");
  job.copy_to = run.execution.copy_to.value_or("");
  if (!job.copy_to.empty() && job.device == "none")
    job.labels.push_back(
        fmt::format("transforms on the host CPU, then copies every batch to {}", job.copy_to));
  job.backend = to_string(support.backend);
  job.optional = support.optional;
  finish_job(job, run);
  return job;
}

Job peer_job(const RunConfig& run, const Peer& peer) {
  Job job;
  job.library = peer.name;
  job.row_libraries = {peer.name};
  job.device = run.execution.device;
  job.backend = to_string(Backend::native);
  job.command = peer.command;
  job.optional = true;
  finish_job(job, run);
  return job;
}

}  // namespace

std::filesystem::path output_with_runs(const Job& job, const RunConfig& config,
                                       std::int64_t num_runs) {
  return output_path({.scenario = job.scenario,
                      .mode = job.mode,
                      .library = job.library,
                      .device = job.device,
                      .scope = config.execution.pipeline_scope,
                      .num_items = config.data.num_items,
                      .num_runs = num_runs,
                      .workers = config.execution.workers,
                      .batch_size = config.execution.batch_size});
}

std::string case_name(std::string_view scenario, Mode mode, std::string_view transform) {
  const std::string last = mode == Mode::pipeline ? recipe_name(transform) : std::string(transform);
  return fmt::format("{}/{}/{}", scenario, to_string(mode), last);
}

Result<Plan> make_plan(const RunConfig& config) {
  Plan plan{config, {}, {}};
  for (const std::string& library : config.libraries()) {
    const Support* support = find_support(config.scenario().name, config.mode(), library);
    if (support == nullptr) {
      return Error{Errc::internal, fmt::format("plan: no '{}' in {} {}", library,
                                               config.scenario().name, to_string(config.mode()))};
    }
    plan.jobs.push_back(library_job(config, *support));
  }
  for (const Peer& peer : config.selection.peers)
    plan.jobs.push_back(peer_job(config, peer));
  if (plan.jobs.empty()) {
    return Error{
        Errc::invalid_config,
        fmt::format("selection.libraries: none of {} {} runs on device '{}'",
                    config.scenario().name, to_string(config.mode()), config.execution.device)};
  }
  std::set<std::filesystem::path> names;
  for (const Job& job : plan.jobs) {
    if (!names.insert(job.output).second) {
      return Error{Errc::internal, fmt::format("plan: two jobs write {}", job.output.string())};
    }
    plan.expected_outputs.push_back(job.output);
  }
  return plan;
}

Json to_json(const Plan& plan) {
  Json jobs = Json::array();
  for (const Job& job : plan.jobs) {
    Json cases = Json::array();
    for (const Case& item : job.cases) {
      Json entry = {{"case", item.name}};
      if (item.excluded) {
        entry["status"] = measure::to_string(item.excluded->status);
        entry["reason"] = item.excluded->reason;
      }
      cases.push_back(std::move(entry));
    }
    Json entry = {{"scenario", job.scenario},
                  {"mode", to_string(job.mode)},
                  {"media", to_string(plan.config.selection.media)},
                  {"library", job.library},
                  {"rows", job.row_libraries},
                  {"backend", job.backend},
                  {"group", job.group},
                  {"device", job.device},
                  {"copy_to", job.copy_to.empty() ? Json(nullptr) : Json(job.copy_to)},
                  {"thread_policy", job.thread_policy},
                  {"unit", job.unit},
                  {"output_file", "results/" + job.output.generic_string()},
                  {"labels", job.labels},
                  {"cases", std::move(cases)}};
    if (!job.command.empty()) entry["command"] = job.command;
    jobs.push_back(std::move(entry));
  }
  Json outputs = Json::array();
  for (const auto& path : plan.expected_outputs)
    outputs.push_back("results/" + path.generic_string());
  const auto& folder = plan.config.output.output_dir;
  return {{"output_dir", folder ? Json(*folder) : Json(nullptr)},
          {"expected_outputs", std::move(outputs)},
          {"jobs", std::move(jobs)}};
}

}  // namespace sluice::plan
