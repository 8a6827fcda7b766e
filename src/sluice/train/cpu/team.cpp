// sluice/train/cpu/team.cpp - threads that spin a short while, then sleep on a futex.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/team.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <thread>
#include <vector>

namespace sluice::train::cpu {
namespace {

/// How long a member looks for work before it sleeps: longer than the gap between two operations of
/// a step, shorter than anybody else on the machine would notice.
constexpr std::chrono::microseconds kSpin{40};
constexpr int kLooksPerClock = 32;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // tens of cycles; `yield` is none on most cores
#endif
}

/// Until `value` is no longer `old`; spins for at most `spin`, then sleeps.
std::uint32_t await_change(const std::atomic<std::uint32_t>& value, std::uint32_t old,
                           std::chrono::microseconds spin) {
  if (spin.count() > 0) {
    const auto until = std::chrono::steady_clock::now() + spin;
    do {
      for (int i = 0; i < kLooksPerClock; ++i) {
        const std::uint32_t now = value.load(std::memory_order_acquire);
        if (now != old) return now;
        pause();
      }
    } while (std::chrono::steady_clock::now() < until);
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

}  // namespace

struct Team::State {
  int size = 1;
  std::chrono::microseconds spin{0};
  Erased body = nullptr;  // null: the members end
  const void* context = nullptr;
  // One line of cache each: the members look at the first while they write the second.
  alignas(64) std::atomic<std::uint32_t> round{0};
  alignas(64) std::atomic<std::uint32_t> busy{0};
  std::vector<std::thread> members;

  void start(Erased work, const void* with) {
    body = work;
    context = with;
    busy.store(static_cast<std::uint32_t>(size - 1), std::memory_order_relaxed);
    round.fetch_add(1, std::memory_order_release);
    round.notify_all();
  }

  void serve(int member) {
    std::uint32_t seen = 0;
    for (;;) {
      seen = await_change(round, seen, spin);
      if (body == nullptr) return;
      body(context, member);
      if (busy.fetch_sub(1, std::memory_order_acq_rel) == 1) busy.notify_one();
    }
  }
};

Team::Team(int threads) : state_(std::make_unique<State>()) {
  assert(threads >= 1);
  state_->size = threads;
  // More members than cores: whoever spins keeps another from working.
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  if (static_cast<unsigned>(threads) <= cores) state_->spin = kSpin;
  for (int member = 1; member < threads; ++member)
    state_->members.emplace_back([state = state_.get(), member] { state->serve(member); });
}

Team::~Team() {
  state_->start(nullptr, nullptr);
  for (std::thread& member : state_->members)
    member.join();
}

int Team::size() const {
  return state_->size;
}

Rows Team::part(std::int64_t count, std::int64_t grain, int member) const {
  assert(grain >= 1 && member >= 0 && member < state_->size);
  const std::int64_t units = (count + grain - 1) / grain;
  const auto edge = [&](std::int64_t of) {
    return std::min(count, units * of / state_->size * grain);
  };
  return {edge(member), edge(member + 1)};
}

void Team::run_erased(Erased body, const void* context) {
  if (state_->size == 1) {
    body(context, 0);
    return;
  }
  state_->start(body, context);
  body(context, 0);
  std::uint32_t left = state_->busy.load(std::memory_order_acquire);
  while (left != 0)
    left = await_change(state_->busy, left, state_->spin);
}

}  // namespace sluice::train::cpu
