// sluice/train/program/touched.cpp - a list of each kind of operation; touched_test runs them all
// and holds what they change against it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/program/touched.h"

#include <initializer_list>
#include <variant>

namespace sluice::train {
namespace {

using Ids = std::initializer_list<TensorId>;

Touched listed(Ids read, Ids written, Ids added_to = {}) {
  Touched touched;
  const auto add = [](std::vector<TensorId>& to, Ids ids) {
    for (const TensorId id : ids)
      if (id.exists()) to.push_back(id);
  };
  add(touched.read, read);
  add(touched.read, added_to);
  add(touched.written, written);
  add(touched.written, added_to);
  return touched;
}

struct Lists {
  Touched operator()(const Patchify& op) const { return listed({op.images}, {op.patches}); }
  Touched operator()(const Unpatchify& op) const { return listed({op.d_patches}, {op.d_images}); }
  Touched operator()(const Linear& op) const { return listed({op.x, op.w}, {op.y}); }
  Touched operator()(const LinearBackwardInput& op) const { return listed({op.dy, op.w}, {op.dx}); }
  Touched operator()(const LinearBackwardWeight& op) const {
    return op.alone ? listed({op.dy, op.x}, {op.dw}) : listed({op.dy, op.x}, {}, {op.dw});
  }
  Touched operator()(const LinearAdd& op) const {
    return listed({op.x, op.w, op.residual}, {op.y});
  }
  Touched operator()(const FoldLayerScale& op) const {
    return listed({op.d_folded, op.weight, op.gamma}, {}, {op.d_weight, op.d_gamma});
  }
  Touched operator()(const AssembleTokens& op) const {
    return listed({op.embedded, op.position, op.class_token, op.registers}, {op.tokens});
  }
  Touched operator()(const AssembleTokensBackward& op) const {
    return listed({op.d_tokens}, {op.d_embedded},
                  {op.d_position, op.d_class_token, op.d_registers});
  }
  Touched operator()(const Embed& op) const { return listed({op.ids, op.table}, {op.tokens}); }
  Touched operator()(const EmbedBackward& op) const {
    return listed({op.ids, op.d_tokens}, {}, {op.d_table});
  }
  Touched operator()(const RmsNorm& op) const { return listed({op.x, op.gamma}, {op.y, op.rstd}); }
  Touched operator()(const RmsNormBackward& op) const {
    return listed({op.dy, op.x, op.rstd, op.gamma}, {op.copy}, {op.dx, op.d_gamma});
  }
  Touched operator()(const QkNormRope& op) const {
    return listed({op.qkv, op.gamma_q, op.gamma_k, op.cosine, op.sine},
                  {op.q, op.k, op.v, op.rstd_q, op.rstd_k});
  }
  Touched operator()(const QkNormRopeBackward& op) const {
    return listed({op.dq, op.dk, op.dv, op.qkv, op.rstd_q, op.rstd_k, op.gamma_q, op.gamma_k,
                   op.cosine, op.sine},
                  {op.d_qkv}, {op.d_gamma_q, op.d_gamma_k});
  }
  Touched operator()(const Attention& op) const {
    return listed({op.q, op.k, op.v}, {op.y, op.lse});
  }
  Touched operator()(const AttentionBackward& op) const {
    return listed({op.dy, op.y, op.lse, op.q, op.k, op.v}, {op.dq, op.dk, op.dv});
  }
  Touched operator()(const QkvAttention& op) const {
    return listed({op.qkv, op.gamma_q, op.gamma_k, op.cosine, op.sine, op.scale},
                  {op.y, op.lse, op.prepared});
  }
  Touched operator()(const QkvAttentionBackward& op) const {
    return listed({op.dy, op.y, op.lse, op.qkv, op.gamma_q, op.gamma_k, op.cosine, op.sine,
                   op.scale, op.prepared},
                  {op.d_qkv}, {op.d_gamma_q, op.d_gamma_k});
  }
  Touched operator()(const AddBranch& op) const {
    return listed({op.x, op.branch, op.gamma, op.scale}, {op.y});
  }
  Touched operator()(const AddBranchBackward& op) const {
    return listed({op.dy, op.branch, op.gamma, op.scale}, {op.d_branch}, {op.d_gamma});
  }
  Touched operator()(const Gelu& op) const { return listed({op.x, op.scale}, {op.y}); }
  Touched operator()(const GeluBackward& op) const {
    return listed({op.dy, op.x, op.scale}, {op.dx});
  }
  Touched operator()(const LinearGelu& op) const {
    return listed({op.x, op.w, op.scale}, {op.f, op.y});
  }
  Touched operator()(const LinearBackwardGelu& op) const {
    return listed({op.dy, op.w, op.f, op.scale}, {op.df});
  }
  Touched operator()(const ReadOut& op) const { return listed({op.tokens}, {op.y}); }
  Touched operator()(const ReadOutBackward& op) const {
    return listed({op.dy}, {op.d_tokens, op.copy});
  }
  Touched operator()(const CrossEntropy& op) const {
    return listed({op.logits, op.labels, op.soft_targets}, {op.loss, op.row_loss, op.d_logits});
  }
  Touched operator()(const Clear& op) const { return listed({}, {op.what}); }
};

}  // namespace

Touched touched_by(const OpWork& work) {
  return std::visit(Lists{}, work);
}

}  // namespace sluice::train
