// sluice/train/world/buckets.h - gradients in the pieces in which ranks add them up.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/program/program.h"

#include <cstddef>
#include <vector>

namespace sluice::train {

/// Gradients that lie one after another.
struct Bucket {
  std::size_t offset = 0;    // bytes, in the plan's allocation
  std::size_t elements = 0;  // fp32; what fills up to the alignment between tensors is in it
  std::size_t ready = 0;     // the index of the last operation of `backward` that writes any of it
};

/// All gradients, each in one bucket, in the order in which backward finishes them. A bucket holds
/// at least `least_bytes`, but for the last one of each decay group, and ends at the first tensor
/// that takes it there.
std::vector<Bucket> gradient_buckets(const Program& program, std::size_t least_bytes);

}  // namespace sluice::train
