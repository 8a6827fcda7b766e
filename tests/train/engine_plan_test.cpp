// tests/train/engine_plan_test.cpp - what does not fit is told what would need less, and how much.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/backend.h"
#include "sluice/train/engine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::train::engine_plan_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A plan of terabytes, which no machine of ours has.
EngineConfig far_too_large(Regime regime) {
  EngineConfig config;
  config.model.name = "toy";
  config.model.dim = 64;
  config.model.heads = 2;
  config.model.layers = 4;
  config.model.image = 64;
  config.model.patch = 8;
  config.model.classes = 7;
  config.batch = 1 << 22;
  config.regime = regime;
  return config;
}

std::string refusal(const EngineConfig& config) {
  const auto program = plan_engine(config);
  EXPECT_FALSE(program) << "4 million images fit";
  return program ? "" : program.error().message;
}

/// "3.2 GiB" of the plan that this would be.
std::string needed(const EngineConfig& config) {
  ProgramOptions options;
  options.batch = config.batch;
  options.regime = config.regime;
  options.checkpointing = config.checkpointing;
  options.last_block = shortest_last_block(config.model);
  const auto program = build_program(config.model, options);
  EXPECT_TRUE(program);
  return fmt::format("{:.1f} GiB",
                     program ? static_cast<double>(program->plan.bytes()) / (1 << 30) : 0.0);
}

TEST(EnginePlan, Bf16IsNamedWithTheMemoryThatItNeeds) {
  const EngineConfig fp32 = far_too_large(Regime::fp32);
  const EngineConfig bf16 = far_too_large(Regime::mixed);
  const std::string message = refusal(fp32);
  EXPECT_THAT(message, HasSubstr("toy needs " + needed(fp32)));
  if (!cpu::has_bf16()) {
    EXPECT_THAT(message, Not(HasSubstr("bf16"))) << "it would run as fp32";
    GTEST_SKIP() << "no bf16 instructions here";
  }
  EXPECT_NE(needed(bf16), needed(fp32));
  EXPECT_THAT(message, HasSubstr("--dtype bf16 " + needed(bf16)));
  EXPECT_THAT(refusal(bf16),
              AllOf(HasSubstr("toy needs " + needed(bf16)), Not(HasSubstr("--dtype"))))
      << "it is on already";
}

TEST(EnginePlan, CheckpointingIsNamedUnlessItIsOn) {
  EngineConfig config = far_too_large(Regime::fp32);
  EngineConfig again = config;
  again.checkpointing = true;
  EXPECT_THAT(refusal(config), HasSubstr("--checkpoint-activations " + needed(again)));
  EXPECT_THAT(refusal(again), Not(HasSubstr("--checkpoint-activations")));
}

}  // namespace
}  // namespace sluice::train::engine_plan_test
