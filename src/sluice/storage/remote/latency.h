// sluice/storage/remote/latency.h - how long requests take, and when a second one is worth sending.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sluice::storage {

/// Counts of durations from 1 us to an hour in steps of about 9 %. Thread-safe, no locks.
class LatencyHistogram {
 public:
  void add(double seconds);
  [[nodiscard]] std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  /// Upper end of the step that holds the quantile, in seconds; 0 when nothing was added.
  [[nodiscard]] double quantile(double q) const;

 private:
  static constexpr std::size_t kSteps = 256;
  std::array<std::atomic<std::uint64_t>, kSteps> steps_{};
  std::atomic<std::uint64_t> count_{0};
};

/// When a request is sent a second time while the first one is still under way (landscape of the
/// AWS guide): the slowest 1 % of requests of like size, once there are enough to know; small ones
/// after two seconds in any case. Thread-safe.
class HedgePolicy {
 public:
  static constexpr std::uint64_t kEnough = 200;  // requests of like size
  static constexpr double kFloor_s = 0.02;       // never earlier
  static constexpr std::size_t kSmall = std::size_t{512} << 10;
  static constexpr double kSmallAfter_s = 2;
  static constexpr double kMaxShare = 0.02;  // of all requests

  /// Seconds after the start at which to hedge; below 0: not at all.
  [[nodiscard]] double after_s(std::size_t size) const;
  void add(std::size_t size, double total_s);
  /// Asked at that moment; true counts one. Keeps hedges to a share of all, so that a server that
  /// has become slow for everybody does not get twice the work.
  bool take();

 private:
  static constexpr std::size_t kClasses = 16;
  static std::size_t class_of(std::size_t size);

  std::array<LatencyHistogram, kClasses> classes_;
  std::atomic<std::uint64_t> requests_{0};
  std::atomic<std::uint64_t> hedges_{0};
};

}  // namespace sluice::storage
