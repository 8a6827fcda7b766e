// sluice/train/model/memory_plan.cpp - offsets, sums and the printed table.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/model/memory_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cassert>
#include <utility>

namespace sluice::train {
namespace {

constexpr std::array kArenas{
    Arena::parameters, Arena::gradients, Arena::first_moment, Arena::second_moment, Arena::average,
    Arena::weights,    Arena::inputs,    Arena::tables,       Arena::activations,   Arena::scratch};

std::size_t aligned(std::size_t bytes) {
  return (bytes + MemoryPlan::kAlignment - 1) / MemoryPlan::kAlignment * MemoryPlan::kAlignment;
}

std::string mebibytes(std::size_t bytes) {
  return fmt::format("{:.2f} MiB", static_cast<double>(bytes) / (1024.0 * 1024.0));
}

}  // namespace

const char* to_string(Arena arena) {
  constexpr std::array<const char*, 10> kNames{
      "parameters", "gradients", "first moment", "second moment", "average",
      "weights",    "inputs",    "tables",       "activations",   "scratch"};
  return kNames[static_cast<std::size_t>(arena)];
}

std::int64_t Tensor::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t side : shape)
    product *= side;
  return product;
}

std::size_t Tensor::bytes() const {
  return static_cast<std::size_t>(elements()) * train::bytes_of(dtype);
}

Status check_bytes(const Tensor& planned, std::size_t bytes) {
  if (planned.bytes() == bytes) return ok;
  return Error{Errc::usage, fmt::format("{}: {} bytes given; {} are expected", planned.name, bytes,
                                        planned.bytes())};
}

TensorId MemoryPlan::add(std::string name, std::vector<std::int64_t> shape, Dtype dtype,
                         Arena arena) {
  assert(!find(name).exists());
  tensors_.push_back({std::move(name), std::move(shape), dtype, arena, 0});
  alias_of_.push_back(-1);
  return {static_cast<std::int32_t>(tensors_.size()) - 1};
}

TensorId MemoryPlan::alias(std::string name, std::vector<std::int64_t> shape, TensorId of) {
  const TensorId id = add(std::move(name), std::move(shape), at(of).dtype, at(of).arena);
  assert(at(id).bytes() <= at(of).bytes());
  alias_of_.back() = of.index;
  return id;
}

void MemoryPlan::place() {
  bytes_ = 0;
  for (const Arena arena : kArenas) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].arena != arena || alias_of_[i] >= 0) continue;
      tensors_[i].offset = bytes_;
      bytes_ += aligned(tensors_[i].bytes());
    }
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (alias_of_[i] >= 0)
      tensors_[i].offset = tensors_[static_cast<std::size_t>(alias_of_[i])].offset;
  }
}

TensorId MemoryPlan::find(std::string_view name) const {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].name == name) return {static_cast<std::int32_t>(i)};
  }
  return {};
}

std::size_t MemoryPlan::bytes_of(Arena arena) const {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].arena == arena && alias_of_[i] < 0) sum += aligned(tensors_[i].bytes());
  }
  return sum;
}

std::string MemoryPlan::text() const {
  std::string text;
  for (const Arena arena : kArenas) {
    const std::size_t sum = bytes_of(arena);
    if (sum == 0) continue;
    text += fmt::format("{}: {}\n", to_string(arena), mebibytes(sum));
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Tensor& tensor = tensors_[i];
      if (tensor.arena != arena) continue;
      text +=
          fmt::format("  {:<40} {:<22} {:<5} {:>12} B at {}{}\n", tensor.name,
                      fmt::format("[{}]", fmt::join(tensor.shape, ", ")), to_string(tensor.dtype),
                      tensor.bytes(), tensor.offset, alias_of_[i] >= 0 ? " (shared)" : "");
    }
  }
  return text + fmt::format("one allocation: {}\n", mebibytes(bytes_));
}

}  // namespace sluice::train
