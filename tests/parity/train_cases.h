// tests/parity/train_cases.h - the models, batches and engines that are compared with PyTorch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/rng.h"
#include "sluice/train/bf16.h"
#include "sluice/train/engine.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace sluice::train {

using Values = std::vector<float>;

struct Case {
  std::string name;
  ModelSpec model{};
  int batch = 4;  // of a whole step
  OptimizerKind optimizer = OptimizerKind::lamb;
  bool soft = false;
  float smoothing = 0;
  bool unscored = false;      // some labels are -1
  bool as_it_starts = false;  // else scales and norms of a trained model, where branches count
  int grad_accum = 1;
  bool checkpointing = false;
};

inline ModelSpec small_vit5(int registers, Readout readout) {
  ModelSpec model;
  model.name = "small";
  model.dim = 64;
  model.heads = 2;
  model.layers = 2;
  model.image = 32;
  model.patch = 8;
  model.classes = 10;
  model.registers = registers;
  model.readout = readout;
  return model;
}

inline ModelSpec small_gpt(bool tied) {
  ModelSpec model;
  model.name = "small";
  model.family = Family::gpt;
  model.dim = 64;
  model.heads = 4;
  model.layers = 3;
  model.vocabulary = 97;
  model.sequence = 24;
  model.tied_head = tied;
  return model;
}

/// What the engine runs on: the CPU, or SLUICE_TEST_DEVICE (cuda:0). PyTorch's numbers are the
/// CPU's either way.
inline const char* test_device() {
  return std::getenv("SLUICE_TEST_DEVICE");  // NOLINT(concurrency-mt-unsafe): nobody sets any
}

inline std::vector<Case> make_cases() {
  std::vector<Case> cases(9);
  cases[0] = {.name = "vit5_cls", .model = small_vit5(4, Readout::cls)};
  cases[1] = {.name = "vit5_gap_without_registers", .model = small_vit5(0, Readout::gap)};
  cases[2] = {.name = "vit5_adamw_soft_targets",
              .model = small_vit5(4, Readout::gap),
              .optimizer = OptimizerKind::adamw,
              .soft = true,
              .smoothing = 0.1F};
  cases[3] = {.name = "vit5_two_micro_steps",
              .model = small_vit5(0, Readout::cls),
              .batch = 8,
              .grad_accum = 2};
  cases[4] = {.name = "vit5_checkpointing",
              .model = small_vit5(4, Readout::cls),
              .smoothing = 0.2F,
              .checkpointing = true};
  cases[5] = {.name = "gpt_tied", .model = small_gpt(true)};
  cases[6] = {.name = "gpt_untied", .model = small_gpt(false)};
  cases[7] = {.name = "gpt_adamw_unscored",
              .model = small_gpt(true),
              .batch = 3,
              .optimizer = OptimizerKind::adamw,
              .unscored = true};
  cases[8] = {.name = "vit5_tiny", .batch = 2, .as_it_starts = true};
  cases[8].model = find_model("vit5-tiny").value();
  if (test_device() != nullptr) {  // minutes on the two cores of a small machine
    cases.push_back({.name = "vit5_small", .batch = 2, .as_it_starts = true});
    cases.back().model = find_model("vit5-small").value();
  }
  return cases;
}

inline const std::vector<Case>& cases() {
  static const std::vector<Case> list = make_cases();
  return list;
}

inline EngineConfig config_of(const Case& c, Regime regime) {
  EngineConfig config;
  config.model = c.model;
  config.regime = regime;
  config.batch = c.batch / c.grad_accum;
  config.grad_accum = c.grad_accum;
  config.threads = 2;
  config.checkpointing = c.checkpointing;
  config.soft_targets = c.soft;
  config.label_smoothing = c.smoothing;
  config.update.kind = c.optimizer;
  config.optimizer = regime != Regime::bf16;  // which has none
  return config;
}

struct Inputs {
  Values images, soft;
  std::vector<std::int32_t> ids, labels;
};

/// Batches that differ: in one alone it is luck whose rounding errors of a small tensor are larger.
inline int draws_of(const Case& c) {
  return c.as_it_starts ? 1 : 4;
}

inline Inputs make_inputs(const Case& c, int draw = 0) {
  Rng rng({.seed = 7, .index = static_cast<std::uint64_t>(draw), .stage = 1});
  Inputs in;
  const ModelSpec& m = c.model;
  const auto count = static_cast<std::size_t>(c.batch);
  const auto outputs = static_cast<std::size_t>(m.outputs());
  if (m.family == Family::vit5) {
    in.images.resize(count * 3 * static_cast<std::size_t>(m.image * m.image));
    for (float& value : in.images)
      value = static_cast<float>(rng.normal());
  } else {
    in.ids.resize(count * static_cast<std::size_t>(m.sequence));
    for (std::int32_t& id : in.ids)
      id = static_cast<std::int32_t>(rng.below(outputs));
  }
  in.labels.resize(count * static_cast<std::size_t>(m.predictions()));
  for (std::int32_t& label : in.labels) {
    label = static_cast<std::int32_t>(rng.below(outputs));
    if (c.unscored && rng.below(4) == 0) label = -1;
  }
  if (c.soft) {
    in.soft.resize(count * outputs);
    for (std::size_t row = 0; row < count; ++row) {
      const auto other = static_cast<std::size_t>(rng.below(outputs));
      const auto share = static_cast<float>(rng.uniform());
      in.soft[row * outputs + static_cast<std::size_t>(in.labels[row])] += share;
      in.soft[row * outputs + other] += 1 - share;
    }
  }
  return in;
}

/// Micro-step `part` of the batch.
inline BatchView view_of(const Inputs& in, int part, int parts) {
  const auto share = [&](auto span) {
    const std::size_t size = span.size() / static_cast<std::size_t>(parts);
    return span.subspan(size * static_cast<std::size_t>(part), size);
  };
  BatchView view;
  view.images = share(std::span<const float>(in.images));
  view.soft_targets = share(std::span<const float>(in.soft));
  view.ids = share(std::span<const std::int32_t>(in.ids));
  view.labels = share(std::span<const std::int32_t>(in.labels));
  return view;
}

/// Norms and LayerScales around 1: at their start the branches would hardly count.
inline void trained_scales(Engine& engine) {
  std::uint32_t stage = 100;
  for (const Parameter& parameter : engine.program().parameters) {
    ++stage;
    const bool scales =
        parameter.init == Parameter::Init::ones || parameter.init == Parameter::Init::layer_scale;
    if (!scales) continue;
    Rng rng({.seed = 11, .stage = stage});
    Values values = engine.read(parameter.name).value();
    for (float& value : values)
      value = static_cast<float>(rng.uniform(0.5, 1.5));
    if (engine.program().options.regime == Regime::bf16)
      for (float& value : values)
        value = to_float(to_bf16(value));  // as all its weights
    ASSERT_TRUE(engine.write(parameter.name, values));
  }
}

inline std::unique_ptr<Engine> make_engine(const Case& c, Regime regime) {
  EngineConfig config = config_of(c, regime);
  if (const char* device = test_device()) config.device = device;
  auto engine = Engine::make(config);
  EXPECT_TRUE(engine) << engine.error().message;
  if (!engine) return nullptr;
  if (!c.as_it_starts) trained_scales(**engine);
  return std::move(*engine);
}

}  // namespace sluice::train
