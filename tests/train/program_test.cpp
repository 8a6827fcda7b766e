// tests/train/program_test.cpp - sizes of the models, the plan's places, and what the op lists must
// hold.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/program/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace sluice::train::program_test {
namespace {

using ::testing::HasSubstr;

ModelSpec preset(const char* name) {
  return find_model(name).value();
}

ModelSpec small_vit() {
  ModelSpec model = preset("vit5-tiny");
  model.dim = 32;
  model.heads = 2;
  model.layers = 3;
  model.image = 32;
  model.patch = 8;
  model.classes = 5;
  model.drop_path = 0.1F;
  return model;
}

TEST(ModelSpec, PresetsHaveTheParametersOfTheirPapers) {
  EXPECT_EQ(parameter_count(preset("vit5-small")), 22'010'112);
  EXPECT_EQ(parameter_count(preset("vit5-base")), 86'486'016);
  EXPECT_EQ(parameter_count(preset("vit5-tiny")), 5'697'408);
  EXPECT_EQ(preset("vit5-small").tokens(), 201);
}

TEST(ModelSpec, ShapesThatTheEngineCannotDoAreNamed) {
  ModelSpec model = small_vit();
  model.heads = 3;
  EXPECT_THAT(check_model(model).error().message, HasSubstr("dim 32; a multiple of the heads (3)"));
  model = small_vit();
  model.registers = 3;
  EXPECT_THAT(check_model(model).error().message, HasSubstr("registers 3; a square number"));
  model = small_vit();
  model.patch = 7;
  EXPECT_THAT(check_model(model).error().message,
              HasSubstr("image 32; a multiple of the patch (7)"));
  EXPECT_THAT(find_model("vit6").error().message, HasSubstr("'vit6' is not known; vit5-tiny"));
}

TEST(MemoryPlan, TensorsOfOneAllocationDoNotOverlap) {
  for (const bool checkpointing : {false, true}) {
    ProgramOptions options{
        .batch = 3, .regime = Regime::mixed, .average = true, .checkpointing = checkpointing};
    const Program program = build_program(small_vit(), options).value();
    struct Span {
      std::size_t begin, end;
      std::string name;
    };
    std::vector<Span> spans;
    for (const Tensor& tensor : program.plan.tensors()) {
      EXPECT_EQ(tensor.offset % MemoryPlan::kAlignment, 0U) << tensor.name;
      EXPECT_LE(tensor.offset + tensor.bytes(), program.plan.bytes()) << tensor.name;
      if (tensor.name != "d_logits")
        spans.push_back({tensor.offset, tensor.offset + tensor.bytes(), tensor.name});
    }
    std::sort(spans.begin(), spans.end(),
              [](const Span& a, const Span& b) { return a.begin < b.begin; });
    for (std::size_t i = 1; i < spans.size(); ++i)
      EXPECT_LE(spans[i - 1].end, spans[i].begin) << spans[i - 1].name << " and " << spans[i].name;
  }
}

TEST(MemoryPlan, CheckpointingKeepsLessAndTheTextNamesEveryTensor) {
  const ModelSpec model = small_vit();
  const Program whole = build_program(model, {.batch = 4}).value();
  const Program lean = build_program(model, {.batch = 4, .checkpointing = true}).value();
  EXPECT_LT(lean.plan.bytes(), whole.plan.bytes());
  const std::string text = whole.plan.text();
  for (const Tensor& tensor : whole.plan.tensors())
    EXPECT_THAT(text, HasSubstr(tensor.name));
}

TEST(Program, DecayedParametersComeFirstAndBackwardFinishesInTheirOrder) {
  const Program program = build_program(preset("vit5-small"), {.batch = 1}).value();
  ASSERT_EQ(program.parameters.size(), 126U);
  std::int64_t decayed = 0;
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    EXPECT_EQ(program.parameters[i].decayed, i < 50) << program.parameters[i].name;
    if (i < 50) decayed += program.plan.at(program.parameters[i].value).elements();
  }
  EXPECT_EQ(decayed, 21'912'576);
  EXPECT_EQ(program.parameters.front().name, "head.weight");
  EXPECT_EQ(program.parameters[49].name, "patch_embed.weight");
}

/// Gradients that some op of the backward list writes.
struct WrittenGradients {
  std::multiset<std::int32_t> ids;
  void add(TensorId id) {
    if (id.exists()) ids.insert(id.index);
  }
  void operator()(const LinearBackwardWeight& op) { add(op.dw); }
  void operator()(const RmsNormBackward& op) { add(op.d_gamma); }
  void operator()(const QkNormRopeBackward& op) {
    add(op.d_gamma_q);
    add(op.d_gamma_k);
  }
  void operator()(const AddBranchBackward& op) { add(op.d_gamma); }
  void operator()(const AssembleTokensBackward& op) {
    add(op.d_position);
    add(op.d_class_token);
    add(op.d_registers);
  }
  void operator()(const EmbedBackward& op) { add(op.d_table); }
  template <class Other>
  void operator()(const Other&) {}
};

TEST(Program, EveryParameterGetsItsGradientOnce) {
  std::vector<ModelSpec> models{small_vit(), preset("gpt-tiny")};
  models.push_back(models.back());
  models.back().tied_head = false;
  for (const ModelSpec& model : models) {
    for (const bool checkpointing : {false, true}) {
      const Program program =
          build_program(model, {.batch = 2, .checkpointing = checkpointing}).value();
      WrittenGradients written;
      for (const Op& op : program.backward)
        std::visit(written, op.work);
      for (const Parameter& parameter : program.parameters) {
        const bool tied_table = parameter.name == "embed.weight" && model.tied_head;
        EXPECT_EQ(written.ids.count(parameter.gradient.index), tied_table ? 2U : 1U)
            << parameter.name;
      }
    }
  }
}

TEST(Program, ABatchBelowOneIsRefused) {
  EXPECT_THAT(build_program(small_vit(), {.batch = 0}).error().message,
              HasSubstr("batch 0; at least 1"));
}

}  // namespace
}  // namespace sluice::train::program_test
