// sluice/image/limits.h - the limits of DecodeOptions, checked alike for every format.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/codec.h"

#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>

namespace sluice::image {

/// Within max_pixels and kMaxSide, or an error that names the size.
Status check_pixels(std::uint64_t width, std::uint64_t height, const DecodeOptions& options);

/// An error when `bytes` of file cannot possibly hold `units` at `units_per_byte`: a small file
/// that claims to be large is turned away before memory is taken for it. Not asked with
/// allow_truncated.
Status check_plausible(std::uint64_t units, std::uint64_t bytes, std::uint64_t units_per_byte,
                       const DecodeOptions& options);

/// Counts from construction; trivially destructible, as longjmp passes over it. What counts is the
/// time of the thread that decodes: a process that is stopped for a while, or gets no core, is not
/// the fault of the file. The cheaper wall clock is asked first. Passed, too, once told to stop.
class Deadline {
 public:
  Deadline() = default;
  explicit Deadline(const DecodeOptions& options)
      : now_s_(options.now_s != nullptr ? options.now_s : real_now_s),
        limit_s_(now_s_() + options.max_seconds),
        stop_(options.stop) {
    if (options.now_s == nullptr) thread_limit_s_ = thread_now_s() + options.max_seconds;
  }
  [[nodiscard]] bool passed() const {
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) return true;
    if (now_s_ == nullptr || now_s_() <= limit_s_) return false;
    return now_s_ != real_now_s || thread_now_s() > thread_limit_s_;
  }

 private:
  static double real_now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  static double thread_now_s() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }
  double (*now_s_)() = nullptr;
  double limit_s_ = 0;
  double thread_limit_s_ = 0;
  const std::atomic<bool>* stop_ = nullptr;
};

}  // namespace sluice::image
