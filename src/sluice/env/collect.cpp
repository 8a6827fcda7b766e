// sluice/env/collect.cpp - puts the parts of the snapshot together and keeps it for the life of the
// process.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/collect.h"

#include "sluice/core/utc.h"
#include "sluice/env/build_info.h"
#include "sluice/env/machine.h"
#include "sluice/env/variables.h"

#include <map>
#include <mutex>

namespace sluice::env {
namespace {

std::optional<std::string> find_variable(const std::vector<std::string>& entries,
                                         std::string_view name) {
  for (const std::string& entry : entries) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return entry.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

}  // namespace

Environment collect_from(const Sources& sources, const std::filesystem::path& data_dir) {
  Environment environment;
  environment.timestamp = sources.timestamp;
  const CgroupLimits limits = read_cgroup_limits(sources.root);
  environment.cpu = read_cpu(sources.root);
  environment.cores = read_cores(sources.root, limits);
  environment.frequency = read_frequency(sources.root);
  environment.memory = read_memory(sources.root, limits);
  environment.host = read_host(sources.root);
  environment.storage = read_storage(sources.root, data_dir);
  environment.gpu =
      sources.nvml == nullptr
          ? no_gpus(sources.no_nvml_reason)
          : read_gpus(*sources.nvml, find_variable(sources.variables, "CUDA_VISIBLE_DEVICES"));
  environment.build = build_info();
  environment.git = read_git(sources.git);
  environment.variables = select_variables(sources.variables);
  return environment;
}

Result<Environment> collect(const CollectOptions& options) {
  static std::mutex mutex;
  static std::map<std::filesystem::path, Environment> cache;
  const std::lock_guard lock(mutex);
  if (const auto it = cache.find(options.data_dir); it != cache.end() && !options.refresh) {
    return it->second;
  }
  Sources sources;
  const auto nvml = load_nvml();
  if (nvml) {
    sources.nvml = nvml->get();
  } else {
    sources.no_nvml_reason = nvml.error().message;
  }
  sources.variables = process_variables();
  sources.timestamp = utc_now();
  Environment environment = collect_from(sources, options.data_dir);
  cache[options.data_dir] = environment;
  return environment;
}

}  // namespace sluice::env
