// sluice/core/temporary_files.cpp - those of this process, in a table without locks that the
// handler of a signal can read.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/temporary_files.h"

#include <array>
#include <atomic>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace sluice {
namespace {

enum class SlotState : int { free, taken, named };

struct NamedSlot {
  std::atomic<SlotState> state{SlotState::free};
  std::array<char, 1024> path{};
};
static_assert(std::atomic<SlotState>::is_always_lock_free, "a signal handler reads it");

std::array<NamedSlot, 64> own_slots;
std::atomic<bool> process_ends{false};

}  // namespace

OwnTemporary::OwnTemporary(const std::string& path) {
  if (path.size() >= own_slots[0].path.size()) return;
  for (std::size_t i = 0; i < own_slots.size(); ++i) {
    NamedSlot& slot = own_slots[i];
    SlotState expected = SlotState::free;
    if (!slot.state.compare_exchange_strong(expected, SlotState::taken)) continue;
    std::memcpy(slot.path.data(), path.c_str(), path.size() + 1);
    slot.state = SlotState::named;
    slot_ = static_cast<int>(i);
    return;
  }
}

OwnTemporary::OwnTemporary(OwnTemporary&& other) noexcept : slot_(std::exchange(other.slot_, -1)) {}

OwnTemporary::~OwnTemporary() {
  if (slot_ >= 0) own_slots[static_cast<std::size_t>(slot_)].state = SlotState::free;
}

void OwnTemporary::made() const {
  if (!process_ends || slot_ < 0) return;
  // The handler may have looked before the file was there.
  ::unlink(own_slots[static_cast<std::size_t>(slot_)].path.data());
  for (;;)
    ::pause();
}

void remove_own_temporaries() noexcept {
  process_ends = true;
  for (const NamedSlot& slot : own_slots)
    if (slot.state == SlotState::named) ::unlink(slot.path.data());
}

}  // namespace sluice
