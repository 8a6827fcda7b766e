// sluice/loader/slot_memory.h - where the memory of ring slots comes from.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <cstddef>
#include <memory>
#include <span>

namespace sluice::loader {

/// Gives memory that devices can copy from directly. The cuda room has one; without it batches are
/// ordinary memory.
class PinnedAllocator {
 public:
  virtual ~PinnedAllocator() = default;
  /// Aligned to 4096 at least.
  virtual Result<std::span<std::byte>> allocate(std::size_t bytes) = 0;
  virtual void free(std::span<std::byte> memory) = 0;
};

/// One block, pinned or mapped; huge pages are asked for. Nothing is touched: pages come when the
/// workers write.
class SlotMemory {
 public:
  /// `pinned` null: ordinary memory.
  static Result<SlotMemory> make(std::size_t bytes, std::shared_ptr<PinnedAllocator> pinned);
  SlotMemory() = default;
  ~SlotMemory();
  SlotMemory(SlotMemory&& other) noexcept;
  SlotMemory& operator=(SlotMemory&& other) noexcept;
  SlotMemory(const SlotMemory&) = delete;
  SlotMemory& operator=(const SlotMemory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  [[nodiscard]] bool pinned() const { return pinned_ != nullptr; }

 private:
  std::span<std::byte> bytes_;
  std::shared_ptr<PinnedAllocator> pinned_;
};

}  // namespace sluice::loader
