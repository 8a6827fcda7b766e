// tests/train/cuda_engine_test.cpp - whole steps on a GPU: every rung and regime against the CPU
// engine, the same bits twice, refusals.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/engine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/train/cuda_support.h"
#include "tests/train/curve_support.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace sluice::train::cuda_engine_test {
namespace {

using cuda::testing::OnDevice;
using testing::Draws;
using testing::relative_error;

ModelSpec toy(Family family) {
  ModelSpec model;
  model.name = "toy";
  model.family = family;
  model.dim = 64;
  model.heads = 2;
  model.layers = 3;
  model.image = 48;
  model.patch = 8;
  model.classes = 17;
  model.vocabulary = 61;
  model.sequence = 45;
  return model;
}

struct Case {
  std::string name;
  EngineConfig config;
};

std::vector<Case> cases() {
  const auto of = [](Family family, Regime regime) {
    EngineConfig config;
    config.model = toy(family);
    config.regime = regime;
    config.batch = 5;
    config.optimizer = regime != Regime::bf16;
    config.update.warmup_steps = 0;
    return config;
  };
  std::vector<Case> all;
  for (const auto& [word, regime] :
       {std::pair{"Fp32", Regime::fp32}, std::pair{"Mixed", Regime::mixed},
        std::pair{"MixedBf16Residual", Regime::mixed_bf16_residual},
        std::pair{"Bf16Weights", Regime::bf16}}) {
    all.push_back({std::string("Vit") + word, of(Family::vit5, regime)});
    all.push_back({std::string("Gpt") + word, of(Family::gpt, regime)});
  }
  EngineConfig dropping = of(Family::vit5, Regime::fp32);
  dropping.model.drop_path = 0.3F;
  dropping.grad_accum = 2;
  all.push_back({"VitDropPathAccumulated", dropping});
  EngineConfig other = of(Family::vit5, Regime::mixed);
  other.model.readout = Readout::gap;
  other.model.registers = 0;
  other.update.kind = OptimizerKind::adamw;
  other.checkpointing = true;
  other.average = true;
  other.label_smoothing = 0.1F;
  all.push_back({"VitMeanAdamwCheckpointed", other});
  for (const auto& [name, regime] :
       {std::pair{"VitTiny", Regime::mixed}, std::pair{"VitTinyBf16Weights", Regime::bf16}}) {
    EngineConfig small = of(Family::vit5, regime);
    small.model = find_model("vit5-tiny").value();
    small.batch = 3;
    all.push_back({name, small});
  }
  // Products that end in GELU (ends_in_gelu()).
  for (const auto& [name, regime] : {std::pair{"VitGeluInProducts", Regime::mixed},
                                     std::pair{"VitGeluInProductsBf16Weights", Regime::bf16}}) {
    EngineConfig ended = of(Family::vit5, regime);
    ended.model.dim = 128;
    ended.model.drop_path = 0.3F;
    all.push_back({name, ended});
  }
  // Attention of many tokens, which leaves q and k to its backward (prepared_elements()).
  EngineConfig longer = of(Family::gpt, Regime::mixed);
  longer.model.sequence = 300;
  longer.model.heads = 1;
  longer.batch = 2;
  longer.update.kind = OptimizerKind::adamw;
  longer.average = true;
  all.push_back({"GptOfManyTokens", longer});
  longer.checkpointing = true;
  all.push_back({"GptOfManyTokensCheckpointed", longer});
  return all;
}

struct Held {
  std::vector<float> images;
  std::vector<std::int32_t> ids, labels;
  [[nodiscard]] BatchView view() const { return {images, false, ids, labels, {}}; }
};

Held draw(const EngineConfig& config, std::uint64_t seed) {
  const ModelSpec& model = config.model;
  Draws draws(seed);
  Held held;
  if (model.family == Family::vit5)
    held.images = draws.normals<float>(static_cast<std::int64_t>(config.batch) * 3 * model.image *
                                       model.image);
  for (int i = 0; model.family == Family::gpt && i < config.batch * model.sequence; ++i)
    held.ids.push_back(static_cast<std::int32_t>(draws.integer(0, model.vocabulary - 1)));
  for (int i = 0; i < config.batch * model.predictions(); ++i)
    held.labels.push_back(static_cast<std::int32_t>(draws.integer(0, model.outputs() - 1)));
  return held;
}

std::unique_ptr<Engine> made(const EngineConfig& config) {
  auto engine = Engine::make(config);
  EXPECT_TRUE(engine) << engine.error().message;
  if (!engine) return nullptr;
  // LayerScale begins at 1e-4, where a wrong branch is hardly seen.
  Draws draws(5);
  for (const Parameter& p : (*engine)->program().parameters) {
    if (p.name.find(".gamma") == std::string::npos) continue;
    std::vector<float> values =
        draws.normals<float>((*engine)->program().plan.at(p.value).elements(), 0.3, 0.5);
    if (config.regime == Regime::bf16)
      for (float& value : values)
        value = to_float(to_bf16(value));
    EXPECT_TRUE((*engine)->write(p.name, values));
  }
  return std::move(*engine);
}

/// One step; every gradient is read before the update.
std::map<std::string, std::vector<float>> gradients(Engine& engine, std::uint64_t seed) {
  for (int micro = 0; micro < engine.config().grad_accum; ++micro) {
    const Held held = draw(engine.config(), seed + static_cast<std::uint64_t>(micro));
    const Status done = engine.micro_step(held.view());
    EXPECT_TRUE(done) << done.error().message;
  }
  std::map<std::string, std::vector<float>> found;
  for (const Parameter& p : engine.program().parameters)
    found[p.name] = engine.read(p.name + ".grad").value();
  return found;
}

/// Every rung with every last block that the model may have.
std::vector<std::pair<Rung, LastBlock>> rungs_and_last_blocks(const ModelSpec& model) {
  std::vector<std::pair<Rung, LastBlock>> list;
  for (const Rung rung : {Rung::off, Rung::fused, Rung::graph})
    for (const LastBlock last_block : {LastBlock::full, LastBlock::class_token})
      if (check_last_block(model, last_block)) list.emplace_back(rung, last_block);
  return list;
}

class CudaEngine : public OnDevice, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(CudaEngine, EveryRungGivesTheGradientsAndWeightsOfTheCpu) {
  EngineConfig exact = cases()[GetParam()].config;
  const bool bf16 = exact.regime != Regime::fp32;
  // Regime A rounds its residual stream in every block; such errors add up as the root of how many.
  const double first =
      exact.regime == Regime::bf16 ? 4e-2 * std::sqrt(exact.model.layers / 3.0) : 4e-2;
  if (exact.regime == Regime::bf16) exact.optimizer = false;
  EngineConfig cpu_config = exact;
  cpu_config.regime = Regime::fp32;  // what bf16 is measured against
  cpu_config.last_block = LastBlock::full;
  const auto cpu = made(cpu_config);
  ASSERT_NE(cpu, nullptr);
  constexpr int kSteps = 4;
  std::vector<std::map<std::string, std::vector<float>>> want;
  std::vector<float> losses;
  for (int step = 0; step < kSteps; ++step) {
    want.push_back(gradients(*cpu, 100U + static_cast<std::uint64_t>(10 * step)));
    losses.push_back(cpu->update().value().loss);
  }
  for (const auto& [rung, last_block] : rungs_and_last_blocks(exact.model)) {
    SCOPED_TRACE(to_string(last_block));
    EngineConfig config = exact;
    config.device = "cuda:0";
    config.rung = rung;
    config.last_block = last_block;
    const auto gpu = made(config);
    ASSERT_NE(gpu, nullptr) << to_string(rung);
    for (int step = 0; step < kSteps; ++step) {
      const auto got = gradients(*gpu, 100U + static_cast<std::uint64_t>(10 * step));
      // Later steps start from weights that have moved apart: looser.
      const double limit = bf16 ? (step == 0 ? first : 0.3) : (step == 0 ? 1e-4 : 2e-3);
      for (const auto& [name, values] : got)
        EXPECT_LT(relative_error(values, want[static_cast<std::size_t>(step)].at(name)), limit)
            << to_string(rung) << " step " << step << " " << name;
      const auto result = gpu->update();
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_NEAR(result->loss, losses[static_cast<std::size_t>(step)], bf16 ? 0.05 : 1e-3)
          << to_string(rung) << " step " << step;
    }
    if (!exact.optimizer) continue;
    for (const Parameter& p : cpu->program().parameters)
      EXPECT_LT(relative_error(gpu->read(p.name).value(), cpu->read(p.name).value()),
                bf16 ? 5e-2 : 2e-3)
          << to_string(rung) << " weights " << p.name;
    const Held held = draw(config, 7);
    const auto a = gpu->evaluate(held.view(), config.average);
    const auto b = cpu->evaluate(held.view(), config.average);
    ASSERT_TRUE(a && b);
    EXPECT_LT(relative_error(a->logits, b->logits), bf16 ? 6e-2 : 2e-3) << to_string(rung);
  }
}

TEST_P(CudaEngine, AGraphGivesTheBitsOfItsCallsOneByOne) {
  EngineConfig config = cases()[GetParam()].config;
  config.device = "cuda:0";
  std::vector<std::map<std::string, std::vector<float>>> runs;
  for (const Rung rung : {Rung::fused, Rung::graph, Rung::graph}) {
    config.rung = rung;
    const auto gpu = made(config);
    ASSERT_NE(gpu, nullptr);
    std::map<std::string, std::vector<float>> all;
    for (int step = 0; step < 4; ++step) {
      for (auto& [name, values] : gradients(*gpu, 100U + static_cast<std::uint64_t>(10 * step)))
        all[fmt::format("step {} {}", step, name)] = std::move(values);
      ASSERT_TRUE(gpu->update());
    }
    runs.push_back(std::move(all));
  }
  for (const auto& [name, values] : runs[0])
    for (const std::size_t run : {1U, 2U})
      EXPECT_EQ(values, runs[run].at(name)) << name << " of run " << run;
}

TEST_P(CudaEngine, TwoRunsGiveTheSameBits) {
  EngineConfig config = cases()[GetParam()].config;
  config.device = "cuda:0";
  std::vector<std::map<std::string, std::vector<float>>> runs;
  for (int run = 0; run < 2; ++run) {
    const auto gpu = made(config);
    ASSERT_NE(gpu, nullptr);
    for (int step = 0; step < 3; ++step) {
      auto found = gradients(*gpu, 40U + static_cast<std::uint64_t>(step));
      ASSERT_TRUE(gpu->update());
      if (step == 2) runs.push_back(std::move(found));
    }
  }
  for (const auto& [name, values] : runs[0])
    EXPECT_EQ(values, runs[1].at(name)) << name;
}

TEST_P(CudaEngine, PhasesAndOpsAreTimed) {
  EngineConfig config = cases()[GetParam()].config;
  config.device = "cuda:0";
  const auto gpu = made(config);
  ASSERT_NE(gpu, nullptr);
  gpu->time_phases(true);
  for (int step = 0; step < 3; ++step) {
    gradients(*gpu, 60);
    const auto result = gpu->update();
    ASSERT_TRUE(result) << result.error().message;
    for (const Phase phase : {Phase::transfer, Phase::forward, Phase::loss, Phase::backward})
      EXPECT_GT(result->phases[static_cast<std::size_t>(phase)], 0) << to_string(phase);
  }
}

TEST_F(OnDevice, AnEngineThatDoesNotFitSaysWhatWould) {
  EngineConfig config;
  config.device = "cuda:0";
  config.model = find_model("vit5-base").value();
  config.batch = 100'000;
  EXPECT_THAT(Engine::make(config).error().message, ::testing::HasSubstr("a batch of up to "));
  config.device = "cuda:7";
  EXPECT_THAT(Engine::make(config).error().message, ::testing::HasSubstr("device cuda:7: "));
}

TEST_F(OnDevice, GradientsThatAreNotFiniteLeaveTheWeights) {
  EngineConfig config = cases()[0].config;
  config.device = "cuda:0";
  const auto gpu = made(config);
  ASSERT_NE(gpu, nullptr);
  const std::string name = gpu->program().parameters.front().name;
  const auto before = gpu->read(name).value();
  Held held = draw(config, 3);
  held.images[5] = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(gpu->micro_step(held.view()));
  const auto result = gpu->update();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::measurement);
  EXPECT_EQ(gpu->read(name).value(), before);
}

TEST_F(OnDevice, TwoHundredStepsFollowTheCurveOfTheCpu) {
  const testing::Curve want = testing::toy_curve("cpu", Regime::fp32);
  ASSERT_EQ(want.losses.size(), std::size_t{testing::kCurveSteps});
  EXPECT_LT(want.losses.back(), want.losses.front() / 2) << "nothing is learned";
  for (const auto& [regime, worst, mean] :
       {std::tuple{Regime::fp32, 0.002, 0.002},
        std::tuple{Regime::mixed, testing::kMostBf16Worst, testing::kMostBf16Mean}}) {
    const testing::Curve got = testing::toy_curve("cuda:0", regime);
    ASSERT_EQ(got.losses.size(), want.losses.size());
    const testing::CurveDistance apart = testing::distance(got, want);
    RecordProperty(std::string("worst_") + to_string(regime), fmt::format("{:.3g}", apart.worst));
    RecordProperty(std::string("mean_") + to_string(regime), fmt::format("{:.3g}", apart.mean));
    std::string curves;
    for (std::size_t step = 0; step < want.losses.size(); step += 10)
      curves += fmt::format("{} {:.4f} {:.4f}\n", step, want.losses[step], got.losses[step]);
    EXPECT_LT(apart.worst, worst) << to_string(regime) << ", step, CPU, GPU\n" << curves;
    EXPECT_LT(apart.mean, mean) << to_string(regime) << ", step, CPU, GPU\n" << curves;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CudaEngine, ::testing::Range(std::size_t{0}, cases().size()),
                         [](const auto& row) { return cases()[row.param].name; });

}  // namespace
}  // namespace sluice::train::cuda_engine_test
