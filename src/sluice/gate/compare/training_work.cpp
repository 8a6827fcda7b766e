// sluice/gate/compare/training_work.cpp - read from metrics.json and from the configuration of a
// result file.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/compare/training_work.h"

#include "sluice/core/json.h"

namespace sluice::gate {
namespace {

/// Of files that do not tell.
std::string earlier_last_block(const std::string& device, bool vit, const std::string& compile) {
  const bool shortened = device.starts_with("cuda") && vit && compile != "off";
  return shortened ? "class-token" : "full";
}

}  // namespace

std::string last_block_of(const results::TrainingMetrics& metrics) {
  const results::TrainingMetrics::Config& config = metrics.config;
  if (config.mode != "synthetic" && config.mode != "e2e") return "";
  const std::string told = string_at(config.other, "last_block");
  return told.empty() ? earlier_last_block_of(metrics) : told;
}

std::string earlier_last_block_of(const results::TrainingMetrics& metrics) {
  const results::TrainingMetrics::Config& config = metrics.config;
  return earlier_last_block(config.device, config.model.starts_with("vit5"),
                            string_at(config.other, "compile"));
}

std::string last_block_of(const results::ResultFile& file) {
  const Json& config = file.run_config;
  if (string_at(config, "command") != "bench-training") return "";
  if (const std::string told = string_at(config, "last_block"); !told.empty()) return told;
  return earlier_last_block(string_at(config, "device"),
                            string_at(at(config, "model"), "family") == "vit5",
                            string_at(config, "compile"));
}

std::string estimator_of(const results::TrainingMetrics& metrics) {
  return metrics.mfu.estimator == "none" ? "" : metrics.mfu.estimator;
}

std::string estimator_of(const results::ResultFile& file) {
  return file.training ? estimator_of(*file.training) : "";
}

}  // namespace sluice::gate
