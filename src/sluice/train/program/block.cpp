// sluice/train/program/block.cpp - one block of a model, forward and backward. A fused program says
// the same with fewer operations: no pass over the tokens is left for LayerScale, DropPath, the
// addition of a branch, or q, k and v apart.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/model/shapes.h"
#include "sluice/train/program/builder.h"

#include <utility>

namespace sluice::train {

BlockTensors ProgramBuilder::add_block(const std::string& prefix, Arena arena) {
  const ModelSpec& m = model();
  const std::vector<std::int64_t> heads{batch(), m.heads, m.tokens(), m.head_dim()};
  const std::vector<std::int64_t> per_head{batch(), m.heads, m.tokens()};
  const auto name = [&](const char* rest) { return fmt::format("{}.{}", prefix, rest); };
  BlockTensors t;
  t.h1 = add(name("h1"), {rows_, m.dim}, act_, arena);
  t.rstd1 = add(name("rstd1"), {rows_}, Dtype::f32, arena);
  t.qkv = add(name("qkv"), {rows_, 3 * m.dim}, act_, arena);
  if (!fused()) {
    t.q = add(name("q"), heads, act_, arena);
    t.k = add(name("k"), heads, act_, arena);
    t.v = add(name("v"), heads, act_, arena);
    t.rstd_q = add(name("rstd_q"), per_head, Dtype::f32, arena);
    t.rstd_k = add(name("rstd_k"), per_head, Dtype::f32, arena);
  }
  const std::int64_t prepared = prepared_elements(heads_of(program_));
  if (program_.options.prepared_heads && fused() && act_ == Dtype::bf16 && prepared > 0)
    t.prepared = add(name("prepared"), {prepared}, act_, arena);
  t.attended = add(name("attended"), {rows_, m.dim}, act_, arena);
  t.lse = add(name("lse"), per_head, Dtype::f32, arena);
  const bool last = prefix == fmt::format("blocks.{}", m.layers - 1);
  if (last && ends_in_readout(m.layers - 1)) return t;  // add_readout_rows() has the rest
  add_second_half(t, prefix, rows_, arena);
  if (fused()) return t;
  // The GPT has no LayerScale whose gradient would need the branches: all blocks share one.
  if (is_vit()) {
    t.projected = add(name("projected"), {rows_, m.dim}, act_, arena);
    t.m = add(name("m"), {rows_, m.dim}, act_, arena);
  } else {
    if (!branch_.exists()) branch_ = add("branch", {rows_, m.dim}, act_, Arena::scratch);
    t.projected = branch_;
    t.m = branch_;
  }
  return t;
}

void ProgramBuilder::add_second_half(BlockTensors& t, const std::string& prefix, std::int64_t rows,
                                     Arena arena) {
  const ModelSpec& m = model();
  const auto name = [&](const char* rest) { return fmt::format("{}.{}", prefix, rest); };
  t.middle = add(name("middle"), {rows, m.dim}, res_, arena);
  t.h2 = add(name("h2"), {rows, m.dim}, act_, arena);
  t.rstd2 = add(name("rstd2"), {rows}, Dtype::f32, arena);
  t.f = add(name("f"), {rows, m.hidden()}, act_, arena);
  t.g = add(name("g"), {rows, m.hidden()}, act_, arena);
}

void ProgramBuilder::add_readout_rows(BlockTensors& t) {
  const ModelSpec& m = model();
  const auto scratch = [&](const char* name, std::int64_t columns, Dtype type) {
    return add(name, {batch(), columns}, type, Arena::scratch);
  };
  add_second_half(t, "read", batch(), Arena::activations);
  t.x_read = add("read.x", {batch(), m.dim}, res_, Arena::activations);
  t.attended_read = add("read.attended", {batch(), m.dim}, act_, Arena::activations);
  d_readout_ = d_;
  d_readout_.x = d_read_;
  d_readout_.x_act = d_read_;
  if (fused()) {
    if (act_ != res_) d_readout_.x_act = scratch("d_readout_act", m.dim, act_);
  } else {
    t.projected = add("read.projected", {batch(), m.dim}, act_, Arena::activations);
    t.m = add("read.m", {batch(), m.dim}, act_, Arena::activations);
    d_readout_.branch = scratch("d_read.branch", m.dim, act_);
  }
  d_readout_.h = scratch("d_read.h", m.dim, act_);
  d_readout_.f = scratch("d_read.f", m.hidden(), act_);
}

void ProgramBuilder::attention_forward(int i, const BlockTensors& t) {
  const TensorId gamma_q = value(of_block(i, "attn.q_norm.weight"));
  const TensorId gamma_k = value(of_block(i, "attn.k_norm.weight"));
  if (fused()) {
    op(block_name(i, "attention"),
       QkvAttention{t.attended, t.lse, t.qkv, gamma_q, gamma_k, program_.cosine, program_.sine,
                    scale(i, 0), t.prepared});
    return;
  }
  op(block_name(i, "qk_norm_rope"), QkNormRope{t.q, t.k, t.v, t.rstd_q, t.rstd_k, t.qkv, gamma_q,
                                               gamma_k, program_.cosine, program_.sine});
  op(block_name(i, "attention"), Attention{t.attended, t.lse, t.q, t.k, t.v});
}

void ProgramBuilder::block_forward(int i, const BlockTensors& t) {
  const auto name = [&](const char* rest) { return block_name(i, rest); };
  const TensorId proj = compute(of_block(i, "attn.proj.weight"));
  op(name("norm1"), RmsNorm{t.h1, t.rstd1, t.x, value(of_block(i, "norm1.weight"))});
  op(name("qkv"), Linear{t.qkv, t.h1, compute(of_block(i, "attn.qkv.weight"))});
  attention_forward(i, t);
  if (ends_in_readout(i)) {
    op(name("attention.read"), ReadOut{t.attended_read, t.attended});
    op(name("x.read"), ReadOut{t.x_read, t.x});
  }
  const TensorId attended = ends_in_readout(i) ? t.attended_read : t.attended;
  const TensorId x = ends_in_readout(i) ? t.x_read : t.x;
  if (fused()) {
    op(name("proj"), LinearAdd{t.middle, attended, proj, x});
  } else {
    op(name("proj"), Linear{t.projected, attended, proj});
    add_branch(name("attn.add"), t.middle, x, t.projected, i, 0);
  }
  op(name("norm2"), RmsNorm{t.h2, t.rstd2, t.middle, value(of_block(i, "norm2.weight"))});
  const TensorId fc1 = compute(of_block(i, "mlp.fc1.weight"));
  if (gelu_in_products(i)) {
    op(name("fc1"), LinearGelu{t.g, t.f, t.h2, fc1, scale(i, 1)});
    return;
  }
  op(name("fc1"), Linear{t.f, t.h2, fc1});
  op(name("gelu"), Gelu{t.g, t.f, fused() ? scale(i, 1) : TensorId{}});
  if (!fused()) op(name("fc2"), Linear{t.m, t.g, compute(of_block(i, "mlp.fc2.weight"))});
}

void ProgramBuilder::end_block(int i, const BlockTensors& t, TensorId next) {
  if (fused())
    op(block_name(i, "fc2"),
       LinearAdd{next, t.g, compute(of_block(i, "mlp.fc2.weight")), t.middle});
  else
    add_branch(block_name(i, "mlp.add"), next, t.middle, t.m, i, 1);
}

void ProgramBuilder::add_branch(std::string name, TensorId y, TensorId x, TensorId from, int block,
                                int branch) {
  op(std::move(name),
     AddBranch{y, x, from, layer_scale(block, branch, false), scale(block, branch)});
}

/// The gradient of a branch: d_x itself where nothing scales it and the types agree, or where the
/// scales are in the weights.
TensorId ProgramBuilder::branch_gradient(std::string name, int i, int branch, TensorId from) {
  const BlockGradients& d = ends_in_readout(i) ? d_readout_ : d_;
  if (fused()) return d.x_act;
  const bool plain = !is_vit() && program_.branch_scales.empty() && act_ == res_;
  if (plain) return d.x;
  op(std::move(name), AddBranchBackward{d.branch, layer_scale(i, branch, true), d.x, from,
                                        layer_scale(i, branch, false), scale(i, branch)});
  return d.branch;
}

/// The gradient of the weight of the product that ends a branch, which read `from`.
void ProgramBuilder::end_of_branch_backward(int i, int branch, TensorId d_branch, TensorId from) {
  const std::string product = branch == 0 ? "proj" : "fc2";
  const std::string weight = of_block(i, branch == 0 ? "attn.proj.weight" : "mlp.fc2.weight");
  const auto name = [&](const char* rest) { return block_name(i, (product + rest).c_str()); };
  if (fused() && is_vit()) {
    const TensorId folded = branch == 0 ? d_.folded_proj : d_.folded_fc2;
    op(name(".dw"), LinearBackwardWeight{folded, d_branch, from, true});
    op(name(".fold"), FoldLayerScale{gradient(weight), layer_scale(i, branch, true), folded,
                                     value(weight), layer_scale(i, branch, false)});
  } else {
    op(name(".dw"), LinearBackwardWeight{gradient(weight), d_branch, from});
  }
}

/// From d_h, the gradient of what attention gave, to d_qkv.
void ProgramBuilder::attention_backward(int i, const BlockTensors& t) {
  const std::string q_norm = of_block(i, "attn.q_norm.weight"),
                    k_norm = of_block(i, "attn.k_norm.weight");
  if (fused()) {
    op(block_name(i, "attention.backward"),
       QkvAttentionBackward{d_.qkv, gradient(q_norm), gradient(k_norm), d_.h, t.attended, t.lse,
                            t.qkv, value(q_norm), value(k_norm), program_.cosine, program_.sine,
                            scale(i, 0), t.prepared});
    return;
  }
  op(block_name(i, "attention.backward"),
     AttentionBackward{d_.q, d_.k, d_.v, d_.h, t.attended, t.lse, t.q, t.k, t.v});
  op(block_name(i, "qk_norm_rope.backward"),
     QkNormRopeBackward{d_.qkv, gradient(q_norm), gradient(k_norm), d_.q, d_.k, d_.v, t.qkv,
                        t.rstd_q, t.rstd_k, value(q_norm), value(k_norm), program_.cosine,
                        program_.sine});
}

void ProgramBuilder::block_backward(int i, const BlockTensors& t) {
  const auto name = [&](const char* rest) { return block_name(i, rest); };
  const std::string fc1 = of_block(i, "mlp.fc1.weight"), qkv = of_block(i, "attn.qkv.weight");
  const std::string norm1 = of_block(i, "norm1.weight"), norm2 = of_block(i, "norm2.weight");
  const BlockGradients& d = ends_in_readout(i) ? d_readout_ : d_;
  const auto copy_of = [](const BlockGradients& g) {
    return g.x_act == g.x ? TensorId{} : g.x_act;
  };
  TensorId d_branch = branch_gradient(name("mlp.add.backward"), i, 1, t.m);
  const TensorId fc2 = compute(of_block(i, "mlp.fc2.weight"));
  end_of_branch_backward(i, 1, d_branch, t.g);
  if (gelu_in_products(i)) {
    op(name("fc2.dx"), LinearBackwardGelu{d.f, d_branch, fc2, t.f, scale(i, 1)});
  } else {
    op(name("fc2.dx"), LinearBackwardInput{d.f, d_branch, fc2});
    op(name("gelu.backward"), GeluBackward{d.f, d.f, t.f, fused() ? scale(i, 1) : TensorId{}});
  }
  op(name("fc1.dw"), LinearBackwardWeight{gradient(fc1), d.f, t.h2});
  op(name("fc1.dx"), LinearBackwardInput{d.h, d.f, compute(fc1)});
  op(name("norm2.backward"),
     RmsNormBackward{d.x, gradient(norm2), d.h, t.middle, t.rstd2, value(norm2), copy_of(d)});
  d_branch = branch_gradient(name("attn.add.backward"), i, 0, t.projected);
  end_of_branch_backward(i, 0, d_branch, ends_in_readout(i) ? t.attended_read : t.attended);
  op(name("proj.dx"), LinearBackwardInput{d.h, d_branch, compute(of_block(i, "attn.proj.weight"))});
  if (ends_in_readout(i)) {  // no other token has a gradient yet
    op(name("attention.read.backward"), ReadOutBackward{d_.h, d.h, {}});
    op(name("x.read.backward"), ReadOutBackward{d_.x, d.x, {}});
  }
  attention_backward(i, t);
  op(name("qkv.dw"), LinearBackwardWeight{gradient(qkv), d_.qkv, t.h1});
  op(name("qkv.dx"), LinearBackwardInput{d_.h, d_.qkv, compute(qkv)});
  op(name("norm1.backward"), RmsNormBackward{d_.x, gradient(norm1), d_.h, t.x, t.rstd1,
                                             value(norm1), i > 0 ? copy_of(d_) : TensorId{}});
}

}  // namespace sluice::train
