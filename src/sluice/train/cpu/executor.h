// sluice/train/cpu/executor.h - every op of a program as calls of kernels over a team.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/backend.h"
#include "sluice/train/cpu/attention.h"
#include "sluice/train/cpu/cross_entropy.h"
#include "sluice/train/cpu/fused.h"
#include "sluice/train/cpu/gelu.h"
#include "sluice/train/cpu/gemm.h"
#include "sluice/train/cpu/norm.h"
#include "sluice/train/cpu/rope.h"
#include "sluice/train/cpu/team.h"
#include "sluice/train/cpu/tokens.h"

#include <concepts>
#include <cstddef>
#include <cstring>
#include <vector>

namespace sluice::train::cpu {

/// Act: activations, Res: residual stream. Memory and team are the backend's.
template <class Act, class Res>
class Executor {
 public:
  Executor(const Program& program, std::byte* memory, Team& team, const Gemm& gemm)
      : plan_(program.plan),
        added_to_(program.added_to),
        memory_(memory),
        team_(team),
        gemm_(gemm),
        heads_(heads_of(program)),
        tokens_(tokens_of(program)),
        epsilon_(program.model.norm_epsilon),
        partial_stride_(
            (std::max<std::int64_t>(program.model.dim, 2LL * program.model.head_dim()) + 15) / 16 *
            16),
        partials_(static_cast<std::size_t>(partial_stride_ * team.size())),
        scratch_stride_((attention_scratch_bytes<Act>(heads_) + 63) / 64 * 64),
        scratch_(scratch_stride_ * static_cast<std::size_t>(team.size()) + 64) {}

  void begin(const MicroStep& micro) {
    micro_ = micro;
    tokens_.channels_last = micro.channels_last;
    if (!micro.first || micro.evaluating) return;
    for (const TensorId gradient : added_to_)
      std::memset(at<std::byte>(gradient), 0, plan_.at(gradient).bytes());
  }

  [[nodiscard]] std::size_t workspace_bytes() const {
    return partials_.size() * sizeof(float) + scratch_.size() + fused_.bytes();
  }

  void operator()(const Patchify& op) {
    team_.split(tokens_.batch, 1, [&](Rows samples, int) {
      patchify(at<Act>(op.patches), at<float>(op.images), tokens_, samples);
    });
  }
  void operator()(const Unpatchify& op) {
    team_.split(tokens_.batch, 1, [&](Rows samples, int) {
      unpatchify(at<float>(op.d_images), at<Act>(op.d_patches), tokens_, samples);
    });
  }
  void operator()(const Linear& op) {
    const auto [out, in] = sides(op.w);
    const std::int64_t rows = plan_.at(op.x).elements() / in;
    gemm_(team_, {rows, out, in, false, true, in, in, out, 0}, at<Act>(op.y), at<Act>(op.x),
          at<Act>(op.w));
  }
  void operator()(const LinearBackwardInput& op) {
    const auto [out, in] = sides(op.w);
    const std::int64_t rows = plan_.at(op.dy).elements() / out;
    gemm_(team_, {rows, in, out, false, false, out, in, in, 0}, at<Act>(op.dx), at<Act>(op.dy),
          at<Act>(op.w));
  }
  void operator()(const LinearBackwardWeight& op) {
    const auto [out, in] = sides(op.dw);
    const std::int64_t rows = plan_.at(op.dy).elements() / out;
    const float beta = micro_.first || op.alone ? 0.0F : 1.0F;
    gemm_(team_, {out, in, rows, true, false, out, in, in, beta}, at<float>(op.dw), at<Act>(op.dy),
          at<Act>(op.x));
  }
  void operator()(const LinearAdd& op) {
    const auto [out, in] = sides(op.w);
    const std::int64_t rows = plan_.at(op.x).elements() / in;
    Act* branch = fused_.branch(rows * out);
    gemm_(team_, {rows, out, in, false, true, in, in, out, 0}, branch, at<Act>(op.x),
          at<Act>(op.w));
    const std::int64_t width = out;
    team_.split(rows, 1, [&](Rows part, int) {
      add_branch_forward<Act, Res>(at<Res>(op.y), at<Res>(op.residual), branch, nullptr, nullptr, 1,
                                   part, width);
    });
  }
  void operator()(const FoldLayerScale& op) {
    const auto [rows, columns] = sides(op.weight);
    const std::int64_t width = columns;
    team_.split(rows, 1, [&](Rows part, int) {
      fold_layer_scale(at<float>(op.d_weight), at<float>(op.d_gamma), at<float>(op.d_folded),
                       at<float>(op.weight), at<float>(op.gamma), !micro_.first, part, width);
    });
  }
  void operator()(const AssembleTokens& op) {
    team_.split(tokens_.batch, 1, [&](Rows samples, int) {
      assemble_tokens(at<Res>(op.tokens), at<Act>(op.embedded), at<float>(op.position),
                      at<float>(op.class_token), at<float>(op.registers), tokens_, samples);
    });
  }
  void operator()(const AssembleTokensBackward& op) {
    team_.split(tokens_.batch, 1, [&](Rows samples, int) {
      assemble_tokens_backward(at<Act>(op.d_embedded), at<Res>(op.d_tokens), tokens_, samples);
    });
    team_.split(tokens_.dim, 16, [&](Rows columns, int) {
      assemble_tokens_backward_parameters(at<float>(op.d_position), at<float>(op.d_class_token),
                                          at<float>(op.d_registers), at<Res>(op.d_tokens), tokens_,
                                          columns);
    });
  }
  void operator()(const Embed& op) {
    team_.split(plan_.at(op.ids).elements(), 1, [&](Rows rows, int) {
      embed(at<Res>(op.tokens), at<std::int32_t>(op.ids), at<float>(op.table), rows, tokens_.dim);
    });
  }
  void operator()(const EmbedBackward& op) {
    team_.split(tokens_.dim, 16, [&](Rows columns, int) {
      embed_backward(at<float>(op.d_table), at<std::int32_t>(op.ids), at<Res>(op.d_tokens),
                     plan_.at(op.ids).elements(), tokens_.dim, columns);
    });
  }
  void operator()(const RmsNorm& op) {
    team_.split(plan_.at(op.rstd).elements(), 1, [&](Rows rows, int) {
      rms_norm_forward(at<Act>(op.y), at<float>(op.rstd), at<Res>(op.x), at<float>(op.gamma), rows,
                       tokens_.dim, epsilon_);
    });
  }
  void operator()(const RmsNormBackward& op) {
    clear_partials();
    team_.split(plan_.at(op.rstd).elements(), 1, [&](Rows rows, int member) {
      rms_norm_backward(at<Res>(op.dx), partial(member), at<Act>(op.dy), at<Res>(op.x),
                        at<float>(op.rstd), at<float>(op.gamma), rows, tokens_.dim);
    });
    add_partials(op.d_gamma, 0);
    copy_as_act(op.copy, op.dx);
  }
  void operator()(const QkNormRope& op) {
    team_.split(heads_.batch, 1, [&](Rows samples, int) {
      qk_norm_rope_forward(at<Act>(op.q), at<Act>(op.k), at<Act>(op.v), at<float>(op.rstd_q),
                           at<float>(op.rstd_k), at<Act>(op.qkv), at<float>(op.gamma_q),
                           at<float>(op.gamma_k), at<float>(op.cosine), at<float>(op.sine), heads_,
                           samples);
    });
  }
  void operator()(const QkNormRopeBackward& op) {
    clear_partials();
    team_.split(heads_.batch, 1, [&](Rows samples, int member) {
      qk_norm_rope_backward(at<Act>(op.d_qkv), partial(member), partial(member) + heads_.head_dim,
                            at<Act>(op.dq), at<Act>(op.dk), at<Act>(op.dv), at<Act>(op.qkv),
                            at<float>(op.rstd_q), at<float>(op.rstd_k), at<float>(op.gamma_q),
                            at<float>(op.gamma_k), at<float>(op.cosine), at<float>(op.sine), heads_,
                            samples);
    });
    add_partials(op.d_gamma_q, 0);
    add_partials(op.d_gamma_k, heads_.head_dim);
  }
  void operator()(const Attention& op) {
    team_.split(heads_.batch * heads_.heads, 1, [&](Rows pairs, int member) {
      attention_forward(at<Act>(op.y), at<float>(op.lse), at<Act>(op.q), at<Act>(op.k),
                        at<Act>(op.v), heads_, gemm_, scratch(member), pairs);
    });
  }
  void operator()(const AttentionBackward& op) {
    team_.split(heads_.batch * heads_.heads, 1, [&](Rows pairs, int member) {
      attention_backward(at<Act>(op.dq), at<Act>(op.dk), at<Act>(op.dv), at<Act>(op.dy),
                         at<Act>(op.y), at<float>(op.lse), at<Act>(op.q), at<Act>(op.k),
                         at<Act>(op.v), heads_, gemm_, scratch(member), pairs);
    });
  }
  void operator()(const QkvAttention& op) {
    const SplitHeads<Act> of = split_heads(op);
    team_.split(heads_.batch * heads_.heads, 1, [&](Rows pairs, int member) {
      attention_forward(at<Act>(op.y), at<float>(op.lse), of.q, of.k, of.v, heads_, gemm_,
                        scratch(member), pairs);
    });
    scale_samples(at<Act>(op.y), op.scale, plan_.at(op.y).elements());
  }
  void operator()(const QkvAttentionBackward& op) {
    const SplitHeads<Act> of = split_heads(op);
    const std::int64_t elements = plan_.at(op.y).elements();
    std::memcpy(of.dy, at<Act>(op.dy), static_cast<std::size_t>(elements) * sizeof(Act));
    scale_samples(of.dy, op.scale, elements);
    clear_partials();
    // The stored y is scaled: a sample dropped has none, so it is made again.
    team_.split(heads_.batch * heads_.heads, 1, [&](Rows pairs, int member) {
      attention_forward(of.y, of.lse, of.q, of.k, of.v, heads_, gemm_, scratch(member), pairs);
      attention_backward(of.dq, of.dk, of.dv, of.dy, of.y, of.lse, of.q, of.k, of.v, heads_, gemm_,
                         scratch(member), pairs);
    });
    team_.split(heads_.batch, 1, [&](Rows samples, int member) {
      qk_norm_rope_backward(at<Act>(op.d_qkv), partial(member), partial(member) + heads_.head_dim,
                            of.dq, of.dk, of.dv, at<Act>(op.qkv), of.rstd_q, of.rstd_k,
                            at<float>(op.gamma_q), at<float>(op.gamma_k), at<float>(op.cosine),
                            at<float>(op.sine), heads_, samples);
    });
    add_partials(op.d_gamma_q, 0);
    add_partials(op.d_gamma_k, heads_.head_dim);
  }
  void operator()(const AddBranch& op) {
    const std::int64_t count = plan_.at(op.y).elements() / tokens_.dim;
    team_.split(count, 1, [&](Rows rows, int) {
      add_branch_forward(at<Res>(op.y), at<Res>(op.x), at<Act>(op.branch), at<float>(op.gamma),
                         at<float>(op.scale), count / tokens_.batch, rows, tokens_.dim);
    });
  }
  void operator()(const AddBranchBackward& op) {
    clear_partials();
    const std::int64_t count = plan_.at(op.dy).elements() / tokens_.dim;
    team_.split(count, 1, [&](Rows rows, int member) {
      add_branch_backward(at<Act>(op.d_branch), op.d_gamma.exists() ? partial(member) : nullptr,
                          at<Res>(op.dy), at<Act>(op.branch), at<float>(op.gamma),
                          at<float>(op.scale), count / tokens_.batch, rows, tokens_.dim);
    });
    if (op.d_gamma.exists()) add_partials(op.d_gamma, 0);
  }
  void operator()(const Gelu& op) {
    team_.split(plan_.at(op.x).elements(), 64,
                [&](Rows elements, int) { gelu_forward(at<Act>(op.y), at<Act>(op.x), elements); });
    scale_samples(at<Act>(op.y), op.scale, plan_.at(op.y).elements());
  }
  void operator()(const GeluBackward& op) {
    team_.split(plan_.at(op.x).elements(), 64, [&](Rows elements, int) {
      gelu_backward(at<Act>(op.dx), at<Act>(op.dy), at<Act>(op.x), elements);
    });
    scale_samples(at<Act>(op.dx), op.scale, plan_.at(op.dx).elements());
  }
  void operator()(const LinearGelu& op) {
    (*this)(Linear{op.f, op.x, op.w});
    (*this)(Gelu{op.y, op.f, op.scale});
  }
  void operator()(const LinearBackwardGelu& op) {
    (*this)(LinearBackwardInput{op.df, op.dy, op.w});
    (*this)(GeluBackward{op.df, op.df, op.f, op.scale});
  }
  void operator()(const ReadOut& op) {
    team_.split(tokens_.batch, 1, [&](Rows samples, int) {
      if (is_act(op.y))
        read_out(at<Act>(op.y), at<Act>(op.tokens), tokens_, samples);
      else
        read_out(at<Res>(op.y), at<Res>(op.tokens), tokens_, samples);
    });
  }
  void operator()(const ReadOutBackward& op) {
    team_.split(tokens_.batch, 1, [&](Rows samples, int) {
      if (is_act(op.d_tokens))
        read_out_backward(at<Act>(op.d_tokens), at<Act>(op.dy), tokens_, samples);
      else
        read_out_backward(at<Res>(op.d_tokens), at<Res>(op.dy), tokens_, samples);
    });
    copy_as_act(op.copy, op.d_tokens);
  }
  void operator()(const CrossEntropy& op) {
    const std::int64_t rows = plan_.at(op.row_loss).elements();
    const std::int64_t classes = plan_.at(op.logits).elements() / rows;
    float* row_loss = at<float>(op.row_loss);
    team_.split(rows, 1, [&](Rows part, int) {
      cross_entropy(row_loss, micro_.evaluating ? nullptr : at<Act>(op.d_logits),
                    at<Act>(op.logits), at<std::int32_t>(op.labels), at<float>(op.soft_targets),
                    micro_.label_smoothing, micro_.gradient_factor, part, classes);
    });
    double sum = 0;
    for (std::int64_t row = 0; row < rows; ++row)
      sum += static_cast<double>(row_loss[row]);
    *at<float>(op.loss) = static_cast<float>(sum * static_cast<double>(micro_.loss_factor));
  }
  void operator()(const Clear& op) {
    std::byte* first = at<std::byte>(op.what);
    team_.split(static_cast<std::int64_t>(plan_.at(op.what).bytes()), 4096, [&](Rows bytes, int) {
      std::memset(first + bytes.begin, 0, static_cast<std::size_t>(bytes.count()));
    });
  }

 private:
  struct Sides {
    std::int64_t out, in;
  };
  [[nodiscard]] Sides sides(TensorId weight) const {
    const Tensor& tensor = plan_.at(weight);
    return {tensor.shape.front(), tensor.elements() / tensor.shape.front()};
  }
  [[nodiscard]] bool is_act(TensorId id) const {
    return (plan_.at(id).dtype == Dtype::bf16) == std::same_as<Act, Bf16>;
  }
  /// Null for a tensor that is absent.
  template <class T>
  T* at(TensorId id) const {
    return id.exists() ? reinterpret_cast<T*>(memory_ + plan_.at(id).offset) : nullptr;
  }
  template <class FusedOp>
  SplitHeads<Act> split_heads(const FusedOp& op) {
    const SplitHeads<Act> of = fused_.heads(heads_);
    team_.split(heads_.batch, 1, [&](Rows samples, int) {
      qk_norm_rope_forward(of.q, of.k, of.v, of.rstd_q, of.rstd_k, at<Act>(op.qkv),
                           at<float>(op.gamma_q), at<float>(op.gamma_k), at<float>(op.cosine),
                           at<float>(op.sine), heads_, samples);
    });
    return of;
  }
  void scale_samples(Act* values, TensorId scale, std::int64_t elements) {
    if (!scale.exists()) return;
    const std::int64_t each = elements / tokens_.batch;
    team_.split(tokens_.batch, 1, [&](Rows samples, int) {
      for (std::int64_t i = samples.begin * each; i < samples.end * each; ++i)
        values[i] = stored<Act>(train::to_float(values[i]) * at<float>(scale)[i / each]);
    });
  }
  void copy_as_act(TensorId copy, TensorId from) {
    if (!copy.exists()) return;
    team_.split(plan_.at(from).elements(), 64, [&](Rows elements, int) {
      for (std::int64_t i = elements.begin; i < elements.end; ++i)
        at<Act>(copy)[i] = stored<Act>(train::to_float(at<Res>(from)[i]));
    });
  }
  float* partial(int member) { return partials_.data() + member * partial_stride_; }
  void clear_partials() { std::memset(partials_.data(), 0, partials_.size() * sizeof(float)); }
  /// In the order of the members: the same sum every time.
  void add_partials(TensorId into, std::int64_t from) {
    const std::int64_t count = plan_.at(into).elements();
    for (int member = 0; member < team_.size(); ++member) {
      cpu::add_into(at<float>(into), partial(member) + from, Rows{0, count});
    }
  }
  void* scratch(int member) {
    const auto start = reinterpret_cast<std::uintptr_t>(scratch_.data());
    return scratch_.data() + ((start + 63) / 64 * 64 - start) +
           scratch_stride_ * static_cast<std::size_t>(member);
  }

  const MemoryPlan& plan_;
  const std::vector<TensorId>& added_to_;
  FusedScratch<Act> fused_;
  std::byte* memory_;
  Team& team_;
  const Gemm& gemm_;
  Heads heads_;
  TokenShape tokens_;
  float epsilon_;
  MicroStep micro_;
  std::int64_t partial_stride_;
  std::vector<float> partials_;  // one array per member
  std::size_t scratch_stride_;
  std::vector<std::byte> scratch_;
};

}  // namespace sluice::train::cpu
