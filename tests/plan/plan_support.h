// tests/plan/plan_support.h - short documents read as run configurations.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/config/parse.h"
#include "sluice/plan/run_config.h"

#include <string>
#include <string_view>

namespace sluice::plan {

inline Result<RunConfig> read(std::string_view yaml, const Overrides& overrides = {}) {
  auto document = config::parse(yaml, "run.yaml");
  if (!document) return document.error();
  return read_run_config(std::move(document).value(), overrides);
}

/// "" when it was accepted.
inline std::string error_of(std::string_view yaml, const Overrides& overrides = {}) {
  const auto run = read(yaml, overrides);
  return run ? "" : run.error().message;
}

inline constexpr const char* kMicro = "selection: {scenario: image-rgb, libraries: [pillow]}\n";
inline constexpr const char* kPipeline =
    "selection: {scenario: image-rgb, mode: pipeline, libraries: [pillow, torchvision]}\n"
    "data: {num_items: 100}\n"
    "execution: {batch_size: 8, workers: 2, pipeline_scope: memory_dataloader_augment}\n";

}  // namespace sluice::plan
