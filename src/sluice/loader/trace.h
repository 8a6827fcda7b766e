// sluice/loader/trace.h - spans of stages, kept in bounded memory and written for Perfetto.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sluice::loader {

struct TraceSpan {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t sample = 0;
  int what = 0;  // a Stage, or StageClock::kWaiting
};

/// The latest `capacity` spans of one thread. Memory is taken at once; adding never allocates.
class SpanRing {
 public:
  explicit SpanRing(std::size_t capacity) : spans_(capacity) {}
  void add(const TraceSpan& span) {
    spans_[static_cast<std::size_t>(added_ % spans_.size())] = span;
    ++added_;
  }
  [[nodiscard]] std::uint64_t added() const { return added_; }
  /// Oldest first.
  [[nodiscard]] std::vector<TraceSpan> in_order() const;

 private:
  std::vector<TraceSpan> spans_;
  std::uint64_t added_ = 0;
};

/// A number over time, such as batches that are ready.
struct TraceCounter {
  std::int64_t at_ns = 0;
  std::int64_t value = 0;
};

struct TraceThread {
  std::string name;
  std::vector<TraceSpan> spans;
  std::uint64_t dropped = 0;  // older ones that were overwritten
};

/// Chrome's JSON trace format; times count from the earliest.
Status write_trace(const std::filesystem::path& path, std::span<const TraceThread> threads,
                   std::span<const TraceCounter> ready);

}  // namespace sluice::loader
