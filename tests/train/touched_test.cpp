// tests/train/touched_test.cpp - what an operation is said to read and write is what it does.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/program/touched.h"

#include "sluice/train/cpu/executor.h"

#include <gtest/gtest.h>

#include "tests/train/support.h"
#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace sluice::train::touched_test {
namespace {

struct Case {
  std::string name;
  ModelSpec model;
  ProgramOptions options;
};

std::vector<Case> cases() {
  ModelSpec vit;
  vit.name = "toy";
  vit.dim = 32;
  vit.heads = 2;
  vit.layers = 3;
  vit.image = 16;
  vit.patch = 4;
  vit.classes = 7;
  vit.drop_path = 0.2F;
  ModelSpec gpt = vit;
  gpt.family = Family::gpt;
  gpt.vocabulary = 11;
  gpt.sequence = 9;
  gpt.drop_path = 0;
  ModelSpec mean = vit;
  mean.readout = Readout::gap;
  mean.registers = 0;
  ModelSpec wide = vit;  // its products may end in GELU
  wide.dim = 128;
  std::vector<Case> all;
  for (const bool fused : {false, true}) {
    const auto add = [&](const char* name, const ModelSpec& model, auto change) {
      ProgramOptions options{.batch = 3, .fused = fused};
      change(options);
      all.push_back({std::string(fused ? "Fused" : "Plain") + name, model, options});
    };
    add("Vit", vit, [](ProgramOptions& o) { o.input_gradient = true; });
    add("VitClassToken", vit, [](ProgramOptions& o) { o.last_block = LastBlock::class_token; });
    add("VitCheckpointed", vit, [](ProgramOptions& o) { o.checkpointing = true; });
    add("VitSoft", vit, [](ProgramOptions& o) { o.soft_targets = true; });
    add("VitMean", mean, [](ProgramOptions&) {});
    add("VitGeluInProducts", wide, [](ProgramOptions& o) { o.gelu_in_products = true; });
    add("Gpt", gpt, [](ProgramOptions&) {});
  }
  return all;
}

class EveryProgram : public ::testing::TestWithParam<std::size_t> {
 protected:
  const Case one_ = cases().at(GetParam());
  const Program program_ = build_program(one_.model, one_.options).value();
};

/// What a plan's tensors hold.
class Memory {
 public:
  explicit Memory(const MemoryPlan& plan)
      : plan_(&plan), blocks_(plan.bytes() / sizeof(Block) + 1) {}
  [[nodiscard]] std::byte* start() { return blocks_.front().bytes; }
  [[nodiscard]] std::span<std::byte> of(TensorId id) {
    return {start() + plan_->at(id).offset, plan_->at(id).bytes()};
  }
  void take(Memory& from, const std::vector<TensorId>& tensors) {
    for (const TensorId id : tensors)
      std::ranges::copy(from.of(id), of(id).begin());
  }
  /// Numbers that every kind of tensor can hold: small ones that name a class, a token.
  void fill() {
    testing::Draws draws(3);
    for (const Tensor& tensor : plan_->tensors())
      for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        const auto put = [&](auto value) {
          std::memcpy(start() + tensor.offset + static_cast<std::size_t>(i) * sizeof value, &value,
                      sizeof value);
        };
        if (tensor.dtype == Dtype::i32)
          put(static_cast<std::int32_t>(draws.integer(0, 6)));
        else
          put(static_cast<float>(draws.normal()));
      }
  }
  void poison() { std::memset(start(), 0xff, blocks_.size() * sizeof(Block)); }
  /// The first tensor that differs; "" for none.
  [[nodiscard]] std::string other_than(Memory& that) {
    for (const Tensor& tensor : plan_->tensors())
      if (std::memcmp(start() + tensor.offset, that.start() + tensor.offset, tensor.bytes()) != 0)
        return tensor.name;
    return "";
  }

 private:
  struct alignas(MemoryPlan::kAlignment) Block {
    std::byte bytes[MemoryPlan::kAlignment];
  };
  const MemoryPlan* plan_;
  std::vector<Block> blocks_;
};

TEST_P(EveryProgram, OperationsTouchWhatIsListed) {
  const auto gemm = cpu::Gemm::make();
  if (!gemm) GTEST_SKIP() << gemm.error().message;
  cpu::Team team(2);
  Memory memory(program_.plan);
  memory.fill();
  cpu::Executor<float, float> executor(program_, memory.start(), team, *gemm);
  MicroStep micro;
  micro.gradient_factor = micro.loss_factor = 0.3F;
  executor.begin(micro);
  const auto run = [&](const Op& op) { std::visit(executor, op.work); };
  for (const auto* ops : {&program_.forward, &program_.loss, &program_.backward})
    for (const Op& op : *ops) {
      const Touched touched = touched_by(op.work);
      Memory before = memory;
      run(op);
      Memory after = memory, unlisted = memory;
      unlisted.take(before, touched.written);
      EXPECT_EQ(unlisted.other_than(before), "") << op.name << " writes it";
      memory.poison();
      memory.take(before, touched.read);
      run(op);
      for (const TensorId id : touched.written)
        EXPECT_TRUE(std::ranges::equal(memory.of(id), after.of(id)))
            << op.name << " reads what is not listed, or leaves out some of "
            << program_.plan.at(id).name;
      std::memcpy(memory.start(), after.start(), program_.plan.bytes());
    }
}

INSTANTIATE_TEST_SUITE_P(All, EveryProgram, ::testing::Range<std::size_t>(0, cases().size()),
                         [](const auto& test) { return cases()[test.param].name; });

}  // namespace
}  // namespace sluice::train::touched_test
