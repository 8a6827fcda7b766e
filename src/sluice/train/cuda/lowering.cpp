// sluice/train/cuda/lowering.cpp - fills the records of kernels.h from the plan.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda/lowering.h"

#include <algorithm>

namespace sluice::train::cuda {
namespace {

Call kernel(KernelCall call) {
  return call;
}

}  // namespace

Lowering::Lowering(const Program& program, std::byte* memory)
    : program_(program),
      plan_(program.plan),
      memory_(memory),
      heads_(heads_of(program)),
      tokens_(tokens_of(program)) {}

void Lowering::begin(const MicroStep& micro) {
  micro_ = micro;
  tokens_.channels_last = micro.channels_last;
}

Read Lowering::read(TensorId id) const {
  return id.exists() ? Read{at<void>(id), plan_.at(id).dtype} : Read{};
}
Written Lowering::written(TensorId id) const {
  return id.exists() ? Written{at<void>(id), plan_.at(id).dtype} : Written{};
}
Lowering::Sides Lowering::sides(TensorId weight) const {
  const Tensor& tensor = plan_.at(weight);
  return {tensor.shape.front(), tensor.elements() / tensor.shape.front()};
}

std::vector<Call> Lowering::clear_gradients() const {
  std::vector<const Tensor*> tensors;
  for (const TensorId id : program_.added_to)
    tensors.push_back(&plan_.at(id));
  std::sort(tensors.begin(), tensors.end(),
            [](const Tensor* a, const Tensor* b) { return a->offset < b->offset; });
  std::vector<Call> calls;
  for (std::size_t i = 0; i < tensors.size();) {
    const std::size_t begin = tensors[i]->offset;
    std::size_t end = begin + tensors[i]->bytes();
    // Only padding lies between neighbours that are one alignment apart.
    for (++i; i < tensors.size() && tensors[i]->offset < end + MemoryPlan::kAlignment; ++i)
      end = tensors[i]->offset + tensors[i]->bytes();
    calls.push_back(kernel(ClearCall{memory_ + begin, end - begin}));
  }
  return calls;
}

Call Lowering::operator()(const Patchify& op) const {
  return kernel(PatchifyCall{written(op.patches), at<float>(op.images), tokens_});
}
Call Lowering::operator()(const Unpatchify& op) const {
  return kernel(UnpatchifyCall{at<float>(op.d_images), read(op.d_patches), tokens_});
}
Call Lowering::operator()(const Linear& op) const {
  const auto [out, in] = sides(op.w);
  const std::int64_t rows = plan_.at(op.x).elements() / in;
  return Product{rows, out,           in,         false,      true, in, in,
                 out,  written(op.y), read(op.x), read(op.w), {}};
}
Call Lowering::operator()(const LinearAdd& op) const {
  const auto [out, in] = sides(op.w);
  const std::int64_t rows = plan_.at(op.x).elements() / in;
  return Product{rows,          out,        in,         false,
                 true,          in,         in,         out,
                 written(op.y), read(op.x), read(op.w), read(op.residual)};
}
Call Lowering::operator()(const LinearBackwardInput& op) const {
  const auto [out, in] = sides(op.w);
  const std::int64_t rows = plan_.at(op.dy).elements() / out;
  return Product{rows,           in,          out,        false, false, out, in, in,
                 written(op.dx), read(op.dy), read(op.w), {}};
}
Call Lowering::operator()(const LinearBackwardWeight& op) const {
  const auto [out, in] = sides(op.dw);
  const std::int64_t rows = plan_.at(op.dy).elements() / out;
  const bool add = !micro_.first && !op.alone;
  return Product{out, in, rows,           true,        false,      out,
                 in,  in, written(op.dw), read(op.dy), read(op.x), add ? read(op.dw) : Read{}};
}
Call Lowering::operator()(const FoldLayerScale& op) const {
  const auto [rows, columns] = sides(op.weight);
  return kernel(FoldLayerScaleCall{at<float>(op.d_weight), at<float>(op.d_gamma),
                                   at<float>(op.d_folded), at<float>(op.weight),
                                   at<float>(op.gamma), rows, columns, !micro_.first});
}
Call Lowering::operator()(const AssembleTokens& op) const {
  return kernel(AssembleCall{written(op.tokens), read(op.embedded), at<float>(op.position),
                             at<float>(op.class_token), at<float>(op.registers), tokens_});
}
Call Lowering::operator()(const AssembleTokensBackward& op) const {
  return kernel(AssembleBackwardCall{written(op.d_embedded), at<float>(op.d_position),
                                     at<float>(op.d_class_token), at<float>(op.d_registers),
                                     read(op.d_tokens), tokens_});
}
Call Lowering::operator()(const Embed& op) const {
  return kernel(EmbedCall{written(op.tokens), at<std::int32_t>(op.ids), at<float>(op.table),
                          plan_.at(op.ids).elements(), tokens_.dim});
}
Call Lowering::operator()(const EmbedBackward& op) const {
  return kernel(EmbedBackwardCall{at<float>(op.d_table), at<std::int32_t>(op.ids),
                                  read(op.d_tokens), plan_.at(op.ids).elements(), tokens_.dim,
                                  program_.model.vocabulary});
}
Call Lowering::operator()(const RmsNorm& op) const {
  return kernel(RmsNormCall{written(op.y), at<float>(op.rstd), read(op.x), at<float>(op.gamma),
                            plan_.at(op.rstd).elements(), tokens_.dim,
                            program_.model.norm_epsilon});
}
Call Lowering::operator()(const RmsNormBackward& op) const {
  return kernel(RmsNormBackwardCall{
      written(op.dx), written(op.copy), at<float>(op.d_gamma), read(op.dy), read(op.x),
      at<float>(op.rstd), at<float>(op.gamma), plan_.at(op.rstd).elements(), tokens_.dim});
}
Call Lowering::operator()(const QkNormRope& op) const {
  return kernel(QkNormRopeCall{written(op.q), written(op.k), written(op.v), at<float>(op.rstd_q),
                               at<float>(op.rstd_k), read(op.qkv), at<float>(op.gamma_q),
                               at<float>(op.gamma_k), at<float>(op.cosine), at<float>(op.sine),
                               heads_});
}
Call Lowering::operator()(const QkNormRopeBackward& op) const {
  return kernel(QkNormRopeBackwardCall{
      written(op.d_qkv), at<float>(op.d_gamma_q), at<float>(op.d_gamma_k), read(op.dq), read(op.dk),
      read(op.dv), read(op.qkv), at<float>(op.rstd_q), at<float>(op.rstd_k), at<float>(op.gamma_q),
      at<float>(op.gamma_k), at<float>(op.cosine), at<float>(op.sine), heads_});
}
Call Lowering::operator()(const Attention& op) const {
  return kernel(
      AttentionCall{written(op.y), at<float>(op.lse), read(op.q), read(op.k), read(op.v), heads_});
}
Call Lowering::operator()(const AttentionBackward& op) const {
  return kernel(AttentionBackwardCall{written(op.dq), written(op.dk), written(op.dv), read(op.dy),
                                      read(op.y), at<float>(op.lse), read(op.q), read(op.k),
                                      read(op.v), heads_});
}
Call Lowering::operator()(const QkvAttention& op) const {
  return kernel(QkvAttentionCall{written(op.y), at<float>(op.lse), read(op.qkv),
                                 at<float>(op.gamma_q), at<float>(op.gamma_k), at<float>(op.cosine),
                                 at<float>(op.sine), at<float>(op.scale), heads_,
                                 at<void>(op.prepared), at<void>(program_.turns)});
}
Call Lowering::operator()(const QkvAttentionBackward& op) const {
  return kernel(QkvAttentionBackwardCall{
      written(op.d_qkv), at<float>(op.d_gamma_q), at<float>(op.d_gamma_k), read(op.dy), read(op.y),
      at<float>(op.lse), read(op.qkv), at<float>(op.gamma_q), at<float>(op.gamma_k),
      at<float>(op.cosine), at<float>(op.sine), at<float>(op.scale), heads_, at<void>(op.prepared),
      at<void>(program_.turns)});
}
Call Lowering::operator()(const AddBranch& op) const {
  const std::int64_t rows = plan_.at(op.y).elements() / tokens_.dim;
  return kernel(AddBranchCall{written(op.y), read(op.x), read(op.branch), at<float>(op.gamma),
                              at<float>(op.scale), rows / tokens_.batch, rows, tokens_.dim});
}
Call Lowering::operator()(const AddBranchBackward& op) const {
  const std::int64_t rows = plan_.at(op.dy).elements() / tokens_.dim;
  return kernel(AddBranchBackwardCall{written(op.d_branch), at<float>(op.d_gamma), read(op.dy),
                                      read(op.branch), at<float>(op.gamma), at<float>(op.scale),
                                      rows / tokens_.batch, rows, tokens_.dim});
}
Call Lowering::operator()(const Gelu& op) const {
  const std::int64_t elements = plan_.at(op.x).elements();
  return kernel(
      GeluCall{written(op.y), read(op.x), at<float>(op.scale), elements / tokens_.batch, elements});
}
Call Lowering::operator()(const GeluBackward& op) const {
  const std::int64_t elements = plan_.at(op.x).elements();
  return kernel(GeluBackwardCall{written(op.dx), read(op.dy), read(op.x), at<float>(op.scale),
                                 elements / tokens_.batch, elements});
}
Call Lowering::operator()(const LinearGelu& op) const {
  const auto [hidden, dim] = sides(op.w);
  const std::int64_t rows = plan_.at(op.x).elements() / dim;
  return kernel(ProductGeluCall{written(op.y), written(op.f), read(op.x), read(op.w),
                                at<float>(op.scale), rows / tokens_.batch, rows, dim, hidden});
}
Call Lowering::operator()(const LinearBackwardGelu& op) const {
  const auto [dim, hidden] = sides(op.w);
  const std::int64_t rows = plan_.at(op.dy).elements() / dim;
  return kernel(ProductGeluBackwardCall{written(op.df), read(op.dy), read(op.w), read(op.f),
                                        at<float>(op.scale), rows / tokens_.batch, rows, dim,
                                        hidden});
}
Call Lowering::operator()(const ReadOut& op) const {
  return kernel(ReadOutCall{written(op.y), read(op.tokens), tokens_});
}
Call Lowering::operator()(const ReadOutBackward& op) const {
  return kernel(ReadOutBackwardCall{written(op.d_tokens), written(op.copy), read(op.dy), tokens_});
}
Call Lowering::operator()(const CrossEntropy& op) const {
  const std::int64_t rows = plan_.at(op.row_loss).elements();
  return kernel(CrossEntropyCall{
      at<float>(op.loss), at<float>(op.row_loss),
      micro_.evaluating ? Written{} : written(op.d_logits), read(op.logits),
      at<std::int32_t>(op.labels), at<float>(op.soft_targets), micro_.label_smoothing,
      micro_.gradient_factor, micro_.loss_factor, rows, plan_.at(op.logits).elements() / rows});
}
Call Lowering::operator()(const Clear& op) const {
  return kernel(ClearCall{at<void>(op.what), plan_.at(op.what).bytes()});
}

}  // namespace sluice::train::cuda
