// sluice/train/model/memory_plan.h - every tensor of a training step with its place, decided before
// the first step; one allocation holds them all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/train/model/regime.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::train {

/// What a tensor is for; the plan is printed by these, in this order.
enum class Arena : std::uint8_t {
  parameters,  // contiguous, decayed tensors first, in the order in which backward finishes them
  gradients,   // the layout of the parameters
  first_moment,
  second_moment,
  average,      // EMA of the parameters
  weights,      // bf16 copies for the matrix products
  inputs,       // the batch and its targets
  tables,       // RoPE
  activations,  // kept from forward to backward
  scratch       // used again by every block
};
const char* to_string(Arena arena);

struct TensorId {
  std::int32_t index = -1;
  [[nodiscard]] bool exists() const { return index >= 0; }
  friend bool operator==(const TensorId&, const TensorId&) = default;
};

struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;
  Dtype dtype = Dtype::f32;
  Arena arena = Arena::activations;
  std::size_t offset = 0;  // bytes from the start of the allocation, a multiple of kAlignment
  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] std::size_t bytes() const;
};

/// Usage error where something of another size is copied in or out.
Status check_bytes(const Tensor& planned, std::size_t bytes);

class MemoryPlan {
 public:
  static constexpr std::size_t kAlignment = 256;  // bytes; what CUDA's vector loads and TMA want

  TensorId add(std::string name, std::vector<std::int64_t> shape, Dtype dtype, Arena arena);
  /// Another name and shape for memory that is already there (bytes of both equal).
  TensorId alias(std::string name, std::vector<std::int64_t> shape, TensorId of);
  /// Gives every tensor its offset: arenas one after the other, tensors in the order of add().
  void place();

  [[nodiscard]] const Tensor& at(TensorId id) const {
    return tensors_.at(static_cast<std::size_t>(id.index));
  }
  [[nodiscard]] const std::vector<Tensor>& tensors() const { return tensors_; }
  /// An id that does not exist when no tensor has the name.
  [[nodiscard]] TensorId find(std::string_view name) const;
  [[nodiscard]] std::size_t bytes() const { return bytes_; }  // of the allocation
  [[nodiscard]] std::size_t bytes_of(Arena arena) const;
  /// `--print-memory`: a line per tensor (name, shape, type, bytes, offset), a sum per arena.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Tensor> tensors_;
  std::vector<std::int32_t> alias_of_;  // -1: memory of its own
  std::size_t bytes_ = 0;
};

}  // namespace sluice::train
