// tests/train/op_cost_test.cpp - what operations must move and compute, counted by hand.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/model/op_cost.h"

#include "sluice/train/model/flops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace sluice::train::op_cost_test {
namespace {

std::map<std::string, OpCost> costs_of(const std::string& model, bool fused, int batch) {
  ProgramOptions options;
  options.batch = batch;
  options.fused = fused;
  const Program program = build_program(find_model(model).value(), options).value();
  std::map<std::string, OpCost> costs;
  for (const auto* ops : {&program.forward, &program.loss, &program.backward})
    for (const Op& op : *ops)
      costs.emplace(op.name, cost_of(op, program));
  return costs;
}

TEST(OpCost, IsTheBytesAndTermsOfItsTensors) {
  const auto costs = costs_of("vit5-small", true, 2);
  constexpr double kRows = 2 * 201, kDim = 384, kHidden = 1536;
  EXPECT_EQ(costs.at("block3.fc1").flop, 2 * kRows * kDim * kHidden);
  EXPECT_EQ(costs.at("block3.fc1").bytes, 4 * (kRows * kDim + kRows * kHidden + kDim * kHidden));
  EXPECT_EQ(costs.at("block3.fc1.dw").flop, costs.at("block3.fc1").flop);
  EXPECT_EQ(costs.at("block3.fc2").bytes,  // and the residual stream in and out
            4 * (2 * kRows * kDim + kRows * kHidden + kDim * kHidden));
  EXPECT_EQ(costs.at("block3.attention").flop, 2 * 2 * 2 * 6 * 201.0 * 201 * 64);
  EXPECT_EQ(costs.at("block3.attention.backward").flop, 2.5 * costs.at("block3.attention").flop);
  EXPECT_EQ(costs.at("block3.gelu").bytes, 4 * 2 * kRows * kHidden);
  EXPECT_EQ(costs.at("block3.gelu").flop, 0);
}

TEST(OpCost, AProductThatEndsInGeluMovesWhatItReadsAndWrites) {
  ProgramOptions options{.batch = 2, .fused = true};
  const Program apart = build_program(find_model("vit5-small").value(), options).value();
  options.gelu_in_products = true;
  const Program one = build_program(find_model("vit5-small").value(), options).value();
  EXPECT_EQ(executed_flop(one), executed_flop(apart));
  constexpr double kRows = 2 * 201, kDim = 384, kHidden = 1536;
  int seen = 0;
  for (const auto* ops : {&one.forward, &one.backward})
    for (const Op& op : *ops) {
      EXPECT_EQ(op.name.find("gelu"), std::string::npos) << op.name;
      if (op.name != "block3.fc1" && op.name != "block3.fc2.dx") continue;
      ++seen;
      EXPECT_EQ(cost_of(op, one).bytes, 4 * (kRows * kDim + 2 * kRows * kHidden + kDim * kHidden))
          << op.name;
      EXPECT_STREQ(category_of(op), "GEMM");
    }
  EXPECT_EQ(seen, 2);
  // Nothing of the kind where only the rows of class tokens are left.
  options.last_block = LastBlock::class_token;
  const Program read = build_program(find_model("vit5-small").value(), options).value();
  EXPECT_TRUE(
      std::ranges::any_of(read.forward, [](const Op& op) { return op.name == "block11.gelu"; }));
}

TEST(OpCost, ProductsOfAPlainForwardAreTheModelsFlop) {
  for (const char* model : {"vit5-tiny", "vit5-small"}) {
    double flop = 0;
    for (const auto& [name, cost] : costs_of(model, false, 1))
      if (name.find(".d") == std::string::npos && name.find("backward") == std::string::npos)
        flop += cost.flop;
    EXPECT_NEAR(flop / static_cast<double>(count_flops(find_model(model).value()).forward), 1, 1e-9)
        << model;
  }
}

TEST(OpCost, ExecutedIsWhatTheListsHold) {
  const ModelSpec model = find_model("vit5-small").value();
  const auto flop = [&](LastBlock last_block, bool again) {
    const ProgramOptions options{.batch = 1, .checkpointing = again, .last_block = last_block};
    return executed_flop(build_program(model, options).value());
  };
  const double full = flop(LastBlock::full, false);
  // Three forwards, less the gradient of the patches, and the scores of attention once more.
  const double patches = 2.0 * 196 * 768 * 384, scores = 12 * 2.0 * 201 * 201 * 384;
  EXPECT_EQ(full, static_cast<double>(count_flops(model).train) - patches + scores);
  EXPECT_NEAR(1 - flop(LastBlock::class_token, false) / full, 0.056, 0.001);
  EXPECT_GT(flop(LastBlock::full, true), 1.25 * full) << "blocks that are run again count again";
}

TEST(OpCost, EveryOpMovesSomething) {
  for (const char* model : {"vit5-tiny", "gpt-tiny"})
    for (const bool fused : {false, true})
      for (const auto& [name, cost] : costs_of(model, fused, 1))
        EXPECT_GT(cost.bytes, 0) << model << " " << name;
}

}  // namespace
}  // namespace sluice::train::op_cost_test
