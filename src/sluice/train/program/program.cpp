// sluice/train/program/program.cpp - plans the tensors of a step and lists its operations: inputs,
// parameters, the ends of the model.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/program/program.h"

#include "sluice/train/model/parameters.h"
#include "sluice/train/program/builder.h"

#include <fmt/format.h>

#include <set>
#include <utility>

namespace sluice::train {

ProgramBuilder::ProgramBuilder(const ModelSpec& model, const ProgramOptions& options) {
  program_.model = model;
  program_.options = options;
  rows_ = static_cast<std::int64_t>(options.batch) * model.tokens();
  act_ = activation_type(options.regime);
  res_ = residual_type(options.regime);
}

Program ProgramBuilder::build() {
  add_parameters();
  if (fused() && is_vit()) fold_layer_scales();
  add_inputs();
  add_shared();
  std::vector<BlockTensors> blocks;
  const int layers = program_.model.layers;
  if (program_.options.checkpointing) kept_ = add_block("block", Arena::scratch);
  for (int i = 0; i < layers; ++i) {
    BlockTensors block = kept_;
    if (!program_.options.checkpointing)
      block = add_block(fmt::format("blocks.{}", i), Arena::activations);
    if (ends_in_readout(i)) add_readout_rows(block);
    block.x = residual(fmt::format("blocks.{}.x", i));
    blocks.push_back(block);
  }
  last_ = ends_in_readout(layers - 1) ? read_ : residual("x");
  ops_ = &program_.forward;
  begin(blocks.front().x);
  for (int i = 0; i < layers; ++i) {
    block_forward(i, blocks[at(i)]);
    end_block(i, blocks[at(i)], i + 1 < layers ? blocks[at(i + 1)].x : last_);
  }
  finish();
  ops_ = &program_.backward;
  finish_backward();
  for (int i = layers - 1; i >= 0; --i) {
    const bool still_there = i + 1 == layers;  // forward left the last block as it was
    if (program_.options.checkpointing && !still_there) block_forward(i, blocks[at(i)]);
    block_backward(i, blocks[at(i)]);
  }
  begin_backward();
  list_added_to();
  program_.plan.place();
  return std::move(program_);
}

/// Decayed first, each group in the order in which backward finishes it: the last layers first.
void ProgramBuilder::add_parameters() {
  const std::vector<ParameterShape> shapes = parameter_shapes(model());
  for (const bool decayed : {true, false}) {
    for (std::size_t i = shapes.size(); i-- > 0;) {
      if (shapes[i].decayed != decayed) continue;
      by_name_[shapes[i].name] = program_.parameters.size();
      add_parameter(shapes[i], static_cast<std::uint32_t>(i));
    }
  }
}

void ProgramBuilder::add_parameter(const ParameterShape& shape, std::uint32_t ordinal) {
  Parameter p;
  p.name = shape.name;
  p.init = shape.init;
  p.decayed = shape.decayed;
  p.ordinal = ordinal;
  p.value = add(shape.name, shape.shape, Dtype::f32, Arena::parameters);
  p.gradient = add(shape.name + ".grad", shape.shape, Dtype::f32, Arena::gradients);
  if (program_.options.moments) {
    p.first_moment = add(shape.name + ".m", shape.shape, Dtype::f32, Arena::first_moment);
    p.second_moment = add(shape.name + ".v", shape.shape, Dtype::f32, Arena::second_moment);
  }
  if (program_.options.average)
    p.average = add(shape.name + ".ema", shape.shape, Dtype::f32, Arena::average);
  const bool copied = shape.product && act_ == Dtype::bf16;
  p.compute =
      copied ? add(shape.name + ".bf16", shape.shape, Dtype::bf16, Arena::weights) : p.value;
  program_.parameters.push_back(p);
}

/// γ ⊙ (W·x) = (γ ⊙ W)·x: the products at the ends of branches use weights scaled row by row.
void ProgramBuilder::fold_layer_scales() {
  for (int i = 0; i < model().layers; ++i) {
    for (const int branch : {0, 1}) {
      const std::string name = of_block(i, branch == 0 ? "attn.proj.weight" : "mlp.fc2.weight");
      Parameter& p = program_.parameters[by_name_.at(name)];
      p.row_scale = layer_scale(i, branch, false);
      if (p.compute == p.value)  // fp32: the scaled copy is one more tensor
        p.compute = add(name + ".scaled", program_.plan.at(p.value).shape, act_, Arena::weights);
    }
  }
}

TensorId ProgramBuilder::scale(int block, int branch) const {
  return program_.branch_scales.empty() ? TensorId{}
                                        : program_.branch_scales[at(2 * block + branch)];
}
TensorId ProgramBuilder::layer_scale(int block, int branch, bool wants_gradient) const {
  if (!is_vit()) return {};
  const std::string name = of_block(block, branch == 0 ? "ls1.gamma" : "ls2.gamma");
  return wants_gradient ? gradient(name) : value(name);
}

void ProgramBuilder::add_inputs() {
  const ModelSpec& m = model();
  const std::int64_t predictions = batch() * m.predictions();
  if (is_vit()) {
    program_.images = add("images", {batch(), 3, m.image, m.image}, Dtype::f32, Arena::inputs);
  } else {
    program_.ids = add("ids", {batch(), m.sequence}, Dtype::i32, Arena::inputs);
  }
  program_.labels = add("labels", {predictions}, Dtype::i32, Arena::inputs);
  if (program_.options.soft_targets) {
    program_.soft_targets =
        add("soft_targets", {predictions, m.outputs()}, Dtype::f32, Arena::inputs);
  }
  if (m.drop_path > 0) {
    for (int i = 0; i < 2 * m.layers; ++i) {
      program_.branch_scales.push_back(
          add(fmt::format("blocks.{}.{}.scale", i / 2, i % 2 == 0 ? "attn" : "mlp"), {batch()},
              Dtype::f32, Arena::inputs));
    }
  }
  program_.cosine = add("rope.cosine", {m.tokens(), m.head_dim()}, Dtype::f32, Arena::tables);
  program_.sine = add("rope.sine", {m.tokens(), m.head_dim()}, Dtype::f32, Arena::tables);
  if (program_.options.packed_turns && fused() && act_ == Dtype::bf16 && m.head_dim() % 32 == 0)
    program_.turns = add("rope.turns", {m.tokens(), m.head_dim()}, Dtype::f32, Arena::tables);
}

/// Gradients that every block uses again, and what lies before the first and after the last block.
void ProgramBuilder::add_shared() {
  const ModelSpec& m = model();
  const std::vector<std::int64_t> heads{batch(), m.heads, m.tokens(), m.head_dim()};
  d_.x = add("d_x", {rows_, m.dim}, res_, Arena::scratch);
  d_.x_act = d_.x;
  if (!fused()) {
    d_.branch = add("d_branch", {rows_, m.dim}, act_, Arena::scratch);
    d_.q = add("d_q", heads, act_, Arena::scratch);
    d_.k = add("d_k", heads, act_, Arena::scratch);
    d_.v = add("d_v", heads, act_, Arena::scratch);
  } else {
    if (act_ != res_) d_.x_act = add("d_x_act", {rows_, m.dim}, act_, Arena::scratch);
    if (is_vit()) {
      d_.folded_proj = add("d_proj", {m.dim, m.dim}, Dtype::f32, Arena::scratch);
      d_.folded_fc2 = add("d_fc2", {m.dim, m.hidden()}, Dtype::f32, Arena::scratch);
    }
  }
  d_.h = add("d_h", {rows_, m.dim}, act_, Arena::scratch);
  d_.f = add("d_f", {rows_, m.hidden()}, act_, Arena::scratch);
  d_.qkv = add("d_qkv", {rows_, 3 * m.dim}, act_, Arena::scratch);
  const std::int64_t predictions = batch() * m.predictions();
  if (is_vit()) {
    const std::int64_t patches = batch() * m.patches();
    patches_ = add("patches", {patches, 3LL * m.patch * m.patch}, act_, Arena::activations);
    embedded_ = add("embedded", {patches, m.dim}, act_, Arena::scratch);
    read_ = add("readout", {batch(), m.dim}, res_, Arena::activations);
    d_read_ = add("d_readout", {batch(), m.dim}, res_, Arena::scratch);
    if (program_.options.input_gradient) {
      d_patches_ = add("d_patches", {patches, 3LL * m.patch * m.patch}, act_, Arena::scratch);
      program_.d_images =
          add("d_images", {batch(), 3, m.image, m.image}, Dtype::f32, Arena::scratch);
    }
  }
  final_ = add("final", {predictions, m.dim}, act_, Arena::activations);
  final_rstd_ = add("final.rstd", {predictions}, Dtype::f32, Arena::activations);
  d_final_ = add("d_final", {predictions, m.dim}, act_, Arena::scratch);
  program_.logits = add("logits", {predictions, m.outputs()}, act_, Arena::activations);
  d_logits_ = program_.plan.alias("d_logits", {predictions, m.outputs()}, program_.logits);
  program_.row_loss = add("row_loss", {predictions}, Dtype::f32, Arena::activations);
  program_.mean_loss = add("loss", {1}, Dtype::f32, Arena::activations);
}

void ProgramBuilder::begin(TensorId x) {
  if (is_vit()) {
    op("patchify", Patchify{patches_, program_.images});
    op("patch_embed", Linear{embedded_, patches_, compute("patch_embed.weight")});
    const TensorId registers = model().registers > 0 ? value("reg_token") : TensorId{};
    op("assemble", AssembleTokens{x, embedded_, value("pos_embed"), value("cls_token"), registers});
  } else {
    op("embed", Embed{x, program_.ids, value("embed.weight")});
  }
}

void ProgramBuilder::finish() {
  const std::string head = is_vit() || !model().tied_head ? "head.weight" : "embed.weight";
  TensorId x = last_;
  if (is_vit()) {
    if (last_ != read_) op("readout", ReadOut{read_, last_});
    x = read_;
  }
  op("final_norm", RmsNorm{final_, final_rstd_, x, value("norm.weight")});
  op("head", Linear{program_.logits, final_, compute(head)});
  program_.loss.push_back(
      {"cross_entropy", CrossEntropy{program_.mean_loss, program_.row_loss, d_logits_,
                                     program_.logits, program_.labels, program_.soft_targets}});
}

void ProgramBuilder::finish_backward() {
  const std::string head = is_vit() || !model().tied_head ? "head.weight" : "embed.weight";
  op("head.dw", LinearBackwardWeight{gradient(head), d_logits_, final_});
  op("head.dx", LinearBackwardInput{d_final_, d_logits_, compute(head)});
  const BlockGradients& d = is_vit() && last_ == read_ ? d_readout_ : d_;
  const TensorId dx = is_vit() ? d_read_ : d_.x;
  const TensorId copy = d.x_act == d.x ? TensorId{} : d.x_act;
  op("final_norm.clear", Clear{dx});
  op("final_norm.backward",
     RmsNormBackward{dx, gradient("norm.weight"), d_final_, is_vit() ? read_ : last_, final_rstd_,
                     value("norm.weight"), is_vit() && last_ != read_ ? TensorId{} : copy});
  if (is_vit() && last_ != read_) op("readout.backward", ReadOutBackward{d_.x, d_read_, copy});
}

void ProgramBuilder::begin_backward() {
  if (!is_vit()) {
    op("embed.backward", EmbedBackward{gradient("embed.weight"), program_.ids, d_.x});
    return;
  }
  const TensorId registers = model().registers > 0 ? gradient("reg_token") : TensorId{};
  op("assemble.backward", AssembleTokensBackward{embedded_, gradient("pos_embed"),
                                                 gradient("cls_token"), registers, d_.x});
  op("patch_embed.dw", LinearBackwardWeight{gradient("patch_embed.weight"), embedded_, patches_});
  if (!program_.options.input_gradient) return;
  op("patch_embed.dx", LinearBackwardInput{d_patches_, embedded_, compute("patch_embed.weight")});
  op("patchify.backward", Unpatchify{program_.d_images, d_patches_});
}

/// Products (and FoldLayerScale) set a gradient in the first micro-step; all others add to it.
void ProgramBuilder::list_added_to() {
  std::set<std::int32_t> set;
  for (const Op& op : program_.backward) {
    if (const auto* weight = std::get_if<LinearBackwardWeight>(&op.work))
      set.insert(weight->dw.index);
    if (const auto* folded = std::get_if<FoldLayerScale>(&op.work))
      set.insert(folded->d_weight.index);
  }
  for (const Parameter& parameter : program_.parameters) {
    if (!set.contains(parameter.gradient.index)) program_.added_to.push_back(parameter.gradient);
  }
}

namespace {

struct CategoryOf {
  const char* operator()(const Linear&) const { return "GEMM"; }
  const char* operator()(const LinearBackwardInput&) const { return "GEMM"; }
  const char* operator()(const LinearBackwardWeight&) const { return "GEMM"; }
  const char* operator()(const LinearAdd&) const { return "GEMM"; }
  const char* operator()(const LinearGelu&) const { return "GEMM"; }
  const char* operator()(const LinearBackwardGelu&) const { return "GEMM"; }
  const char* operator()(const QkvAttention&) const { return "attention"; }
  const char* operator()(const QkvAttentionBackward&) const { return "attention"; }
  const char* operator()(const Attention&) const { return "attention"; }
  const char* operator()(const AttentionBackward&) const { return "attention"; }
  const char* operator()(const RmsNorm&) const { return "norm"; }
  const char* operator()(const RmsNormBackward&) const { return "norm"; }
  const char* operator()(const QkNormRope&) const { return "norm"; }
  const char* operator()(const QkNormRopeBackward&) const { return "norm"; }
  const char* operator()(const Patchify&) const { return "copy"; }
  const char* operator()(const Unpatchify&) const { return "copy"; }
  const char* operator()(const Embed&) const { return "copy"; }
  const char* operator()(const ReadOut&) const { return "copy"; }
  const char* operator()(const ReadOutBackward&) const { return "copy"; }
  const char* operator()(const Clear&) const { return "copy"; }
  template <class Other>
  const char* operator()(const Other&) const {
    return "elementwise";
  }
};

}  // namespace

const char* category_of(const Op& op) {
  return std::visit(CategoryOf{}, op.work);
}

Result<Program> build_program(const ModelSpec& model, const ProgramOptions& options) {
  SLUICE_CHECK(check_model(model));
  SLUICE_CHECK(check_last_block(model, options.last_block));
  if (options.batch < 1) {
    return Error{Errc::usage, fmt::format("batch {}; at least 1 is accepted", options.batch)};
  }
  return ProgramBuilder(model, options).build();
}

}  // namespace sluice::train
