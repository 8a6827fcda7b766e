// sluice/core/stop.h - whether the user asked this process to stop, for everything that waits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace sluice {

namespace detail {
inline std::atomic<bool> stop_flag{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");
}  // namespace detail

/// How long a request to stop may go unseen by who waits.
inline constexpr std::chrono::milliseconds kStopCheck{20};

/// True between the first Ctrl-C or SIGTERM and the end of what it ended. Whatever waits for
/// another process or machine asks at least every kStopCheck, and ends with Errc::interrupted.
inline bool stop_requested() {
  return detail::stop_flag.load(std::memory_order_relaxed);
}

/// By whoever handles signals (measure/interrupt.h). Safe in a signal handler.
inline void set_stop_requested(bool wanted) {
  detail::stop_flag.store(wanted, std::memory_order_relaxed);
}

/// False: ended early because of a request to stop.
inline bool sleep_unless_stopped(std::chrono::duration<double> time) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(time);
  while (!stop_requested()) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left.count() <= 0) return true;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left, kStopCheck));
  }
  return false;
}

}  // namespace sluice
