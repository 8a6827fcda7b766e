// sluice/image/limits.h - the limits of DecodeOptions, checked alike for every format.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/codec.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace sluice::image {

/// Within max_pixels and kMaxSide, or an error that names the size.
Status check_pixels(std::uint64_t width, std::uint64_t height, const DecodeOptions& options);

/// An error when `bytes` of file cannot possibly hold `units` at `units_per_byte`: a small file
/// that claims to be large is turned away before memory is taken for it. Not asked with
/// allow_truncated.
Status check_plausible(std::uint64_t units, std::uint64_t bytes, std::uint64_t units_per_byte,
                       const DecodeOptions& options);

/// Counts from construction; trivially destructible, as longjmp passes over it.
class Deadline {
 public:
  Deadline() = default;
  explicit Deadline(const DecodeOptions& options)
      : now_s_(options.now_s != nullptr ? options.now_s : real_now_s),
        limit_s_(now_s_() + options.max_seconds) {}
  [[nodiscard]] bool passed() const { return now_s_ != nullptr && now_s_() > limit_s_; }

 private:
  static double real_now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  double (*now_s_)() = nullptr;
  double limit_s_ = 0;
};

}  // namespace sluice::image
