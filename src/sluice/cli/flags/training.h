// sluice/cli/flags/training.h - which model and how it is trained: the flags that every command
// with an engine shares.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"
#include "sluice/scenario/training/mixer.h"
#include "sluice/train/engine.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sluice::cli {

/// As typed. An empty optional: what the model or the device implies.
struct TrainingFlags {
  std::string model = "vit5-tiny";
  std::optional<int> classes, image_size, patch_size, dim, layers, heads, sequence, registers;
  std::optional<std::string> readout;
  double drop_path = 0;
  std::optional<std::string> dtype;  // bf16 on CUDA, fp32 on the CPU
  std::string compile = "graph";
  std::optional<std::string> last_block;  // `bench training` takes a list; its default is full
  int threads = 0;
  int grad_accum = 1;
  bool checkpoint_activations = false;
  std::string optimizer = "lamb";
  std::optional<double> learning_rate;  // 4e-3 for LAMB, 1e-3 for AdamW
  double weight_decay = 0.05;
  double clip = 1;
  bool ema = false;
  double ema_decay = 0.99996;
  double label_smoothing = 0;
};

/// --batch-size of a GPT unless it is given: a sample of it is a long sequence.
inline constexpr int kGptBatch = 8;

/// `flags` holds the defaults and must outlive the parse.
void add_training_flags(CLI::App& command, TrainingFlags& flags);

/// --mixup and --cutmix, of commands that train on images.
void add_mix_flags(CLI::App& command, scenario::MixOptions& mix);

/// The preset with the sizes that were given, checked.
Result<train::ModelSpec> model_of(const TrainingFlags& flags);

/// Errors name the flag: an unknown word, a shortcut that would change what the model computes.
Result<train::LastBlock> last_block_of(const std::string& text, const train::ModelSpec& model);

/// Everything but the schedule (warm-up and total steps), which the command knows. `device`: "cpu"
/// or "cuda:N", `batch`: samples of a micro-step.
Result<train::EngineConfig> engine_config_of(const TrainingFlags& flags, const std::string& device,
                                             int batch, std::uint64_t seed);

}  // namespace sluice::cli
