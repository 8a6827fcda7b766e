// sluice/core/clock.h - time as an interface, so that nothing in a test waits for it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>
#include <deque>
#include <utility>

namespace sluice {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotonic nanoseconds since an arbitrary point, the same for all processes of a machine.
  virtual std::int64_t now_ns() = 0;
};

/// CLOCK_MONOTONIC.
class SystemClock final : public Clock {
 public:
  std::int64_t now_ns() override {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }
};

/// Advances by the next step of a script at every reading; stands still when the script has ended.
class ScriptedClock final : public Clock {
 public:
  explicit ScriptedClock(std::deque<std::int64_t> steps_ns = {}) : steps_ns_(std::move(steps_ns)) {}
  std::int64_t now_ns() override {
    if (!steps_ns_.empty()) {
      now_ns_ += steps_ns_.front();
      steps_ns_.pop_front();
    }
    return now_ns_;
  }
  void advance(std::int64_t ns) { now_ns_ += ns; }

 private:
  std::int64_t now_ns_ = 0;
  std::deque<std::int64_t> steps_ns_;
};

}  // namespace sluice
