// sluice/train/program/program.h - a model as a list of operations over planned tensors: what every
// backend executes. One row is one token (or one sample after the readout).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/train/model/memory_plan.h"
#include "sluice/train/model/model_spec.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace sluice::train {

/// images -> [batch * patches, 3 * patch * patch], columns in the order channel, y, x.
struct Patchify {
  TensorId patches, images;
};
/// Its transpose: the gradient with respect to the images.
struct Unpatchify {
  TensorId d_images, d_patches;
};
/// y = x · wᵀ: x [rows, in], w [out, in].
struct Linear {
  TensorId y, x, w;
};
/// dx = dy · w.
struct LinearBackwardInput {
  TensorId dx, dy, w;
};
/// dw += dyᵀ · x, in fp32. `alone`: dw = , whatever micro-step it is (scratch, read at once).
struct LinearBackwardWeight {
  TensorId dw, dy, x;
  bool alone = false;
};
/// y = residual + x · wᵀ: the end of a branch and its addition, y and residual of the residual's
/// type. LayerScale is in w (Parameter::row_scale), DropPath in x.
struct LinearAdd {
  TensorId y, x, w, residual;
};
/// From d_folded, the gradient of gamma ⊙ weight: d_weight += gamma ⊙ d_folded, d_gamma += the sums
/// of d_folded ⊙ weight over its rows. So LayerScale costs no pass over the tokens.
struct FoldLayerScale {
  TensorId d_weight, d_gamma, d_folded, weight, gamma;
};
/// tokens = [patches + position, class token, registers]; a ViT's residual stream begins.
struct AssembleTokens {
  TensorId tokens, embedded, position, class_token, registers;
};
struct AssembleTokensBackward {
  TensorId d_embedded, d_position, d_class_token, d_registers, d_tokens;
};
/// tokens = table[ids]; a GPT's residual stream begins.
struct Embed {
  TensorId tokens, ids, table;
};
struct EmbedBackward {
  TensorId d_table, ids, d_tokens;  // d_table +=
};
/// y = gamma · x · rstd with rstd = 1 / sqrt(mean(x²) + epsilon) of each row.
struct RmsNorm {
  TensorId y, rstd, x, gamma;
};
/// dx += …, d_gamma += …; copy: dx once more, of the activations' type (absent: none).
struct RmsNormBackward {
  TensorId dx, d_gamma, dy, x, rstd, gamma, copy;
};
/// q, k, v [batch, heads, tokens, head_dim] from qkv [batch * tokens, 3 * dim]; q and k normed per
/// head, then turned by the tables (docs/training.md has the map).
struct QkNormRope {
  TensorId q, k, v, rstd_q, rstd_k, qkv, gamma_q, gamma_k, cosine, sine;
};
struct QkNormRopeBackward {
  TensorId d_qkv, d_gamma_q, d_gamma_k, dq, dk, dv, qkv, rstd_q, rstd_k, gamma_q, gamma_k, cosine,
      sine;
};
/// y [batch * tokens, dim]; lse [batch, heads, tokens]: log of the sum of exponentials.
struct Attention {
  TensorId y, lse, q, k, v;
};
struct AttentionBackward {
  TensorId dq, dk, dv, dy, y, lse, q, k, v;
};
/// QkNormRope and Attention in one, nothing kept between them but what prepared_elements()
/// (model/shapes.h) says where options ask for it; y = scale[sample] · its result.
struct QkvAttention {
  TensorId y, lse, qkv, gamma_q, gamma_k, cosine, sine, scale;
  TensorId prepared;  // absent: nothing is left for the backward
};
struct QkvAttentionBackward {
  TensorId d_qkv, d_gamma_q, d_gamma_k, dy, y, lse, qkv, gamma_q, gamma_k, cosine, sine, scale;
  TensorId prepared;
};
/// y = x + scale[sample] · gamma ⊙ branch. gamma may be absent (GPT), scale too (no DropPath).
struct AddBranch {
  TensorId y, x, branch, gamma, scale;
};
/// d_branch = scale · gamma ⊙ dy; d_gamma += Σ scale · branch ⊙ dy; dy itself goes on as dx.
struct AddBranchBackward {
  TensorId d_branch, d_gamma, dy, branch, gamma, scale;
};
/// Times scale[sample] where that is there (DropPath ahead of a LinearAdd).
struct Gelu {
  TensorId y, x, scale;
};
struct GeluBackward {
  TensorId dx, dy, x, scale;  // dx may be dy
};
/// Linear and Gelu in one: f = x · wᵀ, y = scale · gelu(f).
struct LinearGelu {
  TensorId y, f, x, w, scale;
};
/// LinearBackwardInput and GeluBackward in one: df = scale · gelu'(f) · (dy · w).
struct LinearBackwardGelu {
  TensorId df, dy, w, f, scale;
};
/// ViT: one row per sample from its tokens, the class token or the mean over the patches.
struct ReadOut {
  TensorId y, tokens;
};
/// d_tokens = (all of it written); copy: as in RmsNormBackward.
struct ReadOutBackward {
  TensorId d_tokens, dy, copy;
};
/// row_loss [rows]; loss [1] = mean over the scored rows; d_logits (it may be the logits) = its
/// gradient times the loss scale of the micro-step (1 / grad_accum).
struct CrossEntropy {
  TensorId loss, row_loss, d_logits, logits, labels, soft_targets;
};
/// What must be zero before something is added to it.
struct Clear {
  TensorId what;
};

using OpWork =
    std::variant<Patchify, Unpatchify, Linear, LinearBackwardInput, LinearBackwardWeight, LinearAdd,
                 FoldLayerScale, AssembleTokens, AssembleTokensBackward, Embed, EmbedBackward,
                 RmsNorm, RmsNormBackward, QkNormRope, QkNormRopeBackward, Attention,
                 AttentionBackward, QkvAttention, QkvAttentionBackward, AddBranch,
                 AddBranchBackward, Gelu, GeluBackward, LinearGelu, LinearBackwardGelu, ReadOut,
                 ReadOutBackward, CrossEntropy, Clear>;

struct Op {
  std::string name;  // "block3.qkv", "block3.attention.backward": profiles and errors show it
  OpWork work;
};
/// GEMM, attention, norm, elementwise, optimizer, copy, communication: how profiles group ops.
const char* category_of(const Op& op);

/// A parameter: where it lies, how it begins, whether weight decay and LAMB's trust ratio apply.
struct Parameter {
  std::string name;  // as in checkpoints: "blocks.3.attn.qkv.weight"
  TensorId value, gradient, first_moment, second_moment, average,
      compute;         // compute: bf16 copy or value
  TensorId row_scale;  // folded program: compute = row_scale ⊙ value, row by row
  enum class Init : std::uint8_t {
    ones,
    layer_scale,
    trunc_normal,
    fan_in_uniform
  } init = Init::ones;
  bool decayed = false;
  std::uint32_t ordinal = 0;  // in forward order: the key of its first values
};

struct ProgramOptions {
  int batch = 8;
  Regime regime = Regime::fp32;
  bool moments = true;            // optimizer state
  bool average = false;           // EMA
  bool checkpointing = false;     // keep only block inputs; run a block's forward again in backward
  bool soft_targets = false;      // targets [batch, classes] beside the labels
  bool input_gradient = false;    // d_images too
  bool fused = false;             // LinearAdd and QkvAttention for what they stand for
  bool prepared_heads = false;    // QkvAttention leaves q and k for its backward, where a form does
  bool gelu_in_products = false;  // LinearGelu and LinearBackwardGelu, where a form has them
  bool packed_turns = false;      // a table of turns as kernels of attention read it
  LastBlock last_block = LastBlock::full;
};

/// The whole step without the optimizer. All three lists run in order.
struct Program {
  ModelSpec model;
  ProgramOptions options;
  MemoryPlan plan;
  std::vector<Parameter> parameters;
  std::vector<Op> forward, loss, backward;
  /// [2 * layers][batch], fp32: DropPath's factor per sample, attention then MLP of each block;
  /// absent at rate 0.
  std::vector<TensorId> branch_scales;
  TensorId images, ids, labels, soft_targets;  // inputs (those of the family)
  TensorId logits, row_loss, mean_loss, cosine, sine, d_images;
  TensorId turns;  // cosine and sine as a device packs them; absent: it does so for every call
  std::vector<TensorId> added_to;  // gradients that no operation sets: zero at the start of a step
};
/// Refuses (usage) what check_model and check_last_block refuse and a batch below 1.
Result<Program> build_program(const ModelSpec& model, const ProgramOptions& options);

std::int64_t parameter_count(const ModelSpec& model);

}  // namespace sluice::train
