// sluice/train/cuda/bucket_bytes.h - how large the pieces are in which GPUs add gradients up.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace sluice::train::cuda {

/// Large enough for the bandwidth of a link between GPUs, small enough to begin early.
inline constexpr std::size_t kBucketBytes = std::size_t{8} << 20;

}  // namespace sluice::train::cuda
