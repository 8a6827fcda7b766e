// sluice/train/cuda/lowering.h - operations of a program as calls of kernels and products.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/backend.h"
#include "sluice/train/cuda/kernels.h"

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

namespace sluice::train::cuda {

using Call = std::variant<KernelCall, Product>;

/// Where a program's tensors lie on the device, and what its operations are there. A visitor over
/// OpWork: every operation is one call.
class Lowering {
 public:
  Lowering(const Program& program, std::byte* memory);

  /// What holds until the next one.
  void begin(const MicroStep& micro);
  /// Zeroes for the gradients that are added to; neighbours in one call.
  [[nodiscard]] std::vector<Call> clear_gradients() const;

  Call operator()(const Patchify& op) const;
  Call operator()(const Unpatchify& op) const;
  Call operator()(const Linear& op) const;
  Call operator()(const LinearAdd& op) const;
  Call operator()(const LinearBackwardInput& op) const;
  Call operator()(const LinearBackwardWeight& op) const;
  Call operator()(const FoldLayerScale& op) const;
  Call operator()(const AssembleTokens& op) const;
  Call operator()(const AssembleTokensBackward& op) const;
  Call operator()(const Embed& op) const;
  Call operator()(const EmbedBackward& op) const;
  Call operator()(const RmsNorm& op) const;
  Call operator()(const RmsNormBackward& op) const;
  Call operator()(const QkNormRope& op) const;
  Call operator()(const QkNormRopeBackward& op) const;
  Call operator()(const Attention& op) const;
  Call operator()(const AttentionBackward& op) const;
  Call operator()(const QkvAttention& op) const;
  Call operator()(const QkvAttentionBackward& op) const;
  Call operator()(const AddBranch& op) const;
  Call operator()(const AddBranchBackward& op) const;
  Call operator()(const Gelu& op) const;
  Call operator()(const GeluBackward& op) const;
  Call operator()(const LinearGelu& op) const;
  Call operator()(const LinearBackwardGelu& op) const;
  Call operator()(const ReadOut& op) const;
  Call operator()(const ReadOutBackward& op) const;
  Call operator()(const CrossEntropy& op) const;
  Call operator()(const Clear& op) const;

  /// Null for a tensor that is absent.
  template <class T>
  [[nodiscard]] T* at(TensorId id) const {
    return id.exists() ? reinterpret_cast<T*>(memory_ + plan_.at(id).offset) : nullptr;
  }
  [[nodiscard]] Read read(TensorId id) const;
  [[nodiscard]] Written written(TensorId id) const;

 private:
  struct Sides {
    std::int64_t out, in;
  };
  [[nodiscard]] Sides sides(TensorId weight) const;

  const Program& program_;
  const MemoryPlan& plan_;
  std::byte* memory_;
  Heads heads_;
  TokenShape tokens_;
  MicroStep micro_;
};

}  // namespace sluice::train::cuda
