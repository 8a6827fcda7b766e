// sluice/scenario/loader/kept_memory.cpp - one block, lent to one loader at a time.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/loader/kept_memory.h"

#include <utility>

namespace sluice::scenario {

Result<std::span<std::byte>> KeptMemory::allocate(std::size_t bytes) {
  if (used_) return Error{Errc::internal, "two loaders at once ask for the memory of one"};
  if (kept_.bytes().size() < bytes) {
    SLUICE_TRY(loader::SlotMemory made, loader::SlotMemory::make(bytes, nullptr));
    kept_ = std::move(made);
  }
  used_ = true;
  return kept_.bytes().first(bytes);
}

void KeptMemory::free(std::span<std::byte>) {
  used_ = false;
}

}  // namespace sluice::scenario
