// sluice/backend/visit.cpp - asks env and puts the answers where a result file wants them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/visit.h"

#include "sluice/core/log.h"
#include "sluice/core/utc.h"
#include "sluice/core/version.h"
#include "sluice/env/collect.h"
#include "sluice/env/noise.h"

#include <fmt/format.h>

#include <unistd.h>

namespace sluice::backend {

Result<std::string> profile_of_visit(const VisitOptions& options) {
  SLUICE_TRY(const env::Environment environment, env::collect({.data_dir = options.storage}));
  env::ProfileOptions profile{.framework = env::framework_sluice(results::kSchemaVersion),
                              .device = options.device};
  if (!options.torch_version.empty()) {
    profile.framework = env::framework_torch(options.torch_version);
    if (!options.cuda_version.empty()) profile.cuda_version = options.cuda_version;
  }
  return env::machine_profile(environment, profile);
}

void check_noise(results::ResultFile& file) {
  const env::NoiseReport noise = env::noise_check();
  for (const env::Finding& finding : noise.findings) {
    if (finding.severity != env::Severity::info)
      log::info("{}: {}. {}", finding.check, finding.value, finding.advice);
  }
  file.environment["noise"] = env::to_json(noise);
}

Result<results::ResultFile> begin_visit(const VisitOptions& options) {
  SLUICE_TRY(const env::Environment environment, env::collect({.data_dir = options.storage}));
  results::ResultFile file;
  file.tool = {version::kProgram, version::git()};
  file.environment = env::to_json(environment);
  if (options.check_noise) check_noise(file);
  SLUICE_TRY(file.machine_profile, profile_of_visit(options));
  file.argv = options.argv;
  file.session_id = fmt::format("{}-{}", utc_now(kUtcName), getpid());
  return file;
}

}  // namespace sluice::backend
