// sluice/plan/output_names.cpp - result file names, for plan, run, coverage and report alike.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/plan/output_names.h"

#include <fmt/format.h>

namespace sluice::plan {

std::filesystem::path output_path(const OutputKey& key) {
  const std::string device = key.device == "none" ? "" : "_dev-" + key.device;
  std::string name;
  switch (key.mode) {
    case Mode::micro:
      name = fmt::format("{}_micro{}_results.json", key.library, device);
      break;
    case Mode::pipeline:
      name = fmt::format("{}_{}_n{}_r{}_w{}_b{}{}_results.json", key.library, to_string(key.scope),
                         key.num_items ? std::to_string(*key.num_items) : "all", key.num_runs,
                         key.workers, key.batch_size, device);
      break;
    case Mode::decode:
      name = fmt::format("{}_decode{}_results.json", key.library, device);
      break;
  }
  return std::filesystem::path(key.scenario) / to_string(key.mode) / name;
}

}  // namespace sluice::plan
