// sluice/cli/flags/training.cpp - one table of model and engine flags, and what they come to.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/flags/training.h"

#include <fmt/format.h>

namespace sluice::cli {
namespace {

constexpr double kLambRate = 4e-3, kAdamwRate = 1e-3;
constexpr int kMaxSize = 65'536;

std::string preset_names() {
  std::string names;
  for (const train::ModelSpec& model : train::model_presets())
    names += (names.empty() ? "" : ",") + model.name;
  return names;
}

void add_model_flags(CLI::App& command, TrainingFlags& flags) {
  begin_group(command, "Model");
  add_value(command, "--model", flags.model, "{" + preset_names() + "}", "model to train")
      ->capture_default_str();
  const auto size = [&](const char* name, std::optional<int>& value, const char* text) {
    add_value(command, name, value, "N", text)->check(CLI::Range(1, kMaxSize));
  };
  add_value(command, "--classes", flags.classes, "N",
            "classes that the model tells apart; default: the preset's")
      ->check(CLI::Range(2, 1'000'000));
  size("--image-size", flags.image_size, "side of the images in pixels; default: the preset's");
  size("--patch-size", flags.patch_size, "side of a patch in pixels; default: the preset's");
  size("--dim", flags.dim, "width of the model; default: the preset's");
  size("--layers", flags.layers, "number of blocks; default: the preset's");
  size("--heads", flags.heads, "number of attention heads; default: the preset's");
  size("--seq-len", flags.sequence, "tokens per sample of a GPT; default: the preset's");
  add_value(command, "--registers", flags.registers, "N",
            "register tokens of a ViT, a square number; default: the preset's")
      ->check(CLI::Range(0, 1024));
  add_value(command, "--readout", flags.readout, "{cls,gap}",
            "what a ViT's head reads: its class token, or the mean over the patches; default: cls");
  add_number(command, "--drop-path", flags.drop_path, 0.0, 0.99,
             "probability of dropping a branch of a block");
}

void add_optimizer_flags(CLI::App& command, TrainingFlags& flags) {
  begin_group(command, "Optimizer");
  add_choice(command, "--optimizer", flags.optimizer, {"lamb", "adamw"},
             "optimizer that updates the weights");
  command
      .add_option("--lr", flags.learning_rate,
                  "highest learning rate; default: 0.004 with lamb, 0.001 with adamw")
      ->check(CLI::Range(0.0, 1000.0));
  add_number(command, "--weight-decay", flags.weight_decay, 0.0, 100.0,
             "decoupled weight decay of the weight matrices");
  add_number(command, "--clip", flags.clip, 0.0, 1e9,
             "clip the gradient to this norm; 0: do not clip");
  command.add_flag("--ema", flags.ema, "also keep a moving average of the weights");
  add_number(command, "--ema-decay", flags.ema_decay, 0.0, 1.0,
             "decay per step of the moving average of the weights");
  add_number(command, "--label-smoothing", flags.label_smoothing, 0.0, 0.99,
             "share of the target probability that is spread evenly over all classes");
}

}  // namespace

void add_training_flags(CLI::App& command, TrainingFlags& flags) {
  add_model_flags(command, flags);
  begin_group(command, "Engine");
  add_value(command, "--dtype", flags.dtype, "{fp32,bf16,bf16-residual,bf16-weights}",
            "number format of activations and matrix products; default: bf16 on CUDA, fp32 "
            "on the CPU");
  add_value(command, "--compile", flags.compile, "{off,fused,graph}",
            "how far a CUDA step is fused; the CPU has one form")
      ->capture_default_str();
  add_value(command, "--last-block", flags.last_block, "{full,class-token}",
            "how much of the last block is computed: all of it, or after its attention the class "
            "token alone, which is all that --readout cls reads; default: class-token where the "
            "model allows it, full in bench training");
  add_number(command, "--threads", flags.threads, 0, 1024,
             "threads of the CPU engine; 0: one per usable core");
  add_number(command, "--grad-accum,--gradient-accumulation-steps", flags.grad_accum, 1, kMaxSize,
             "batches whose gradients are added up for one update");
  command.add_flag(
      "--checkpoint-activations,--checkpointing", flags.checkpoint_activations,
      "keep only the inputs of blocks and compute the rest again: less memory, more time");
  add_optimizer_flags(command, flags);
}

void add_mix_flags(CLI::App& command, scenario::MixOptions& mix) {
  add_value(command, "--mixup", mix.mixup, "A",
            "mix pairs of images with weights from Beta(A, A); 0: off")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  add_value(command, "--cutmix", mix.cutmix, "A",
            "paste a part of one image into another, its area from Beta(A, A); 0: off")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
}

Result<train::ModelSpec> model_of(const TrainingFlags& flags) {
  auto found = train::find_model(flags.model);
  if (!found) return Error{Errc::usage, "--model: " + found.error().message};
  train::ModelSpec model = std::move(*found);
  const bool vit = model.family == train::Family::vit5;
  const auto misplaced = [&](const char* flag) {
    return Error{Errc::usage, fmt::format("{}: does not apply to {}; it is for {} models", flag,
                                          model.name, vit ? "gpt" : "vit5")};
  };
  if (!vit && flags.classes) return misplaced("--classes");
  if (!vit && flags.image_size) return misplaced("--image-size");
  if (!vit && flags.patch_size) return misplaced("--patch-size");
  if (vit && flags.sequence) return misplaced("--seq-len");
  if (!vit && flags.registers) return misplaced("--registers");
  if (!vit && flags.readout) return misplaced("--readout");
  if (flags.readout) {
    const auto readout = train::parse_readout(*flags.readout);
    if (!readout) return Error{Errc::usage, "--readout: " + readout.error().message};
    model.readout = *readout;
  }
  model.registers = flags.registers.value_or(model.registers);
  model.classes = flags.classes.value_or(model.classes);
  model.image = flags.image_size.value_or(model.image);
  model.patch = flags.patch_size.value_or(model.patch);
  model.dim = flags.dim.value_or(model.dim);
  model.layers = flags.layers.value_or(model.layers);
  model.heads = flags.heads.value_or(model.heads);
  model.sequence = flags.sequence.value_or(model.sequence);
  model.drop_path = static_cast<float>(flags.drop_path);
  SLUICE_CHECK(train::check_model(model));
  return model;
}

Result<train::LastBlock> last_block_of(const std::string& text, const train::ModelSpec& model) {
  const auto parsed = train::parse_last_block(text);
  if (!parsed) return Error{Errc::usage, "--last-block: " + parsed.error().message};
  if (const Status fits = train::check_last_block(model, *parsed); !fits)
    return Error{Errc::usage, "--" + fits.error().message};
  return *parsed;
}

Result<train::EngineConfig> engine_config_of(const TrainingFlags& flags, const std::string& device,
                                             int batch, std::uint64_t seed) {
  train::EngineConfig config;
  SLUICE_TRY(config.model, model_of(flags));
  config.device = device;
  SLUICE_TRY(config.regime,
             train::parse_regime(flags.dtype.value_or(device == "cpu" ? "fp32" : "bf16")));
  SLUICE_TRY(config.rung, train::parse_rung(flags.compile));
  if (flags.last_block) {
    SLUICE_TRY(config.last_block, last_block_of(*flags.last_block, config.model));
  }
  config.batch = batch;
  config.grad_accum = flags.grad_accum;
  config.threads = flags.threads;
  config.optimizer = config.regime != train::Regime::bf16;
  config.average = flags.ema;
  config.checkpointing = flags.checkpoint_activations;
  config.label_smoothing = static_cast<float>(flags.label_smoothing);
  config.seed = seed;
  SLUICE_TRY(config.update.kind, train::parse_optimizer(flags.optimizer));
  const bool lamb = config.update.kind == train::OptimizerKind::lamb;
  config.update.learning_rate = flags.learning_rate.value_or(lamb ? kLambRate : kAdamwRate);
  config.update.weight_decay = flags.weight_decay;
  config.update.max_gradient_norm = flags.clip;
  config.update.average_decay = flags.ema_decay;
  return config;
}

}  // namespace sluice::cli
