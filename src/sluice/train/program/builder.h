// sluice/train/program/builder.h - how program.cpp (the ends of a model) and block.cpp (its
// blocks, plain and fused) share one plan. Internal to both.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/model/parameters.h"
#include "sluice/train/model/shapes.h"
#include "sluice/train/program/program.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sluice::train {

/// What a block leaves for its backward. Only a plain program has q to rstd_k, projected and m.
struct BlockTensors {
  TensorId x, h1, rstd1, qkv, q, k, v, rstd_q, rstd_k, prepared, attended, lse, projected;
  TensorId middle, h2, rstd2, f, g, m;
  TensorId x_read, attended_read;  // of a block that ends in the readout: those rows of x, attended
};

/// Gradients inside a block: written and used within it, so all blocks share them. x_act: x itself,
/// or its copy of the activations' type (fused programs multiply by it).
struct BlockGradients {
  TensorId x, x_act, branch, h, f, qkv, q, k, v, folded_proj, folded_fc2;
};

class ProgramBuilder {
 public:
  ProgramBuilder(const ModelSpec& model, const ProgramOptions& options);
  Program build();

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  static std::string block_name(int i, const char* rest) {
    return fmt::format("block{}.{}", i, rest);
  }
  static std::string of_block(int i, const char* rest) {
    return fmt::format("blocks.{}.{}", i, rest);
  }
  [[nodiscard]] const ModelSpec& model() const { return program_.model; }
  [[nodiscard]] std::int64_t batch() const { return program_.options.batch; }
  [[nodiscard]] bool is_vit() const { return model().family == Family::vit5; }
  [[nodiscard]] bool fused() const { return program_.options.fused; }
  /// Of the last block's output only the class token is read: from its projection on, such a
  /// program works on those rows alone. What is left out has no effect and no gradient.
  [[nodiscard]] bool ends_in_readout(int block) const {
    return program_.options.last_block == LastBlock::class_token && block + 1 == model().layers;
  }

  /// Of all tokens: those that are read are too few for such a product.
  [[nodiscard]] bool gelu_in_products(int block) const {
    return program_.options.gelu_in_products && fused() && !ends_in_readout(block) &&
           ends_in_gelu(model().dim, model().hidden());
  }

  TensorId add(std::string name, std::vector<std::int64_t> shape, Dtype dtype, Arena arena) {
    return program_.plan.add(std::move(name), std::move(shape), dtype, arena);
  }
  TensorId residual(std::string name) {
    return add(std::move(name), {rows_, model().dim}, res_, Arena::activations);
  }
  void op(std::string name, OpWork work) { ops_->push_back({std::move(name), work}); }

  [[nodiscard]] const Parameter& parameter(const std::string& name) const {
    return program_.parameters[by_name_.at(name)];
  }
  [[nodiscard]] TensorId value(const std::string& name) const { return parameter(name).value; }
  [[nodiscard]] TensorId gradient(const std::string& name) const {
    return parameter(name).gradient;
  }
  [[nodiscard]] TensorId compute(const std::string& name) const { return parameter(name).compute; }
  /// DropPath's factors and LayerScale of branch 0 (attention) or 1 (MLP); absent where there are
  /// none.
  [[nodiscard]] TensorId scale(int block, int branch) const;
  [[nodiscard]] TensorId layer_scale(int block, int branch, bool wants_gradient) const;

  // program.cpp
  void add_parameters();
  void add_parameter(const ParameterShape& shape, std::uint32_t ordinal);
  void fold_layer_scales();
  void add_inputs();
  void add_shared();
  void begin(TensorId x);
  void finish();
  void finish_backward();
  void begin_backward();
  void list_added_to();

  // block.cpp
  BlockTensors add_block(const std::string& prefix, Arena arena);
  void add_second_half(BlockTensors& t, const std::string& prefix, std::int64_t rows, Arena arena);
  void add_readout_rows(BlockTensors& t);
  /// All but the last addition: what backward needs.
  void block_forward(int i, const BlockTensors& t);
  void end_block(int i, const BlockTensors& t, TensorId next);
  void block_backward(int i, const BlockTensors& t);
  void attention_forward(int i, const BlockTensors& t);
  void attention_backward(int i, const BlockTensors& t);
  void add_branch(std::string name, TensorId y, TensorId x, TensorId from, int block, int branch);
  TensorId branch_gradient(std::string name, int i, int branch, TensorId from);
  void end_of_branch_backward(int i, int branch, TensorId d_branch, TensorId from);

  Program program_;
  std::map<std::string, std::size_t> by_name_;
  std::vector<Op>* ops_ = nullptr;
  std::int64_t rows_ = 0;
  Dtype act_ = Dtype::f32, res_ = Dtype::f32;
  BlockGradients d_, d_readout_;  // the latter: of the rows that are read, where a block ends so
  BlockTensors kept_;
  TensorId patches_, embedded_, read_, d_read_, final_, final_rstd_, d_final_, d_logits_,
      d_patches_, last_, branch_;
};

}  // namespace sluice::train
