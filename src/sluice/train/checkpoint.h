// sluice/train/checkpoint.h - weights and training state in safetensors, which PyTorch reads and
// writes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/train/engine.h"

#include <filesystem>

namespace sluice::train {

/// Parameters by their names, "optimizer.m.<name>", "optimizer.v.<name>", "ema.<name>" where they
/// exist; __metadata__ holds the model (as JSON), step, seed, optimizer settings and `extra`
/// (loader state, epoch). Written beside and renamed: a crash leaves the old file.
Status save_checkpoint(const std::filesystem::path& path, const Engine& engine, const Json& extra);

struct LoadedCheckpoint {
  std::uint64_t step = 0;
  bool has_optimizer = false;
  Json extra;
};
/// Refuses (invalid_input), changing nothing: a truncated or malformed file, another model, a
/// tensor that is missing, unknown or of another shape; each named. Weights alone (as PyTorch
/// writes them) are accepted.
Result<LoadedCheckpoint> load_checkpoint(const std::filesystem::path& path, Engine& engine);

}  // namespace sluice::train
