// tests/train/engine_test.cpp - whole steps: gradients by differences, accumulation, checkpointing,
// refusals, no allocation.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/engine.h"

#include "sluice/core/rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/allocations.h"
#include "tests/train/support.h"
#include <cmath>
#include <limits>

namespace sluice::train::engine_test {
namespace {

using ::testing::HasSubstr;

ModelSpec toy_vit() {
  ModelSpec model;
  model.name = "toy";
  model.dim = 32;
  model.heads = 2;
  model.layers = 2;
  model.image = 16;
  model.patch = 4;
  model.classes = 7;
  return model;
}

ModelSpec toy_gpt() {
  ModelSpec model;
  model.name = "toy-gpt";
  model.family = Family::gpt;
  model.dim = 24;
  model.heads = 3;
  model.layers = 2;
  model.vocabulary = 11;
  model.sequence = 9;
  return model;
}

/// A batch with its memory.
struct Held {
  std::vector<float> images, soft;
  std::vector<std::int32_t> ids, labels;
  [[nodiscard]] BatchView view() const { return {images, false, ids, labels, soft}; }
  /// Samples [begin, end) of it.
  [[nodiscard]] BatchView part(const ModelSpec& model, std::size_t begin, std::size_t end) const {
    const auto cut = [&](const auto& all, std::size_t per) {
      return all.empty() ? std::span(all.data(), 0)
                         : std::span(all.data() + begin * per, (end - begin) * per);
    };
    BatchView view;
    view.images = cut(
        images, 3U * static_cast<std::size_t>(model.image) * static_cast<std::size_t>(model.image));
    view.ids = cut(ids, static_cast<std::size_t>(model.sequence));
    view.labels = cut(labels, static_cast<std::size_t>(model.predictions()));
    return view;
  }
};

Held draw(const ModelSpec& model, int batch, std::uint64_t seed) {
  Rng rng({.seed = seed});
  Held held;
  const auto below = [&](int bound) {
    return static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(bound)));
  };
  if (model.family == Family::vit5) {
    held.images.resize(static_cast<std::size_t>(batch * 3 * model.image * model.image));
    for (float& value : held.images)
      value = static_cast<float>(rng.normal());
  } else {
    held.ids.resize(static_cast<std::size_t>(batch * model.sequence));
    for (std::int32_t& id : held.ids)
      id = below(model.vocabulary);
  }
  held.labels.resize(static_cast<std::size_t>(batch * model.predictions()));
  for (std::int32_t& label : held.labels)
    label = below(model.outputs());
  return held;
}

EngineConfig config_of(const ModelSpec& model, int batch) {
  EngineConfig config;
  config.model = model;
  config.batch = batch;
  config.threads = 2;
  return config;
}

std::unique_ptr<Engine> made(const EngineConfig& config) {
  auto engine = Engine::make(config);
  EXPECT_TRUE(engine) << engine.error().message;
  return std::move(engine).value();
}

/// LayerScale begins at 1e-4, where the blocks hardly count: tests give it a size that matters.
void wake_blocks(Engine& engine) {
  for (const Parameter& parameter : engine.program().parameters) {
    if (parameter.init != Parameter::Init::layer_scale) continue;
    std::vector<float> values = engine.read(parameter.name).value();
    for (float& value : values)
      value = 0.5F;
    ASSERT_TRUE(engine.write(parameter.name, values));
  }
}

TEST(Engine, GradientsAreTheSlopesOfTheLoss) {
  ModelSpec gap = toy_vit();
  gap.readout = Readout::gap;
  gap.registers = 0;
  ModelSpec untied = toy_gpt();
  untied.tied_head = false;
  for (const ModelSpec& model : {toy_vit(), gap, toy_gpt(), untied}) {
    const Held batch = draw(model, 3, 5);
    EngineConfig config = config_of(model, 3);
    config.optimizer = false;
    config.label_smoothing = 0.1F;
    const auto engine = made(config);
    wake_blocks(*engine);
    ASSERT_TRUE(engine->micro_step(batch.view()));
    Rng rng({.seed = 9});
    for (const Parameter& parameter : engine->program().parameters) {
      const std::vector<float> values = engine->read(parameter.name).value();
      const std::vector<float> gradient = engine->read(parameter.name + ".grad").value();
      // Along the gradient itself the slope is its norm: the largest signal over fp32's noise.
      double norm = 0;
      for (const float g : gradient)
        norm += static_cast<double>(g) * static_cast<double>(g);
      norm = std::sqrt(norm);
      ASSERT_GT(norm, 0) << model.name << " " << parameter.name;
      const double step =
          2e-2 * std::max(0.05, 1.0 / std::sqrt(static_cast<double>(values.size())));
      std::array<double, 2> losses{};
      for (const int side : {0, 1}) {
        std::vector<float> moved = values;
        for (std::size_t i = 0; i < moved.size(); ++i) {
          moved[i] += static_cast<float>((side == 0 ? -step : step) *
                                         static_cast<double>(gradient[i]) / norm);
        }
        ASSERT_TRUE(engine->write(parameter.name, moved));
        losses[static_cast<std::size_t>(side)] =
            static_cast<double>(engine->evaluate(batch.view()).value().loss);
      }
      ASSERT_TRUE(engine->write(parameter.name, values));
      const double slope = (losses[1] - losses[0]) / (2 * step);
      EXPECT_NEAR(slope / norm, 1.0, 0.03)
          << model.name << " " << parameter.name << " norm " << norm;
    }
  }
}

TEST(Engine, TheInputHasAGradient) {
  EngineConfig config = config_of(toy_vit(), 2);
  config.input_gradient = true;
  const auto engine = made(config);
  wake_blocks(*engine);
  const Held batch = draw(config.model, 2, 1);
  ASSERT_TRUE(engine->micro_step(batch.view()));
  const std::vector<float> gradient = engine->read("d_images").value();
  Held moved = batch;
  double norm = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    norm += static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
    moved.images[i] += gradient[i] * 0.5F;
  }
  const double before = static_cast<double>(engine->evaluate(batch.view()).value().loss);
  const double after = static_cast<double>(engine->evaluate(moved.view()).value().loss);
  EXPECT_NEAR((after - before) / (0.5 * norm), 1.0, 0.1);
}

TEST(Engine, EvaluationIsTheSameTwiceAndHasTheShapeOfTheLogits) {
  EngineConfig config = config_of(toy_vit(), 2);
  config.model.drop_path = 0.5F;
  const auto engine = made(config);
  const Held batch = draw(config.model, 2, 1);
  const auto first = engine->evaluate(batch.view()).value();
  const auto second = engine->evaluate(batch.view()).value();
  EXPECT_EQ(first.logits.size(), 2U * 7U);
  EXPECT_EQ(first.logits, second.logits);
  EXPECT_NEAR(static_cast<double>(first.loss), std::log(7.0), 0.5);
}

/// Weights after `steps` steps over fixed batches.
std::vector<float> trained(const EngineConfig& config, const Held& batch, int steps,
                           const char* tensor) {
  const auto engine = made(config);
  wake_blocks(*engine);
  const auto per = static_cast<std::size_t>(config.batch);
  for (int step = 0; step < steps; ++step) {
    for (std::size_t micro = 0; micro < static_cast<std::size_t>(config.grad_accum); ++micro) {
      EXPECT_TRUE(engine->micro_step(batch.part(config.model, micro * per, (micro + 1) * per)));
    }
    EXPECT_TRUE(engine->update());
  }
  return engine->read(tensor).value();
}

TEST(Engine, AccumulatedMicroStepsEqualOneStep) {
  for (ModelSpec model : {toy_vit(), toy_gpt()}) {
    model.drop_path = 0.3F;
    const Held batch = draw(model, 8, 2);
    EngineConfig whole = config_of(model, 8);
    EngineConfig parts = config_of(model, 2);
    parts.grad_accum = 4;
    const char* weight = "blocks.1.mlp.fc1.weight";
    EXPECT_LT(
        testing::relative_error(trained(parts, batch, 3, weight), trained(whole, batch, 3, weight)),
        1e-5);
  }
}

TEST(Engine, CheckpointingAndASecondRunChangeNoBit) {
  for (ModelSpec model : {toy_vit(), toy_gpt()}) {
    model.drop_path = 0.2F;
    const Held batch = draw(model, 4, 3);
    EngineConfig config = config_of(model, 4);
    const char* weight = "blocks.0.attn.qkv.weight";
    const std::vector<float> plain = trained(config, batch, 3, weight);
    EXPECT_EQ(plain, trained(config, batch, 3, weight));
    config.checkpointing = true;
    EXPECT_EQ(plain, trained(config, batch, 3, weight));
  }
}

TEST(Engine, TheNumberOfThreadsHardlyMatters) {
  const ModelSpec model = toy_vit();
  const Held batch = draw(model, 5, 4);
  EngineConfig one = config_of(model, 5);
  one.threads = 1;
  EngineConfig three = one;
  three.threads = 3;
  const char* weight = "blocks.1.attn.proj.weight";
  EXPECT_LT(
      testing::relative_error(trained(three, batch, 2, weight), trained(one, batch, 2, weight)),
      1e-5);
}

TEST(Engine, LayoutsOfTheImagesAgree) {
  const ModelSpec model = toy_vit();
  const auto engine = made(config_of(model, 2));
  const Held batch = draw(model, 2, 6);
  Held last = batch;
  const int side = model.image;
  for (int n = 0; n < 2; ++n) {
    for (int c = 0; c < 3; ++c) {
      for (int i = 0; i < side * side; ++i) {
        last.images[static_cast<std::size_t>((n * side * side + i) * 3 + c)] =
            batch.images[static_cast<std::size_t>((n * 3 + c) * side * side + i)];
      }
    }
  }
  BatchView view = last.view();
  view.channels_last = true;
  EXPECT_EQ(engine->evaluate(batch.view()).value().logits, engine->evaluate(view).value().logits);
}

TEST(Engine, ALossThatIsNotFiniteStopsWithTheStepNamed) {
  const ModelSpec model = toy_vit();
  const auto engine = made(config_of(model, 2));
  Held batch = draw(model, 2, 6);
  ASSERT_TRUE(engine->micro_step(batch.view()));
  ASSERT_TRUE(engine->update());
  batch.images[3] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> before = engine->read("head.weight").value();
  ASSERT_TRUE(engine->micro_step(batch.view()));
  const auto result = engine->update();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::measurement);
  EXPECT_THAT(result.error().message, HasSubstr("step 1: the loss is nan"));
  EXPECT_EQ(before, engine->read("head.weight").value());
}

TEST(Engine, AStepAllocatesNothingAfterTheFirst) {
  ModelSpec model = toy_vit();
  model.drop_path = 0.1F;
  EngineConfig config = config_of(model, 4);
  config.average = true;
  const auto engine = made(config);
  const Held batch = draw(model, 4, 8);
  std::size_t before = 0;
  for (int step = 0; step < 4; ++step) {
    if (step == 1) before = testing_support::allocations();
    ASSERT_TRUE(engine->micro_step(batch.view()));
    ASSERT_TRUE(engine->update());
  }
  EXPECT_EQ(testing_support::allocations() - before, 0U);
}

TEST(Engine, AverageBeginsAtTheWeightsAndFollows) {
  EngineConfig config = config_of(toy_vit(), 2);
  config.average = true;
  config.update.average_decay = 0.5;
  const auto engine = made(config);
  const std::vector<float> start = engine->read("head.weight").value();
  EXPECT_EQ(start, engine->read("head.weight.ema").value());
  const Held batch = draw(config.model, 2, 8);
  ASSERT_TRUE(engine->micro_step(batch.view()));
  ASSERT_TRUE(engine->update());
  const std::vector<float> now = engine->read("head.weight").value();
  const std::vector<float> average = engine->read("head.weight.ema").value();
  std::vector<float> want(now.size());
  for (std::size_t i = 0; i < now.size(); ++i)
    want[i] = 0.5F * start[i] + 0.5F * now[i];
  EXPECT_LT(testing::relative_error(average, want), 1e-6);
  const float plain = engine->evaluate(batch.view()).value().loss;
  EXPECT_NE(plain, engine->evaluate(batch.view(), true).value().loss);
  EXPECT_EQ(now, engine->read("head.weight").value());
}

TEST(Engine, Bf16StaysNearFp32OrSaysThatItRunsAsFp32) {
  for (const ModelSpec& model : {toy_vit(), toy_gpt()}) {
    const Held batch = draw(model, 4, 3);
    EngineConfig config = config_of(model, 4);
    const auto exact = made(config);
    for (const Regime regime : {Regime::mixed, Regime::mixed_bf16_residual, Regime::bf16}) {
      config.regime = regime;
      config.optimizer = regime != Regime::bf16;
      const auto engine = made(config);
      if (engine->info().regime == Regime::fp32) {
        EXPECT_THAT(engine->info().note, HasSubstr("runs as fp32"));
        continue;
      }
      EXPECT_EQ(engine->info().activation_type, Dtype::bf16);
      const double error = testing::relative_error(engine->evaluate(batch.view()).value().logits,
                                                   exact->evaluate(batch.view()).value().logits);
      EXPECT_GT(error, 0) << "nothing was rounded";
      EXPECT_LT(error, 0.03) << to_string(regime);
      ASSERT_TRUE(engine->micro_step(batch.view()));
      ASSERT_TRUE(exact->micro_step(batch.view()));
      EXPECT_LT(testing::relative_error(engine->read("blocks.0.attn.qkv.weight.grad").value(),
                                        exact->read("blocks.0.attn.qkv.weight.grad").value()),
                0.05)
          << to_string(regime);
      ASSERT_TRUE(exact->update());  // its micro-step is done
      exact->set_steps(0);
      break;  // weights of `exact` have moved: one regime per model is enough for gradients
    }
  }
}

TEST(Engine, ARefusedBatchDoesNotReachTheEngine) {
  EngineConfig config = config_of(toy_gpt(), 2);
  config.optimizer = false;
  const auto engine = made(config);
  const Held good = draw(config.model, 2, 1);
  ASSERT_TRUE(engine->micro_step(good.view()));
  const float loss = engine->update().value().loss;
  Held bad = good;
  bad.ids[3] = 1'000'000;
  EXPECT_THAT(engine->micro_step(bad.view()).error().message, HasSubstr("token id 1000000; 0 to"));
  ASSERT_TRUE(engine->micro_step_again());
  EXPECT_EQ(engine->update().value().loss, loss);
}

TEST(Engine, WhatItCannotDoIsRefused) {
  EngineConfig config = config_of(toy_vit(), 2);
  config.device = "cuda:99";  // no module, no driver or no such device: one line each
  EXPECT_EQ(Engine::make(config).error().code, Errc::usage);
  EXPECT_THAT(Engine::make(config).error().message, HasSubstr("device cuda:99: "));
  config.device = "cuda:x";
  EXPECT_THAT(Engine::make(config).error().message, HasSubstr("'cuda:x' is not known; cpu and"));
  config.device = "tpu";
  EXPECT_THAT(Engine::make(config).error().message, HasSubstr("'tpu' is not known"));
  config = config_of(toy_vit(), 2);
  config.regime = Regime::bf16;
  EXPECT_THAT(Engine::make(config).error().message, HasSubstr("forward and backward only"));
  config = config_of(find_model("vit5-base").value(), 100'000);
  EXPECT_THAT(Engine::make(config).error().message, HasSubstr("a batch of up to "));
  config = config_of(toy_vit(), 2);
  const auto engine = made(config);
  Held batch = draw(config.model, 2, 1);
  batch.labels[1] = 7;
  EXPECT_THAT(engine->micro_step(batch.view()).error().message, HasSubstr("label 7; 0 to 6"));
  batch.labels.pop_back();
  batch.labels[0] = 0;
  EXPECT_THAT(engine->micro_step(batch.view()).error().message,
              HasSubstr("labels: 4 bytes given; 8 are expected"));
}

}  // namespace
}  // namespace sluice::train::engine_test
