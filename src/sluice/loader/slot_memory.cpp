// sluice/loader/slot_memory.cpp - mapped or pinned memory for ring slots.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/slot_memory.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <utility>

namespace sluice::loader {

Result<SlotMemory> SlotMemory::make(std::size_t bytes, std::shared_ptr<PinnedAllocator> pinned) {
  SlotMemory memory;
  if (pinned) {
    SLUICE_TRY(memory.bytes_, pinned->allocate(bytes));
    memory.pinned_ = std::move(pinned);
    return memory;
  }
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    return Error{Errc::io, fmt::format("{} bytes for batches: {}", bytes, std::strerror(errno))};
  (void)madvise(mapped, bytes, MADV_HUGEPAGE);  // fewer faults; refused is as good
  memory.bytes_ = {static_cast<std::byte*>(mapped), bytes};
  return memory;
}

SlotMemory::~SlotMemory() {
  if (bytes_.empty()) return;
  if (pinned_)
    pinned_->free(bytes_);
  else
    (void)munmap(bytes_.data(), bytes_.size());
}

SlotMemory::SlotMemory(SlotMemory&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), pinned_(std::move(other.pinned_)) {}

SlotMemory& SlotMemory::operator=(SlotMemory&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(pinned_, other.pinned_);
  return *this;
}

}  // namespace sluice::loader
