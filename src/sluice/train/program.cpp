// sluice/train/program.cpp - builds the op lists of a step and plans their tensors.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/program.h"

#include "sluice/train/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace sluice::train {
namespace {

/// What a block leaves for its backward.
struct BlockTensors {
  TensorId x, h1, rstd1, qkv, q, k, v, rstd_q, rstd_k, attended, lse, projected;
  TensorId middle, h2, rstd2, f, g, m;
};

/// Gradients inside a block: written and used within it, so all blocks share them.
struct BlockGradients {
  TensorId x, branch, h, f, qkv, q, k, v;
};

class Builder {
 public:
  Builder(const ModelSpec& model, const ProgramOptions& options) {
    program_.model = model;
    program_.options = options;
    rows_ = static_cast<std::int64_t>(options.batch) * model.tokens();
    act_ = activation_type(options.regime);
    res_ = residual_type(options.regime);
  }

  Program build() {
    add_parameters();
    add_inputs();
    add_shared();
    std::vector<BlockTensors> blocks;
    const int layers = program_.model.layers;
    if (program_.options.checkpointing) kept_ = add_block("block", Arena::scratch);
    for (int i = 0; i < layers; ++i) {
      BlockTensors block = kept_;
      if (!program_.options.checkpointing)
        block = add_block(fmt::format("blocks.{}", i), Arena::activations);
      block.x = residual(fmt::format("blocks.{}.x", i));
      blocks.push_back(block);
    }
    last_ = residual("x");
    ops_ = &program_.forward;
    begin(blocks.front().x);
    for (int i = 0; i < layers; ++i) {
      block_forward(i, blocks[at(i)]);
      add_branch(block_name(i, "mlp.add"), i + 1 < layers ? blocks[at(i + 1)].x : last_,
                 blocks[at(i)].middle, blocks[at(i)].m, i, 1);
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
    program_.plan.place();
    return std::move(program_);
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  static std::string block_name(int i, const char* rest) {
    return fmt::format("block{}.{}", i, rest);
  }
  const ModelSpec& model() const { return program_.model; }
  [[nodiscard]] std::int64_t batch() const { return program_.options.batch; }
  [[nodiscard]] bool is_vit() const { return model().family == Family::vit5; }

  TensorId add(std::string name, std::vector<std::int64_t> shape, Dtype dtype, Arena arena) {
    return program_.plan.add(std::move(name), std::move(shape), dtype, arena);
  }
  TensorId residual(std::string name) {
    return add(std::move(name), {rows_, model().dim}, res_, Arena::activations);
  }
  void op(std::string name, OpWork work) { ops_->push_back({std::move(name), work}); }

  const Parameter& parameter(const std::string& name) const {
    return program_.parameters[by_name_.at(name)];
  }
  TensorId value(const std::string& name) const { return parameter(name).value; }
  TensorId gradient(const std::string& name) const { return parameter(name).gradient; }
  TensorId compute(const std::string& name) const { return parameter(name).compute; }
  static std::string of_block(int i, const char* rest) {
    return fmt::format("blocks.{}.{}", i, rest);
  }

  /// Decayed first, each group in the order in which backward finishes it: the last layers first.
  void add_parameters() {
    const std::vector<ParameterShape> shapes = parameter_shapes(model());
    for (const bool decayed : {true, false}) {
      for (std::size_t i = shapes.size(); i-- > 0;) {
        if (shapes[i].decayed != decayed) continue;
        by_name_[shapes[i].name] = program_.parameters.size();
        add_parameter(shapes[i], static_cast<std::uint32_t>(i));
      }
    }
  }
  void add_parameter(const ParameterShape& shape, std::uint32_t ordinal) {
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

  void add_inputs() {
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
  }

  /// Gradients that every block uses again, and what lies before the first and after the last
  /// block.
  void add_shared() {
    const ModelSpec& m = model();
    const std::vector<std::int64_t> heads{batch(), m.heads, m.tokens(), m.head_dim()};
    d_.x = add("d_x", {rows_, m.dim}, res_, Arena::scratch);
    d_.branch = add("d_branch", {rows_, m.dim}, act_, Arena::scratch);
    d_.h = add("d_h", {rows_, m.dim}, act_, Arena::scratch);
    d_.f = add("d_f", {rows_, m.hidden()}, act_, Arena::scratch);
    d_.qkv = add("d_qkv", {rows_, 3 * m.dim}, act_, Arena::scratch);
    d_.q = add("d_q", heads, act_, Arena::scratch);
    d_.k = add("d_k", heads, act_, Arena::scratch);
    d_.v = add("d_v", heads, act_, Arena::scratch);
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

  BlockTensors add_block(const std::string& prefix, Arena arena) {
    const ModelSpec& m = model();
    const std::vector<std::int64_t> heads{batch(), m.heads, m.tokens(), m.head_dim()};
    const std::vector<std::int64_t> per_head{batch(), m.heads, m.tokens()};
    const auto name = [&](const char* rest) { return fmt::format("{}.{}", prefix, rest); };
    BlockTensors t;
    t.h1 = add(name("h1"), {rows_, m.dim}, act_, arena);
    t.rstd1 = add(name("rstd1"), {rows_}, Dtype::f32, arena);
    t.qkv = add(name("qkv"), {rows_, 3 * m.dim}, act_, arena);
    t.q = add(name("q"), heads, act_, arena);
    t.k = add(name("k"), heads, act_, arena);
    t.v = add(name("v"), heads, act_, arena);
    t.rstd_q = add(name("rstd_q"), per_head, Dtype::f32, arena);
    t.rstd_k = add(name("rstd_k"), per_head, Dtype::f32, arena);
    t.attended = add(name("attended"), {rows_, m.dim}, act_, arena);
    t.lse = add(name("lse"), per_head, Dtype::f32, arena);
    t.middle = add(name("middle"), {rows_, m.dim}, res_, arena);
    t.h2 = add(name("h2"), {rows_, m.dim}, act_, arena);
    t.rstd2 = add(name("rstd2"), {rows_}, Dtype::f32, arena);
    t.f = add(name("f"), {rows_, m.hidden()}, act_, arena);
    t.g = add(name("g"), {rows_, m.hidden()}, act_, arena);
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

  TensorId scale(int block, int branch) const {
    return program_.branch_scales.empty() ? TensorId{}
                                          : program_.branch_scales[at(2 * block + branch)];
  }
  TensorId layer_scale(int block, int branch, bool wants_gradient) const {
    if (!is_vit()) return {};
    const std::string name = of_block(block, branch == 0 ? "ls1.gamma" : "ls2.gamma");
    return wants_gradient ? gradient(name) : value(name);
  }
  void add_branch(std::string name, TensorId y, TensorId x, TensorId from, int block, int branch) {
    op(std::move(name),
       AddBranch{y, x, from, layer_scale(block, branch, false), scale(block, branch)});
  }

  void begin(TensorId x) {
    if (is_vit()) {
      op("patchify", Patchify{patches_, program_.images});
      op("patch_embed", Linear{embedded_, patches_, compute("patch_embed.weight")});
      const TensorId registers = model().registers > 0 ? value("reg_token") : TensorId{};
      op("assemble",
         AssembleTokens{x, embedded_, value("pos_embed"), value("cls_token"), registers});
    } else {
      op("embed", Embed{x, program_.ids, value("embed.weight")});
    }
  }

  /// All but the last addition: what backward needs.
  void block_forward(int i, const BlockTensors& t) {
    const auto name = [&](const char* rest) { return block_name(i, rest); };
    op(name("norm1"), RmsNorm{t.h1, t.rstd1, t.x, value(of_block(i, "norm1.weight"))});
    op(name("qkv"), Linear{t.qkv, t.h1, compute(of_block(i, "attn.qkv.weight"))});
    op(name("qk_norm_rope"),
       QkNormRope{t.q, t.k, t.v, t.rstd_q, t.rstd_k, t.qkv,
                  value(of_block(i, "attn.q_norm.weight")),
                  value(of_block(i, "attn.k_norm.weight")), program_.cosine, program_.sine});
    op(name("attention"), Attention{t.attended, t.lse, t.q, t.k, t.v});
    op(name("proj"), Linear{t.projected, t.attended, compute(of_block(i, "attn.proj.weight"))});
    add_branch(name("attn.add"), t.middle, t.x, t.projected, i, 0);
    op(name("norm2"), RmsNorm{t.h2, t.rstd2, t.middle, value(of_block(i, "norm2.weight"))});
    op(name("fc1"), Linear{t.f, t.h2, compute(of_block(i, "mlp.fc1.weight"))});
    op(name("gelu"), Gelu{t.g, t.f});
    op(name("fc2"), Linear{t.m, t.g, compute(of_block(i, "mlp.fc2.weight"))});
  }

  void finish() {
    const std::string head = is_vit() || !model().tied_head ? "head.weight" : "embed.weight";
    TensorId x = last_;
    if (is_vit()) {
      op("readout", ReadOut{read_, last_});
      x = read_;
    }
    op("final_norm", RmsNorm{final_, final_rstd_, x, value("norm.weight")});
    op("head", Linear{program_.logits, final_, compute(head)});
    program_.loss.push_back(
        {"cross_entropy", CrossEntropy{program_.mean_loss, program_.row_loss, d_logits_,
                                       program_.logits, program_.labels, program_.soft_targets}});
  }

  void finish_backward() {
    const std::string head = is_vit() || !model().tied_head ? "head.weight" : "embed.weight";
    op("head.dw", LinearBackwardWeight{gradient(head), d_logits_, final_});
    op("head.dx", LinearBackwardInput{d_final_, d_logits_, compute(head)});
    const TensorId dx = is_vit() ? d_read_ : d_.x;
    op("final_norm.clear", Clear{dx});
    op("final_norm.backward",
       RmsNormBackward{dx, gradient("norm.weight"), d_final_, is_vit() ? read_ : last_, final_rstd_,
                       value("norm.weight")});
    if (is_vit()) op("readout.backward", ReadOutBackward{d_.x, d_read_});
  }

  /// The gradient of a branch: d_x itself where nothing scales it and the types agree.
  TensorId branch_gradient(std::string name, int i, int branch, TensorId from) {
    const bool plain = !is_vit() && program_.branch_scales.empty() && act_ == res_;
    if (plain) return d_.x;
    op(std::move(name), AddBranchBackward{d_.branch, layer_scale(i, branch, true), d_.x, from,
                                          layer_scale(i, branch, false), scale(i, branch)});
    return d_.branch;
  }

  void block_backward(int i, const BlockTensors& t) {
    const auto name = [&](const char* rest) { return block_name(i, rest); };
    const std::string fc1 = of_block(i, "mlp.fc1.weight"), fc2 = of_block(i, "mlp.fc2.weight");
    const std::string qkv = of_block(i, "attn.qkv.weight"), proj = of_block(i, "attn.proj.weight");
    const std::string norm1 = of_block(i, "norm1.weight"), norm2 = of_block(i, "norm2.weight");
    const std::string q_norm = of_block(i, "attn.q_norm.weight"),
                      k_norm = of_block(i, "attn.k_norm.weight");
    TensorId d_branch = branch_gradient(name("mlp.add.backward"), i, 1, t.m);
    op(name("fc2.dw"), LinearBackwardWeight{gradient(fc2), d_branch, t.g});
    op(name("fc2.dx"), LinearBackwardInput{d_.f, d_branch, compute(fc2)});
    op(name("gelu.backward"), GeluBackward{d_.f, d_.f, t.f});
    op(name("fc1.dw"), LinearBackwardWeight{gradient(fc1), d_.f, t.h2});
    op(name("fc1.dx"), LinearBackwardInput{d_.h, d_.f, compute(fc1)});
    op(name("norm2.backward"),
       RmsNormBackward{d_.x, gradient(norm2), d_.h, t.middle, t.rstd2, value(norm2)});
    d_branch = branch_gradient(name("attn.add.backward"), i, 0, t.projected);
    op(name("proj.dw"), LinearBackwardWeight{gradient(proj), d_branch, t.attended});
    op(name("proj.dx"), LinearBackwardInput{d_.h, d_branch, compute(proj)});
    op(name("attention.backward"),
       AttentionBackward{d_.q, d_.k, d_.v, d_.h, t.attended, t.lse, t.q, t.k, t.v});
    op(name("qk_norm_rope.backward"),
       QkNormRopeBackward{d_.qkv, gradient(q_norm), gradient(k_norm), d_.q, d_.k, d_.v, t.qkv,
                          t.rstd_q, t.rstd_k, value(q_norm), value(k_norm), program_.cosine,
                          program_.sine});
    op(name("qkv.dw"), LinearBackwardWeight{gradient(qkv), d_.qkv, t.h1});
    op(name("qkv.dx"), LinearBackwardInput{d_.h, d_.qkv, compute(qkv)});
    op(name("norm1.backward"),
       RmsNormBackward{d_.x, gradient(norm1), d_.h, t.x, t.rstd1, value(norm1)});
  }

  void begin_backward() {
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

  Program program_;
  std::map<std::string, std::size_t> by_name_;
  std::vector<Op>* ops_ = nullptr;
  std::int64_t rows_ = 0;
  Dtype act_ = Dtype::f32, res_ = Dtype::f32;
  BlockGradients d_;
  BlockTensors kept_;
  TensorId patches_, embedded_, read_, d_read_, final_, final_rstd_, d_final_, d_logits_,
      d_patches_, last_, branch_;
};

struct CategoryOf {
  const char* operator()(const Linear&) const { return "GEMM"; }
  const char* operator()(const LinearBackwardInput&) const { return "GEMM"; }
  const char* operator()(const LinearBackwardWeight&) const { return "GEMM"; }
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
  if (options.batch < 1) {
    return Error{Errc::usage, fmt::format("batch {}; at least 1 is accepted", options.batch)};
  }
  return Builder(model, options).build();
}

}  // namespace sluice::train
