// sluice/backend/k8s/manifest.cpp - ConfigMap and Indexed Jobs, as JSON and as YAML.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/k8s/manifest.h"

#include "sluice/config/emit.h"
#include "sluice/config/from_json.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::backend {
namespace {

constexpr const char* kAppLabel = "app.kubernetes.io/name";
constexpr const char* kConfigFolder = "/etc/sluice";
constexpr int kTriesPerIndex = 3;

Json resources_of(const plan::Cluster& cluster) {
  Json amounts = Json::object();
  if (cluster.cpus) amounts["cpu"] = std::to_string(*cluster.cpus);
  if (cluster.memory) amounts["memory"] = fmt::format("{}Mi", (*cluster.memory + 1048575) >> 20);
  if (cluster.gpus) amounts["nvidia.com/gpu"] = std::to_string(*cluster.gpus);
  if (amounts.empty()) return Json::object();
  return {{"requests", amounts}, {"limits", amounts}};  // equal: cores of its own
}

Json from_field(const char* name, const char* field) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", field}}}}}};
}

Json container_of(const plan::RunConfig& config, const std::string& type, const std::string& out) {
  Json args = {"slice", out, "--from", kConfigFolder, "--then-collect"};
  if (!type.empty()) {
    args.push_back("--type");
    args.push_back(type);
  }
  Json container = {
      {"name", "sluice"},
      {"image", *config.k8s.image},
      {"command", {config.k8s.program}},
      {"args", std::move(args)},
      {"workingDir", config.k8s.mount},
      {"env",
       {from_field("SLUICE_POD", "metadata.name"), from_field("SLUICE_NODE", "spec.nodeName")}},
      {"volumeMounts",
       {{{"name", "work"}, {"mountPath", config.k8s.mount}},
        {{"name", "plan"}, {"mountPath", kConfigFolder}, {"readOnly", true}}}}};
  if (Json resources = resources_of(config.cluster); !resources.empty())
    container["resources"] = std::move(resources);
  return container;
}

/// Two tasks never share a node: each would be the other's noise.
Json apart() {
  return {{"podAntiAffinity",
           {{"requiredDuringSchedulingIgnoredDuringExecution",
             {{{"labelSelector", {{"matchLabels", {{kAppLabel, "sluice"}}}}},
               {"topologyKey", "kubernetes.io/hostname"}}}}}}};
}

Json job_of(const plan::RunConfig& config, const Submission& submission, const std::string& type,
            const std::string& out, const std::string& config_map) {
  const std::int64_t tasks = submission.tasks();
  const Json labels = {{kAppLabel, "sluice"}, {"app.kubernetes.io/instance", submission.token}};
  Json pod = {{"restartPolicy", "Never"},
              {"affinity", apart()},
              {"containers", {container_of(config, type, out)}},
              {"volumes",
               {{{"name", "work"}, {"persistentVolumeClaim", {{"claimName", *config.k8s.claim}}}},
                {{"name", "plan"}, {"configMap", {{"name", config_map}}}}}}};
  if (!type.empty()) pod["nodeSelector"] = {{config.k8s.node_label, type}};
  if (config.cluster.minutes) pod["activeDeadlineSeconds"] = *config.cluster.minutes * 60;
  const Json ends =
      Json(submission.commands.empty() ? std::vector<int>{2} : std::vector<int>{1, 2, 3, 4});
  const Json rules = {
      {{"action", "Ignore"},
       {"onPodConditions", {{{"type", "DisruptionTarget"}, {"status", "True"}}}}},
      {{"action", "FailIndex"},  // bad input stays bad, and a verdict stands
       {"onExitCodes", {{"containerName", "sluice"}, {"operator", "In"}, {"values", ends}}}}};
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata",
           {{"name", k8s_name(fmt::format("sluice-{}{}{}", submission.token,
                                          type.empty() ? "" : "-", type))},
            {"namespace", config.k8s.name_space},
            {"labels", labels}}},
          {"spec",
           {{"completionMode", "Indexed"},
            {"completions", tasks},
            {"parallelism", std::min(tasks, config.cluster.parallel.value_or(tasks))},
            {"backoffLimitPerIndex", kTriesPerIndex},
            {"maxFailedIndexes", tasks},  // the others go on
            {"podFailurePolicy", {{"rules", rules}}},
            {"template", {{"metadata", {{"labels", labels}}}, {"spec", std::move(pod)}}}}}};
}

}  // namespace

std::string k8s_name(const std::string& text) {
  std::string name;
  for (const char c : text.substr(0, 63)) {
    const bool small = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    name += small ? c : (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : '-');
  }
  while (name.ends_with('-'))
    name.pop_back();
  return name;
}

Result<std::vector<Json>> k8s_objects(const plan::RunConfig& config, const Submission& submission,
                                      const std::string& out) {
  if (!config.k8s.image)
    return Error{Errc::usage,
                 "k8s.image: needed; name the container image that holds sluice, "
                 "--set k8s.image=NAME"};
  if (!config.k8s.claim)
    return Error{Errc::usage,
                 "k8s.claim: needed; name the persistent volume claim that holds the "
                 "data and gets the results, --set k8s.claim=NAME"};
  const std::string config_map = k8s_name(fmt::format("sluice-{}-plan", submission.token));
  Json data = {{"submission.json", dump_json(to_json(submission)) + "\n"}};
  if (submission.commands.empty()) data["resolved_config.yaml"] = plan::to_yaml(config);
  std::vector<Json> objects;
  objects.push_back({{"apiVersion", "v1"},
                     {"kind", "ConfigMap"},
                     {"metadata", {{"name", config_map}, {"namespace", config.k8s.name_space}}},
                     {"data", std::move(data)}});
  for (const std::string& type : submission.node_types)
    objects.push_back(job_of(config, submission, type, out, config_map));
  return objects;
}

std::string k8s_manifest(const std::vector<Json>& objects) {
  std::string text;
  for (const Json& object : objects)
    text += (text.empty() ? "" : "---\n") + config::to_yaml(config::from_json(object));
  return text;
}

}  // namespace sluice::backend
