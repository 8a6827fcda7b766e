// sluice/scenario/loader/kept_memory.h - batch memory that outlives the loaders of single epochs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/slot_memory.h"

#include <cstddef>
#include <span>

namespace sluice::scenario {

/// One block for one loader after another, as a loader that goes on to its next epoch keeps it. New
/// pages for every epoch would be the kernel's work: at batch 256 a tenth of the processor time.
class KeptMemory final : public loader::PinnedAllocator {
 public:
  Result<std::span<std::byte>> allocate(std::size_t bytes) override;
  void free(std::span<std::byte> memory) override;

 private:
  loader::SlotMemory kept_;
  bool used_ = false;
};

}  // namespace sluice::scenario
