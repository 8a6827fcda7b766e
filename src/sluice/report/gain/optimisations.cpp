// sluice/report/gain/optimisations.cpp - keys of a run's configuration that make it faster or
// smaller.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gain/optimisations.h"

#include "sluice/core/json.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <cmath>

namespace sluice::report {
namespace {

void add_loader(std::vector<std::string>& list, const Json& config) {
  if (const Json& size = at(config, "bundle_size_gb"); at(config, "bundling") == true)
    list.push_back(fmt::format("Array bundling enabled ({:g} GB chunks)",
                               size.is_number() ? size.get<double>() : NAN));
  if (at(config, "persistent_workers") == true) list.emplace_back("Persistent workers");
  if (at(config, "cached") == true) list.emplace_back("Local caching");
  if (at(config, "pin_memory") == true) list.emplace_back("Pinned memory");
  if (string_at(config, "read_mode") == "mmap") list.emplace_back("Files read through a map");
  if (string_at(config, "decode") == "scaled")
    list.emplace_back("JPEGs decoded at a smaller scale");
  const std::string lanes = printable(string_at(config, "loader"));
  if (lanes == "gpu" || lanes == "hybrid")
    list.push_back(fmt::format("Images decoded by the GPU ({})", lanes));
  if (string_at(config, "upload") == "uint8") list.emplace_back("Batches sent to the GPU as bytes");
}

void add_training(std::vector<std::string>& list, const results::TrainingMetrics& metrics) {
  const results::TrainingMetrics::Config& config = metrics.config;
  if (metrics.amp.enabled) list.emplace_back("Mixed precision (AMP)");
  if (config.checkpoint_activations == true) list.emplace_back("Activation checkpointing");
  if (config.grad_accum_steps.value_or(1) > 1)
    list.push_back(
        fmt::format("Gradient accumulation over {} micro-steps", *config.grad_accum_steps));
  if (config.device.starts_with("cuda")) {
    const std::string rung = printable(string_at(config.other, "compile"));
    if (rung == "fused") list.emplace_back("Fused kernels");
    if (rung == "graph") list.emplace_back("Fused kernels, launched as one graph");
  }
  if (string_at(config.other, "last_block") == "class-token")
    list.emplace_back("Last block on the class token alone: less work, same loss and gradients");
}

}  // namespace

std::vector<std::string> optimisations_of(const results::ResultFile& file) {
  std::vector<std::string> list;
  add_loader(list, file.run_config);
  if (file.training) add_training(list, *file.training);
  return list;
}

}  // namespace sluice::report
