// sluice/loader/accounting.h - where the time of a loader goes: stages, waits, bytes, per worker.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/clock.h"
#include "sluice/core/json.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::loader {

/// `collate` is the last write of a sample, into its place in the batch, normalising on the way.
/// `list` and `transfer` happen outside the workers: Loader::account() is told of them.
enum class Stage : std::uint8_t { list, read, decode, augment, collate, transfer };
inline constexpr std::size_t kStages = 6;
const char* to_string(Stage stage);

/// Busy time and bytes by stage. Bytes: read in `read`, written in `collate`, moved in `transfer`.
struct StageTotals {
  std::array<std::int64_t, kStages> busy_ns{};
  std::array<std::uint64_t, kStages> bytes{};

  [[nodiscard]] std::int64_t busy(Stage stage) const {
    return busy_ns[static_cast<std::size_t>(stage)];
  }
  [[nodiscard]] std::int64_t all_ns() const;
  StageTotals& operator+=(const StageTotals& other);
};

struct WorkerTotals {
  StageTotals stages;
  std::int64_t wait_ns = 0;   // for a free place in the ring: back-pressure
  std::int64_t other_ns = 0;  // handing out, labels, marking batches ready
  std::uint64_t samples = 0;
};

/// Written by one thread, read by any: plain loads and stores, no read-modify-write.
class alignas(128) WorkerCounters {
 public:
  void add_busy(Stage stage, std::int64_t ns) { add(busy_[static_cast<std::size_t>(stage)], ns); }
  void add_bytes(Stage stage, std::uint64_t count) {
    add(bytes_[static_cast<std::size_t>(stage)], count);
  }
  void add_wait(std::int64_t ns) { add(wait_, ns); }
  void add_other(std::int64_t ns) { add(other_, ns); }
  void add_sample() { add(samples_, std::uint64_t{1}); }
  [[nodiscard]] WorkerTotals totals() const;

  /// What the thread is at, for those who wait for it. kIdle: between samples.
  static constexpr int kIdle = -1;
  void now_in(int stage) { now_in_.store(stage, std::memory_order_relaxed); }
  [[nodiscard]] int now_in() const { return now_in_.load(std::memory_order_relaxed); }
  void now_at(std::uint64_t index) { index_.store(index, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t now_at() const { return index_.load(std::memory_order_relaxed); }

 private:
  template <class T>
  static void add(std::atomic<T>& sum, T value) {
    sum.store(sum.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
  }
  std::array<std::atomic<std::int64_t>, kStages> busy_{};
  std::array<std::atomic<std::uint64_t>, kStages> bytes_{};
  std::atomic<std::int64_t> wait_{0}, other_{0};
  std::atomic<std::uint64_t> samples_{0}, index_{0};
  std::atomic<int> now_in_{kIdle};
};

class SpanRing;  // trace.h

/// Attributes the time of one worker: one clock reading at each border between two stages. Outside
/// of any stage time counts as `other`.
class StageClock {
 public:
  /// `spans` null: no trace.
  StageClock(Clock& clock, WorkerCounters& counters, SpanRing* spans = nullptr)
      : clock_(&clock), counters_(&counters), spans_(spans), last_ns_(clock.now_ns()) {}

  void enter(Stage stage) { pass_to(static_cast<int>(stage)); }
  /// Ends the stage; what follows is `other`.
  void leave() { pass_to(WorkerCounters::kIdle); }
  void add_bytes(Stage stage, std::uint64_t count) { counters_->add_bytes(stage, count); }
  /// The sample that the next stages belong to.
  void sample(std::uint64_t index) { counters_->now_at(index); }
  void wait_begins() { pass_to(kWaiting); }
  void wait_ends() { pass_to(WorkerCounters::kIdle); }
  [[nodiscard]] WorkerCounters& counters() { return *counters_; }

  static constexpr int kWaiting = -2;

 private:
  void pass_to(int next);

  Clock* clock_;
  WorkerCounters* counters_;
  SpanRing* spans_;
  std::int64_t last_ns_;
  int in_ = WorkerCounters::kIdle;
};

/// A sample that was replaced under OnError::skip.
struct SkippedSample {
  std::uint64_t index = 0;
  std::string name;
  std::string reason;
};

struct LoaderStats {
  std::vector<WorkerTotals> workers;  // with 0 workers one: the caller
  StageTotals outside;                // what Loader::account() was told: list, transfer
  std::int64_t running_ns = 0;        // wall time since the first start_epoch() or restore()
  std::int64_t consumer_wait_ns = 0;  // in next(), waiting
  std::int64_t empty_ns = 0;          // no batch was ready
  std::uint64_t batches = 0;          // handed out
  std::uint64_t samples = 0;
  std::uint64_t waited_batches = 0;  // next() found the batch not ready
  std::uint64_t skipped = 0;
  std::vector<SkippedSample> skipped_samples;  // the first kNamedSkips of them, by index
  std::uint64_t ring_bytes = 0;
  int ring_slots = 0;
  std::string pinning;  // "pinned", "not pinned: ..."

  static constexpr std::size_t kNamedSkips = 64;
  /// 1 - share of the running time in which no batch was ready.
  [[nodiscard]] double readiness() const;
  /// Share of next() calls that found their batch ready.
  [[nodiscard]] double prefetch_efficiency() const;
  /// All workers, and `outside`.
  [[nodiscard]] StageTotals stages() const;
  /// Busy time of all workers over workers x running time.
  [[nodiscard]] double worker_efficiency() const;
};
Json to_json(const LoaderStats& stats);

}  // namespace sluice::loader
