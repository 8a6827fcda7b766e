// sluice/train/cuda/kernels.h - every kernel of libsluice_cuda.so as a record of what it reads and
// writes. The backend fills one, the module launches it, the tests check it against the CPU.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/dtype.h"
#include "sluice/train/model/shapes.h"
#include "sluice/train/sent_images.h"

#include <cstddef>
#include <cstdint>
#include <variant>

namespace sluice::train::cuda {

// All pointers are device memory. Activations ("act") and the residual stream ("res") are f32 or
// bf16, (act, res) being (f32, f32), (bf16, f32) or (bf16, bf16); everything else is as typed. Math
// is fp32. Rows are contiguous. A null pointer: absent. Sums over rows or samples are made in a
// fixed order (partial sums in the workspace, then one adder), so that a run repeats bit by bit.

struct Read {
  const void* data = nullptr;
  Dtype type = Dtype::f32;
};
struct Written {
  void* data = nullptr;
  Dtype type = Dtype::f32;
};

/// d = op(a)·op(b) + c, row-major: op(a) [m, k], op(b) [k, n], d [m, n]; rows of `ld` elements as
/// stored. a and b are both f32 or both bf16; d is f32 or bf16, c (null: nothing is added) has d's
/// type and layout and, where that is f32, may be d. Sums in fp32.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  std::int64_t lda = 0, ldb = 0, ldd = 0;
  Written d;
  Read a, b, c;
};

/// patches [batch * patches, 3 * patch * patch] act, columns channel, y, x.
struct PatchifyCall {
  Written patches;
  const float* images = nullptr;
  TokenShape shape;
};
/// Mixup (`cut` false): images[i] = keep · images[i] + take · images[batch - 1 - i], fp32 without
/// fused multiply-adds, as train/mixup.h has it; CutMix: partners exchange the box. In place, pairs
/// once; an odd batch's middle image stays. [batch, channels, height, width] or channels last.
struct MixImagesCall {
  float* images = nullptr;
  std::int64_t batch = 0, channels = 3, height = 0, width = 0;
  bool channels_last = false, cut = false;
  float keep = 1, take = 0;
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
};
/// What a loader sent (train/sent_images.h) becomes what a model takes: images [batch, channels,
/// height, width] f32. The value of a u8 is levels[channel * 256 + level], for at most 4 channels.
/// Images from `given` on are 0.
struct UnpackCall {
  float* images = nullptr;
  const void* pixels = nullptr;
  PixelType type = PixelType::u8;
  const float* levels = nullptr;
  std::int64_t batch = 0, given = 0, channels = 3, height = 0, width = 0;
};
struct UnpatchifyCall {
  float* d_images = nullptr;
  Read d_patches;
  TokenShape shape;
};
/// tokens [batch, tokens, dim] res = patches + position, then the class token, then the registers.
struct AssembleCall {
  Written tokens;
  Read embedded;  // act
  const float *position = nullptr, *class_token = nullptr, *registers = nullptr;
  TokenShape shape;
};
/// d_embedded is written, the three sums over the batch are added to.
struct AssembleBackwardCall {
  Written d_embedded;
  float *d_position = nullptr, *d_class_token = nullptr, *d_registers = nullptr;
  Read d_tokens;
  TokenShape shape;
};
/// tokens [rows, dim] res = table[ids].
struct EmbedCall {
  Written tokens;
  const std::int32_t* ids = nullptr;
  const float* table = nullptr;
  std::int64_t rows = 0, dim = 0;
};
/// d_table[ids[r]] += d_tokens[r].
struct EmbedBackwardCall {
  float* d_table = nullptr;
  const std::int32_t* ids = nullptr;
  Read d_tokens;
  std::int64_t rows = 0, dim = 0, vocabulary = 0;
};
/// y act = gamma · x · rstd, rstd = 1 / sqrt(mean(x²) + epsilon) of each row of x res.
struct RmsNormCall {
  Written y;
  float* rstd = nullptr;
  Read x;
  const float* gamma = nullptr;
  std::int64_t rows = 0, dim = 0;
  float epsilon = 0;
};
/// dx res += the gradient; copy (null: none) = dx as act; d_gamma [dim] += its sum over the rows.
struct RmsNormBackwardCall {
  Written dx, copy;
  float* d_gamma = nullptr;
  Read dy, x;
  const float *rstd = nullptr, *gamma = nullptr;
  std::int64_t rows = 0, dim = 0;
};
/// As cpu/rope.h: q, k, v [batch, heads, tokens, head_dim], rstd [batch, heads, tokens], qkv
/// [batch, tokens, 3, heads, head_dim], all act but the rstd; tables [tokens, head_dim].
struct QkNormRopeCall {
  Written q, k, v;
  float *rstd_q = nullptr, *rstd_k = nullptr;
  Read qkv;
  const float *gamma_q = nullptr, *gamma_k = nullptr, *cosine = nullptr, *sine = nullptr;
  Heads heads;
};
/// d_qkv is written, d_gamma_q and d_gamma_k [head_dim] are added to.
struct QkNormRopeBackwardCall {
  Written d_qkv;
  float *d_gamma_q = nullptr, *d_gamma_k = nullptr;
  Read dq, dk, dv, qkv;
  const float *rstd_q = nullptr, *rstd_k = nullptr, *gamma_q = nullptr, *gamma_k = nullptr,
              *cosine = nullptr, *sine = nullptr;
  Heads heads;
};
/// y [batch, tokens, heads * head_dim] act; lse [batch, heads, tokens].
struct AttentionCall {
  Written y;
  float* lse = nullptr;
  Read q, k, v;
  Heads heads;
};
struct AttentionBackwardCall {
  Written dq, dk, dv;
  Read dy, y;
  const float* lse = nullptr;
  Read q, k, v;
  Heads heads;
};
/// What forms of the two calls below read of cosine and sine: turns [tokens, head_dim], 4 bytes
/// each.
struct PackTurnsCall {
  void* turns = nullptr;
  const float *cosine = nullptr, *sine = nullptr;
  Heads heads;
};
/// QkNormRope and Attention in one: y = branch_scale[sample] · attention(norm and turn of qkv).
/// branch_scale null: 1. lse as above. Where rope_span is half of head_dim, channels 2i and 2i + 1
/// have one angle (model/rope_tables.h). `prepared` (null: none), bf16 [prepared_elements()]: q and
/// k as products read them, which a form may leave for the backward of the same heads.
struct QkvAttentionCall {
  Written y;
  float* lse = nullptr;
  Read qkv;
  const float *gamma_q = nullptr, *gamma_k = nullptr, *cosine = nullptr, *sine = nullptr,
              *branch_scale = nullptr;
  Heads heads;
  void* prepared = nullptr;
  const void* turns = nullptr;  // by PackTurnsCall; null: packed for this call
};
/// dy is the gradient of the scaled y. d_qkv is written, d_gamma_q and d_gamma_k are added to.
struct QkvAttentionBackwardCall {
  Written d_qkv;
  float *d_gamma_q = nullptr, *d_gamma_k = nullptr;
  Read dy, y;
  const float* lse = nullptr;
  Read qkv;
  const float *gamma_q = nullptr, *gamma_k = nullptr, *cosine = nullptr, *sine = nullptr,
              *branch_scale = nullptr;
  Heads heads;
  void* prepared = nullptr;  // what the forward left
  const void* turns = nullptr;
};
/// y res = x + branch_scale[row / rows_per_scale] · gamma ⊙ branch; gamma null: 1. y may be x.
struct AddBranchCall {
  Written y;
  Read x, branch;
  const float *gamma = nullptr, *branch_scale = nullptr;
  std::int64_t rows_per_scale = 1, rows = 0, dim = 0;
};
/// d_branch act = scale · gamma ⊙ dy; d_gamma [dim] (null with gamma null) += Σ scale · branch ⊙
/// dy.
struct AddBranchBackwardCall {
  Written d_branch;
  float* d_gamma = nullptr;
  Read dy, branch;
  const float *gamma = nullptr, *branch_scale = nullptr;
  std::int64_t rows_per_scale = 1, rows = 0, dim = 0;
};
/// y = branch_scale[element / elements_per_scale] · gelu(x), the exact erf form.
struct GeluCall {
  Written y;
  Read x;
  const float* branch_scale = nullptr;
  std::int64_t elements_per_scale = 1, elements = 0;
};
/// dx = branch_scale · gelu'(x) · dy; dx may be dy.
struct GeluBackwardCall {
  Written dx;
  Read dy, x;
  const float* branch_scale = nullptr;
  std::int64_t elements_per_scale = 1, elements = 0;
};
/// f = x · weightᵀ and y = branch_scale[row / rows_per_scale] · gelu(f): x [rows, dim], weight
/// [hidden, dim], all act.
struct ProductGeluCall {
  Written y, f;
  Read x, weight;
  const float* branch_scale = nullptr;
  std::int64_t rows_per_scale = 1, rows = 0, dim = 0, hidden = 0;
};
/// df = branch_scale[row / rows_per_scale] · gelu'(f) · (dy · weight): dy [rows, dim], weight [dim,
/// hidden], all act.
struct ProductGeluBackwardCall {
  Written df;
  Read dy, weight, f;
  const float* branch_scale = nullptr;
  std::int64_t rows_per_scale = 1, rows = 0, dim = 0, hidden = 0;
};
/// y [batch, dim] res: the class token, or the mean over the patches.
struct ReadOutCall {
  Written y;
  Read tokens;
  TokenShape shape;
};
/// d_tokens res written whole; copy (null: none) = d_tokens as act.
struct ReadOutBackwardCall {
  Written d_tokens, copy;
  Read dy;
  TokenShape shape;
};
/// As cpu/cross_entropy.h; also loss [1] = loss_factor · Σ row_loss. d_logits null: evaluating. It
/// may be the logits. Labels below 0 are not scored.
struct CrossEntropyCall {
  float *loss = nullptr, *row_loss = nullptr;
  Written d_logits;
  Read logits;
  const std::int32_t* labels = nullptr;
  const float* soft_targets = nullptr;
  float label_smoothing = 0, gradient_factor = 1, loss_factor = 1;
  std::int64_t rows = 0, classes = 0;
};
struct ClearCall {
  void* what = nullptr;
  std::size_t bytes = 0;
};

/// compute [elements] (its type) = value, times row_scale[element / columns] where that is given.
struct WeightCopy {
  const float* value = nullptr;
  Written compute;
  const float* row_scale = nullptr;
  std::int64_t elements = 0, columns = 1;
};
/// All weights in one launch; the list lies in device memory.
struct CopyWeightsCall {
  const WeightCopy* weights = nullptr;
  int count = 0;
  std::int64_t most_elements = 0;
};
/// LayerScale folded into a weight: compute = gamma ⊙ weight (rows). From d_folded, the gradient of
/// that product: d_weight = gamma ⊙ d_folded (`add`: +=), d_gamma[row] += Σ d_folded · weight.
struct FoldLayerScaleCall {
  float *d_weight = nullptr, *d_gamma = nullptr;
  const float *d_folded = nullptr, *weight = nullptr, *gamma = nullptr;
  std::int64_t rows = 0, columns = 0;
  bool add = false;
};

/// One parameter tensor, as in cpu/update.h. copy (null: none): the value as bf16.
struct UpdateTensor {
  float *value = nullptr, *gradient = nullptr, *first_moment = nullptr, *second_moment = nullptr,
        *average = nullptr;
  std::int64_t elements = 0;
  bool decayed = false;
  void* copy = nullptr;
};
/// A part of one tensor: what one block does. Stretches of a tensor follow one another.
struct Stretch {
  std::int32_t tensor = 0, count = 0;
  std::int64_t begin = 0;
};
/// What changes from step to step, in device memory: the host writes the first half before a step,
/// the device the second.
struct UpdateState {
  float rate = 0, correction1 = 1, correction2 = 1;  // correction: 1 / (1 − βᵗ)
  float unused = 0;
  double gradient_norm = 0;  // before the clip
};
/// Norm of all gradients into the state, then LAMB or AdamW with Apex's semantics (cpu/update.h),
/// then the average and the copy. A norm that is not finite: nothing but the norm is written.
struct UpdateCall {
  const UpdateTensor* tensors = nullptr;
  int tensor_count = 0;
  const Stretch* stretches = nullptr;
  int stretch_count = 0;
  UpdateState* state = nullptr;
  bool lamb = true;
  float beta1 = 0.9F, gain1 = 0.1F, beta2 = 0.999F, gain2 = 0.001F;  // gain: 1 − β, from double
  float epsilon = 1e-6F, weight_decay = 0, max_gradient_norm = 0, average_gain = 0;
};

using KernelCall =
    std::variant<PatchifyCall, UnpatchifyCall, AssembleCall, AssembleBackwardCall, EmbedCall,
                 EmbedBackwardCall, RmsNormCall, RmsNormBackwardCall, QkNormRopeCall,
                 QkNormRopeBackwardCall, AttentionCall, AttentionBackwardCall, PackTurnsCall,
                 QkvAttentionCall, QkvAttentionBackwardCall, AddBranchCall, AddBranchBackwardCall,
                 GeluCall, GeluBackwardCall, ProductGeluCall, ProductGeluBackwardCall, ReadOutCall,
                 ReadOutBackwardCall, CrossEntropyCall, ClearCall, CopyWeightsCall,
                 FoldLayerScaleCall, UpdateCall, MixImagesCall, UnpackCall>;

}  // namespace sluice::train::cuda
