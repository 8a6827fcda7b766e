// tests/train/fused_program_test.cpp - a fused program computes what the plain one does: LayerScale
// in the weights, DropPath in what a product reads, attention from qkv. On the CPU, so that the
// algebra is known to hold before a device is asked.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/engine.h"
#include "sluice/train/model/op_cost.h"

#include <gtest/gtest.h>

#include "tests/train/support.h"

namespace sluice::train::fused_program_test {
namespace {

using testing::Draws;

struct Case {
  std::string name;
  EngineConfig config;
};

std::vector<Case> cases() {
  EngineConfig vit;
  vit.model.name = "toy";
  vit.model.dim = 32;
  vit.model.heads = 2;
  vit.model.layers = 3;
  vit.model.image = 16;
  vit.model.patch = 4;
  vit.model.classes = 7;
  vit.batch = 3;
  EngineConfig gpt = vit;
  gpt.model.family = Family::gpt;
  gpt.model.vocabulary = 11;
  gpt.model.sequence = 9;
  EngineConfig dropping = vit;
  dropping.model.drop_path = 0.4F;
  EngineConfig often = dropping;
  often.grad_accum = 3;
  EngineConfig again = vit;
  again.checkpointing = true;
  EngineConfig mean = vit;
  mean.model.readout = Readout::gap;
  mean.model.registers = 0;
  EngineConfig half = vit;
  half.regime = Regime::mixed;
  EngineConfig half_residual = vit;
  half_residual.regime = Regime::mixed_bf16_residual;
  EngineConfig half_gpt = gpt;
  half_gpt.regime = Regime::mixed;
  return {{"Vit", vit},
          {"Gpt", gpt},
          {"DropPath", dropping},
          {"Accumulated", often},
          {"Checkpointed", again},
          {"Mean", mean},
          {"Bf16", half},
          {"Bf16Residual", half_residual},
          {"Bf16Gpt", half_gpt}};
}

/// Both programs, the last block in full and on the class token alone, where a model reads that
/// out.
std::vector<Case> variants(const EngineConfig& of) {
  std::vector<Case> list;
  for (const bool fused : {false, true}) {
    for (const LastBlock last_block : {LastBlock::full, LastBlock::class_token}) {
      if (!check_last_block(of.model, last_block)) continue;
      Case one{std::string(fused ? "fused, " : "plain, ") + to_string(last_block), of};
      one.config.fused_on_cpu = fused;
      one.config.last_block = last_block;
      list.push_back(std::move(one));
    }
  }
  return list;
}

class FusedProgram : public ::testing::TestWithParam<std::size_t> {};

/// LayerScale begins at 1e-4, where a wrong branch is hardly seen: made large, and not all equal.
void enlarge_scales(Engine& engine) {
  Draws draws(5);
  for (const Parameter& p : engine.program().parameters) {
    if (p.name.find(".gamma") == std::string::npos) continue;
    const std::int64_t count = engine.program().plan.at(p.value).elements();
    ASSERT_TRUE(engine.write(p.name, draws.normals<float>(count, 0.3, 0.5)));
  }
}

/// Loss and gradients of `fused_config` are those of `plain_config`, the weights after a step too.
void expect_equal(const EngineConfig& plain_config, const EngineConfig& fused_config) {
  const auto plain = Engine::make(plain_config), fused = Engine::make(fused_config);
  ASSERT_TRUE(plain && fused) << (plain ? fused : plain).error().message;
  const ModelSpec& model = plain_config.model;
  Draws draws(9);
  for (const auto* engine : {&plain, &fused})
    enlarge_scales(***engine);
  for (int micro = 0; micro < plain_config.grad_accum; ++micro) {
    std::vector<float> images;
    std::vector<std::int32_t> ids, labels;
    if (model.family == Family::vit5)
      images = draws.normals<float>(static_cast<std::int64_t>(plain_config.batch) * 3 *
                                    model.image * model.image);
    for (int i = 0; model.family == Family::gpt && i < plain_config.batch * model.sequence; ++i)
      ids.push_back(static_cast<std::int32_t>(draws.integer(0, model.vocabulary - 1)));
    for (int i = 0; i < plain_config.batch * model.predictions(); ++i)
      labels.push_back(static_cast<std::int32_t>(draws.integer(0, model.outputs() - 1)));
    const BatchView batch{images, false, ids, labels, {}};
    ASSERT_TRUE((*plain)->micro_step(batch));
    ASSERT_TRUE((*fused)->micro_step(batch));
  }
  const bool bf16 = (*plain)->info().regime != Regime::fp32;
  const double limit = bf16 ? 4e-2 : 3e-5;
  for (const Parameter& p : (*plain)->program().parameters) {
    const auto want = (*plain)->read(p.name + ".grad").value();
    const auto got = (*fused)->read(p.name + ".grad").value();
    EXPECT_LT(testing::relative_error(got, want), limit) << p.name;
  }
  const auto a = (*plain)->update(), b = (*fused)->update();
  ASSERT_TRUE(a && b);
  EXPECT_NEAR(a->loss, b->loss, bf16 ? 2e-2 : 1e-5);
  if (bf16) return;
  for (const Parameter& p : (*plain)->program().parameters)
    EXPECT_LT(
        testing::relative_error((*fused)->read(p.name).value(), (*plain)->read(p.name).value()),
        1e-4)
        << p.name << " after a step";
}

TEST_P(FusedProgram, GivesTheLossAndEveryGradientOfThePlainOne) {
  const std::vector<Case> list = variants(cases()[GetParam()].config);
  ASSERT_GE(list.size(), 2U);
  for (std::size_t i = 1; i < list.size(); ++i) {
    SCOPED_TRACE(list[i].name);
    expect_equal(list.front().config, list[i].config);  // plain and full: the model as written
  }
}

TEST(LastBlockTest, IsComputedInFullWhereThatIsAsked) {
  const auto flop = [](LastBlock last_block, bool fused) {
    EngineConfig config = cases().front().config;
    config.last_block = last_block;
    config.fused_on_cpu = fused;
    return executed_flop(plan_engine(config).value());
  };
  const ModelSpec model = cases().front().config.model;
  const double rows = 3.0 * (model.tokens() - 1);  // that are left out
  const double left_out = 3 * 2 * rows * model.dim * (model.dim + 2.0 * model.hidden());
  for (const bool fused : {false, true})
    EXPECT_EQ(flop(LastBlock::full, fused) - flop(LastBlock::class_token, fused), left_out);
  EXPECT_EQ(flop(LastBlock::full, true), flop(LastBlock::full, false));
}

TEST(LastBlockTest, TheShortcutIsForModelsThatReadTheirClassToken) {
  ModelSpec model = cases().front().config.model;
  EXPECT_EQ(shortest_last_block(model), LastBlock::class_token);
  model.readout = Readout::gap;
  EXPECT_EQ(shortest_last_block(model), LastBlock::full);
  EngineConfig config;
  config.model = model;
  config.last_block = LastBlock::class_token;
  const auto refused = plan_engine(config);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::usage);
  EXPECT_NE(refused.error().message.find("full is accepted"), std::string::npos);
  EXPECT_FALSE(parse_last_block("half"));
  EXPECT_FALSE(parse_readout("mean"));
}

TEST_P(FusedProgram, KeepsLess) {
  EngineConfig config = cases()[GetParam()].config;
  const auto plain = plan_engine(config);
  config.fused_on_cpu = true;
  const auto fused = plan_engine(config);
  ASSERT_TRUE(plain && fused);
  EXPECT_LT(fused->plan.bytes_of(Arena::activations) + fused->plan.bytes_of(Arena::scratch),
            plain->plan.bytes_of(Arena::activations) + plain->plan.bytes_of(Arena::scratch));
  EXPECT_LT(fused->forward.size(), plain->forward.size());
}

/// Bytes of what attention leaves prepared for its backward, all blocks.
std::int64_t prepared_bytes(int sequence, int heads, Regime regime, bool fused, bool asked,
                            bool checkpointing = false) {
  ModelSpec model = cases()[1].config.model;  // a GPT of three layers
  model.dim = 64;
  model.heads = heads;
  model.sequence = sequence;
  ProgramOptions options;
  options.batch = 2;
  options.regime = regime;
  options.fused = fused;
  options.prepared_heads = asked;
  options.checkpointing = checkpointing;
  const auto with = build_program(model, options);
  options.prepared_heads = false;
  const auto without = build_program(model, options);
  EXPECT_TRUE(with && without);
  return static_cast<std::int64_t>(with->plan.bytes()) -
         static_cast<std::int64_t>(without->plan.bytes());
}

TEST(PreparedHeads, LieInThePlanWhereAFormOfADeviceLeavesThem) {
  // q and k, two samples, one head of 64 bf16, 209 tokens up to whole pieces of 64.
  const std::int64_t one = 2 * 2 * 256 * 64 * 2;
  EXPECT_EQ(prepared_bytes(209, 1, Regime::mixed, true, true), 3 * one);
  EXPECT_EQ(prepared_bytes(209, 1, Regime::mixed, true, true, true), one) << "blocks share it";
  EXPECT_EQ(prepared_bytes(208, 1, Regime::mixed, true, true), 0) << "one step of the softmax";
  EXPECT_EQ(prepared_bytes(209, 2, Regime::mixed, true, true), 0) << "heads of 32";
  EXPECT_EQ(prepared_bytes(209, 1, Regime::fp32, true, true), 0);
  EXPECT_EQ(prepared_bytes(209, 1, Regime::mixed, false, true), 0) << "it has q and k already";
  EXPECT_EQ(prepared_bytes(209, 1, Regime::mixed, true, false), 0) << "not asked for";
}

TEST(PackedTurns, LieInThePlanOfAFusedProgramOfBf16) {
  const auto exist = [](bool fused, Regime regime, int dim) {
    ModelSpec model = cases()[1].config.model;
    model.dim = dim;
    model.heads = 1;
    const ProgramOptions options{
        .batch = 1, .regime = regime, .fused = fused, .packed_turns = true};
    return build_program(model, options).value().turns.exists();
  };
  EXPECT_TRUE(exist(true, Regime::mixed, 64));
  EXPECT_FALSE(exist(false, Regime::mixed, 64));
  EXPECT_FALSE(exist(true, Regime::fp32, 64));
  EXPECT_FALSE(exist(true, Regime::mixed, 48)) << "no kernel takes heads of 48";
}

INSTANTIATE_TEST_SUITE_P(Models, FusedProgram, ::testing::Range(std::size_t{0}, cases().size()),
                         [](const auto& row) { return cases()[row.param].name; });

}  // namespace
}  // namespace sluice::train::fused_program_test
