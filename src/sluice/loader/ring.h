// sluice/loader/ring.h - the slots of a loader, which batch lies in which, and who waits for whom.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/loader/accounting.h"
#include "sluice/loader/batch.h"
#include "sluice/loader/data/dataset.h"
#include "sluice/loader/sampler.h"
#include "sluice/loader/slot_memory.h"
#include "sluice/loader/trace.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace sluice::loader {

/// A consumer that does not wait any longer; the batch is still due.
Error given_up();

/// One epoch as it is being produced: immutable, shared by the slots that hold its batches.
struct EpochPlan {
  std::uint64_t epoch = 0;
  EpochOrder order;
  BatchPlan batches;
};

struct Slot {
  std::span<std::byte> data;
  std::vector<std::int64_t> labels;
  std::vector<std::uint64_t> indices;
  // Set when a batch is assigned, before any worker can see it.
  std::shared_ptr<const EpochPlan> plan;
  std::uint64_t step = 0;
  BatchPlan::Range range;
  // Written by workers.
  std::atomic<std::uint32_t> remaining{0};
  // Guarded by the ring.
  bool ready = false;
  std::optional<Error> error;
  std::uint32_t error_item = 0;
  std::shared_ptr<SlotEvent> event;
};

struct RingOptions {
  OutputSpec output;
  OrderOptions order;
  BatchOptions batches;
  int slots = 2;
  bool ahead = true;  // goes on with the next epoch by itself
  double timeout_s = 300;
  std::size_t trace_spans = 0;
};

/// Work is handed out as tickets: ticket t is sample t % batch_size of batch t / batch_size. Taking
/// one is a compare-and-swap below `limit_`, which rises when a free slot is given a batch; only
/// who finds no ticket takes the lock. Batches become ready in any order and are handed out in
/// theirs.
class Ring {
 public:
  static Result<std::shared_ptr<Ring>> make(std::shared_ptr<const Dataset> dataset,
                                            const RingOptions& options, Clock& clock,
                                            std::shared_ptr<PinnedAllocator> pinned);

  // For workers.
  struct Item {
    Slot* slot = nullptr;
    std::uint32_t place = 0;  // in the batch
  };
  /// A sample to make, or nothing: all that may be made now is being made.
  std::optional<Item> take();
  /// The same, waiting for one; nothing: the thread shall end.
  std::optional<Item> wait_for_item(StageClock& clock);
  /// The sample is made, or cannot be.
  void done(const Item& item);
  void failed(const Item& item, Error error);

  // For the consumer.
  /// Drops what there is and begins at `consumed` of `epoch`. Workers must be within reach: those
  /// at a sample are waited for.
  Status restart(std::uint64_t epoch, std::uint64_t consumed);
  /// True: the epoch that was made ahead is this one, and goes on.
  bool go_on_with(std::uint64_t epoch);
  /// Whether the batch that next() would give is ready; an error if there is none to come.
  enum class Head : std::uint8_t { ready, coming, end };
  Result<Head> head();
  /// Whether next() has its answer.
  bool ready();
  /// The slot of the next batch, leased; nothing at the end of the epoch. Waits, as long as
  /// `keep_waiting` (empty, or asked 20 times a second) says so.
  Result<Slot*> next(const std::function<bool()>& keep_waiting = {});
  /// A slot with an event that is not ready is kept apart until it is.
  void release(Slot& slot);

  // For the loader.
  void add_threads(int count);  // how many will call wait_for_item()
  /// wait_for_item() gives nothing from now on. `forever`: next() and restart() fail as well.
  void end_threads(bool forever);
  /// All threads are out of wait_for_item(), within the time.
  bool wait_until_ended(double seconds);
  void thread_ended();

  struct Position {
    std::uint64_t epoch = 0;
    std::uint64_t consumed = 0;
    std::uint64_t steps = 0;
  };
  [[nodiscard]] Position position() const;
  [[nodiscard]] bool started() const;
  /// Fills what the ring knows.
  void add_stats(LoaderStats& stats) const;
  [[nodiscard]] std::vector<TraceCounter> ready_over_time() const;
  [[nodiscard]] TraceThread consumer_trace() const;

  [[nodiscard]] const OutputSpec& output() const { return options_.output; }
  [[nodiscard]] bool pinned() const { return memory_.pinned(); }
  [[nodiscard]] std::size_t sample_bytes() const { return sample_bytes_; }

 private:
  Ring(std::shared_ptr<const Dataset> dataset, const RingOptions& options, Clock& clock);
  [[nodiscard]] std::shared_ptr<const EpochPlan> plan_for(std::uint64_t epoch,
                                                          std::uint64_t consumed) const;
  // With the lock held:
  void assign_free_slots();
  void reclaim_events();
  void note_head();
  [[nodiscard]] Slot* head_slot() const;  // null: no batch is assigned to it
  [[nodiscard]] bool at_end() const;
  Result<Slot*> lease(Slot& slot);
  /// Until the slot is ready or all is stopped; false: the time is up.
  Result<bool> wait_for(std::unique_lock<std::mutex>& lock, const Slot& slot,
                        const std::function<bool()>& keep_waiting);
  Status wait_for_event(std::unique_lock<std::mutex>& lock);

  std::shared_ptr<const Dataset> dataset_;
  RingOptions options_;
  Clock& clock_;
  std::size_t sample_bytes_;
  SlotMemory memory_;
  std::vector<Slot> slots_;

  alignas(128) std::atomic<std::uint64_t> ticket_{0};
  alignas(128) std::atomic<std::uint64_t> limit_{0};
  std::vector<Slot*> schedule_;  // of batch b at b % slots; written before limit_ rises
  std::vector<std::atomic<std::uint64_t>> sizes_;  // beside it: b << 32 | samples of b

  alignas(128) mutable std::mutex mutex_;
  std::condition_variable work_, ready_, idle_;
  std::vector<Slot*> free_, deferred_;  // deferred: released, but an event still reads them
  std::deque<std::shared_ptr<const EpochPlan>> plans_;  // front: consumed; back: produced
  std::uint64_t produced_step_ = 0;                     // of plans_.back()
  std::uint64_t consumed_step_ = 0;                     // of plans_.front()
  std::uint64_t consumed_ = 0;                          // positions of that epoch, all ranks
  std::uint64_t assigned_ = 0, taken_ = 0;              // batches since the restart
  int threads_ = 0, parked_ = 0;
  bool ending_ = false, stopped_ = false;
  std::optional<Error> fatal_;
  // Statistics.
  std::int64_t started_ns_ = -1, stopped_ns_ = -1, head_since_ns_ = 0, empty_ns_ = 0,
               consumer_wait_ns_ = 0;
  bool head_ready_ = false;
  std::uint64_t batches_ = 0, samples_ = 0, waited_ = 0;
  std::int64_t ready_batches_ = 0;
  std::vector<TraceCounter> counter_;
  std::uint64_t counted_ = 0;
  std::optional<SpanRing> consumer_spans_;
};

}  // namespace sluice::loader
