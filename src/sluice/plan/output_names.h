// sluice/plan/output_names.h - the one function that names result files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/plan/matrix.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace sluice::plan {

struct OutputKey {
  std::string scenario;
  Mode mode = Mode::micro;
  std::string library;          // in decode mode the decoder
  std::string device = "none";  // as asked for
  // pipeline mode only
  Scope scope = Scope::decode_dataloader_augment;
  std::optional<std::int64_t> num_items = std::nullopt;  // none: all
  std::int64_t num_runs = 1;
  std::int64_t workers = 0;
  std::int64_t batch_size = 32;
};

/// Relative to results/ of the run folder: image-rgb/micro/pillow_micro_results.json.
std::filesystem::path output_path(const OutputKey& key);

}  // namespace sluice::plan
