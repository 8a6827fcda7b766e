// sluice/train/model/op_cost.cpp - tensors counted by what each operation reads and writes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/model/op_cost.h"

#include "sluice/train/model/shapes.h"

#include <initializer_list>
#include <variant>

namespace sluice::train {
namespace {

class Counter {
 public:
  explicit Counter(const Program& program) : plan_(program.plan), heads_(heads_of(program)) {}

  OpCost operator()(const Patchify& op) const { return moved({op.patches, op.images}); }
  OpCost operator()(const Unpatchify& op) const { return moved({op.d_images, op.d_patches}); }
  OpCost operator()(const Linear& op) const { return product({op.y, op.x, op.w}, op.x, op.w); }
  OpCost operator()(const LinearAdd& op) const {
    return product({op.y, op.x, op.w, op.residual}, op.x, op.w);
  }
  OpCost operator()(const LinearBackwardInput& op) const {
    return product({op.dx, op.dy, op.w}, op.dx, op.w);
  }
  OpCost operator()(const LinearBackwardWeight& op) const {
    return product({op.dw, op.dy, op.x}, op.x, op.dw);
  }
  OpCost operator()(const FoldLayerScale& op) const {
    return moved({op.d_weight, op.d_gamma, op.d_gamma, op.d_folded, op.weight, op.gamma});
  }
  OpCost operator()(const AssembleTokens& op) const {
    return moved({op.tokens, op.embedded, op.position, op.class_token, op.registers});
  }
  OpCost operator()(const AssembleTokensBackward& op) const {
    return moved({op.d_embedded, op.d_position, op.d_position, op.d_tokens});
  }
  OpCost operator()(const Embed& op) const { return moved({op.tokens, op.tokens, op.ids}); }
  OpCost operator()(const EmbedBackward& op) const {
    return moved({op.d_tokens, op.d_tokens, op.d_tokens, op.ids});
  }
  OpCost operator()(const RmsNorm& op) const { return moved({op.y, op.rstd, op.x, op.gamma}); }
  OpCost operator()(const RmsNormBackward& op) const {
    return moved({op.dx, op.dx, op.copy, op.dy, op.x, op.rstd, op.gamma, op.d_gamma, op.d_gamma});
  }
  OpCost operator()(const QkNormRope& op) const {
    return moved({op.q, op.k, op.v, op.rstd_q, op.rstd_k, op.qkv, op.cosine, op.sine});
  }
  OpCost operator()(const QkNormRopeBackward& op) const {
    return moved({op.d_qkv, op.dq, op.dk, op.dv, op.qkv, op.rstd_q, op.rstd_k, op.cosine, op.sine});
  }
  OpCost operator()(const Attention& op) const {
    return attention({op.y, op.lse, op.q, op.k, op.v}, 2);
  }
  OpCost operator()(const AttentionBackward& op) const {
    return attention({op.dq, op.dk, op.dv, op.dy, op.y, op.lse, op.q, op.k, op.v}, 5);
  }
  OpCost operator()(const QkvAttention& op) const {
    return attention({op.y, op.lse, op.qkv, op.prepared, op.cosine, op.sine}, 2);
  }
  OpCost operator()(const QkvAttentionBackward& op) const {
    return attention({op.d_qkv, op.dy, op.y, op.lse, op.qkv, op.prepared, op.cosine, op.sine}, 5);
  }
  OpCost operator()(const AddBranch& op) const { return moved({op.y, op.x, op.branch, op.gamma}); }
  OpCost operator()(const AddBranchBackward& op) const {
    return op.d_gamma.exists() ? moved({op.d_branch, op.dy, op.branch, op.gamma})
                               : moved({op.d_branch, op.dy});
  }
  OpCost operator()(const Gelu& op) const { return moved({op.y, op.x}); }
  OpCost operator()(const GeluBackward& op) const { return moved({op.dx, op.dy, op.x}); }
  OpCost operator()(const LinearGelu& op) const {
    return product({op.y, op.f, op.x, op.w}, op.x, op.w);
  }
  OpCost operator()(const LinearBackwardGelu& op) const {
    return product({op.df, op.dy, op.w, op.f}, op.df, op.w);
  }
  OpCost operator()(const ReadOut& op) const { return moved({op.y, op.y}); }
  OpCost operator()(const ReadOutBackward& op) const {
    return moved({op.d_tokens, op.copy, op.dy});
  }
  OpCost operator()(const CrossEntropy& op) const {
    return moved({op.logits, op.d_logits, op.labels, op.soft_targets, op.row_loss});
  }
  OpCost operator()(const Clear& op) const { return moved({op.what}); }

 private:
  [[nodiscard]] OpCost moved(std::initializer_list<TensorId> tensors) const {
    OpCost cost;
    for (const TensorId id : tensors)
      if (id.exists()) cost.bytes += static_cast<double>(plan_.at(id).bytes());
    return cost;
  }
  /// 2 · rows · out · in, with `rows` of a tensor [rows, in] and a weight [out, in].
  [[nodiscard]] OpCost product(std::initializer_list<TensorId> tensors, TensorId rows,
                               TensorId weight) const {
    OpCost cost = moved(tensors);
    const Tensor& w = plan_.at(weight);
    cost.flop =
        2.0 * static_cast<double>(plan_.at(rows).elements()) * static_cast<double>(w.shape.front());
    return cost;
  }
  [[nodiscard]] OpCost attention(std::initializer_list<TensorId> tensors, int products) const {
    OpCost cost = moved(tensors);
    const auto tokens = static_cast<double>(heads_.tokens);
    const double scores = heads_.causal ? tokens * (tokens + 1) / 2 : tokens * tokens;
    cost.flop = 2.0 * products * scores *
                static_cast<double>(heads_.batch * heads_.heads * heads_.head_dim);
    return cost;
  }

  const MemoryPlan& plan_;
  Heads heads_;
};

}  // namespace

OpCost cost_of(const Op& op, const Program& program) {
  return std::visit(Counter(program), op.work);
}

double executed_flop(const Program& program) {
  double flop = 0;
  for (const auto* ops : {&program.forward, &program.loss, &program.backward})
    for (const Op& op : *ops)
      flop += cost_of(op, program).flop;
  return flop;
}

std::map<std::string, OpCost> costs_of(const Program& program) {
  std::map<std::string, OpCost> costs;
  for (const auto* ops : {&program.forward, &program.loss, &program.backward})
    for (const Op& op : *ops)
      costs.emplace(op.name, cost_of(op, program));
  const auto bytes = [&](TensorId id) {
    return id.exists() ? static_cast<double>(program.plan.at(id).bytes()) : 0.0;
  };
  OpCost update, copies;
  for (const Parameter& p : program.parameters) {
    update.bytes += bytes(p.gradient) + 2 * (bytes(p.value) + bytes(p.first_moment) +
                                             bytes(p.second_moment) + bytes(p.average));
    if (p.compute.exists() && !(p.compute == p.value))
      copies.bytes += bytes(p.value) + bytes(p.compute);
  }
  if (program.options.moments) costs.emplace("update", update);
  if (copies.bytes > 0) costs.emplace("copy weights", copies);
  return costs;
}

}  // namespace sluice::train
