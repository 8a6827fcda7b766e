// sluice/plan/run_config_emit.cpp - the resolved configuration as JSON and as YAML.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/emit.h"
#include "sluice/config/from_json.h"
#include "sluice/plan/recipes.h"
#include "sluice/plan/run_config.h"

namespace sluice::plan {
namespace {

/// Absent values have no key.
template <class T>
void put(Json& section, const char* key, const std::optional<T>& value) {
  if (value) section[key] = *value;
}

Json selection_json(const RunConfig& run) {
  const Selection& selection = run.selection;
  Json json = {{"scenario", *selection.scenario},
               {"mode", to_string(run.mode())},
               {"media", to_string(selection.media)}};
  put(json, "libraries", selection.libraries);
  if (selection.transforms) {
    Json names = Json::array();
    for (const std::string& name : *selection.transforms)
      names.push_back(run.mode() == Mode::pipeline ? recipe_name(name) : name);
    json["transforms"] = std::move(names);
  }
  put(json, "transform_set", selection.transform_set);
  json["multichannel"] = selection.multichannel;
  put(json, "decoders", selection.decoders);
  if (!selection.peers.empty()) {
    Json peers = Json::object();
    for (const Peer& peer : selection.peers)
      peers[peer.name] = peer.command;
    json["peers"] = std::move(peers);
  }
  return json;
}

Json data_json(const Data& data) {
  Json json = Json::object();
  put(json, "data_dir", data.data_dir);
  put(json, "gcs_uri", data.gcs_uri);
  put(json, "remote_data_dir", data.remote_data_dir);
  put(json, "num_items", data.num_items);
  put(json, "num_channels", data.num_channels);
  put(json, "clip_length", data.clip_length);
  json["max_corrupt"] = data.max_corrupt;
  json["generated"] = data.generated;
  return json;
}

Json execution_json(const Execution& execution) {
  Json json = {{"num_runs", execution.num_runs},
               {"batch_size", execution.batch_size},
               {"workers", execution.workers},
               {"min_time", execution.min_time},
               {"min_batches", execution.min_batches},
               {"pipeline_scope", to_string(execution.pipeline_scope)},
               {"device", execution.device}};
  put(json, "copy_to", execution.copy_to);
  json["host_rows_on_gpu_machine"] = execution.host_rows_on_gpu_machine;
  put(json, "thread_policy", execution.thread_policy);
  json["refresh_requirements"] = execution.refresh_requirements;
  put(json, "slow_threshold_sec_per_item", execution.slow_threshold_sec_per_item);
  put(json, "slow_preflight_items", execution.slow_preflight_items);
  json["disable_slow_skip"] = execution.disable_slow_skip;
  json["attempt_excluded"] = execution.attempt_excluded;
  put(json, "memory_limit", execution.memory_limit);
  json["seed"] = execution.seed;
  return json;
}

Json cloud_json(const Cloud& cloud) {
  Json json = Json::object();
  put(json, "provider", cloud.provider);
  put(json, "project", cloud.project);
  json["zone"] = cloud.zone;
  json["machine_type"] = cloud.machine_type;
  put(json, "gpu_type", cloud.gpu_type);
  json["attached"] = cloud.attached;
  json["dry_run"] = cloud.dry_run;
  json["keep_instance"] = cloud.keep_instance;
  json["keep_on_failure"] = cloud.keep_on_failure;
  json["preemptible"] = cloud.preemptible;
  json["disk_size_gb"] = cloud.disk_size_gb;
  put(json, "timeout_hours", cloud.timeout_hours);
  json["remote_repo_dir"] = cloud.remote_repo_dir;
  put(json, "venv_cache_uri", cloud.venv_cache_uri);
  json["no_venv_cache"] = cloud.no_venv_cache;
  json["force_venv_cache_rebuild"] = cloud.force_venv_cache_rebuild;
  return json;
}

}  // namespace

Json to_json(const RunConfig& run) {
  Json json = {{"version", run.version},
               {"selection", selection_json(run)},
               {"data", data_json(run.data)},
               {"execution", execution_json(run.execution)}};
  Json output = Json::object();
  put(output, "output_dir", run.output.output_dir);
  put(output, "gcs_results_uri", run.output.gcs_results_uri);
  json["output"] = std::move(output);
  if (run.on_cloud()) json["cloud"] = cloud_json(run.cloud);
  return json;
}

std::string to_yaml(const RunConfig& run) {
  return config::to_yaml(config::from_json(to_json(run)));
}

}  // namespace sluice::plan
