// sluice/train/cuda/bucket_bytes.h - how large the pieces are in which GPUs add gradients up.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace sluice::train::cuda {

/// Large enough for the bandwidth of a link between GPUs and to be few, since each sum costs the
/// step beside it; small enough to begin early. The size that PyTorch begins with, too.
inline constexpr std::size_t kBucketBytes = std::size_t{25} << 20;

}  // namespace sluice::train::cuda
