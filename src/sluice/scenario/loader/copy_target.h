// sluice/scenario/loader/copy_target.h - a GPU that batches of the host are copied to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/loader/slot_memory.h"
#include "sluice/train/cuda/session.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace sluice::scenario {

class CopyTarget {
 public:
  /// "cuda" is the first GPU. No such device, or too little memory on it, is `unsupported`.
  static Result<std::unique_ptr<CopyTarget>> open(const std::string& device,
                                                  std::size_t batch_bytes);
  /// Returns when the batch has arrived: its slot may be filled again.
  Status take(std::span<const std::byte> batch);
  /// What arrives is what was sent.
  Status check(std::span<const std::byte> batch);
  /// Memory that is copied from without a detour, kept for the loaders that follow.
  [[nodiscard]] std::shared_ptr<loader::PinnedAllocator> pinned() const { return pinned_; }

 private:
  CopyTarget(train::cuda::Session session, std::shared_ptr<loader::PinnedAllocator> pinned)
      : session_(std::move(session)), pinned_(std::move(pinned)) {}

  train::cuda::Session session_;
  std::shared_ptr<loader::PinnedAllocator> pinned_;
};

}  // namespace sluice::scenario
