// sluice/loader/mixture/pipeline.h - the threads of a Mixture: readers, mixer, decoders, and what
// they hand to each other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/loader/mixture/assemble.h"
#include "sluice/loader/mixture/mixture.h"
#include "sluice/loader/mixture/sample.h"
#include "sluice/loader/mixture/schedule.h"
#include "sluice/loader/mixture/source.h"
#include "sluice/storage/format/checksum.h"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace sluice::loader::mixture {

/// One lock for all that is handed over: a block or a sample at a time, some thousand times a
/// second. Waits are on conditions, never on a clock, but for the limit in next().
class Pipeline {
 public:
  static Result<std::unique_ptr<Pipeline>> make(std::vector<SourceSpec> sources,
                                                const MixtureOptions& options, const Json& resume);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  Result<const MixtureBatch*> next(const std::function<bool()>& keep_waiting);
  void close();
  [[nodiscard]] Json state() const;
  [[nodiscard]] MixtureStats stats() const;
  [[nodiscard]] const std::vector<SourceSpec>& sources() const { return specs_; }

 private:
  using SteadyClock = std::chrono::steady_clock;

  /// A source with its queue.
  struct Lane {
    std::unique_ptr<Source> source;
    std::deque<Block> ready{};
    bool busy = false;                // a reader is at it
    bool ended = false;               // no further block will come
    bool out = false;                 // and the schedule knows
    SteadyClock::time_point since{};  // of busy
    SourceStats stats{};
    Cursor given{};  // after the last sample handed out
  };

  /// A batch from mixing to hand-over.
  struct Slot {
    explicit Slot(BatchMemory of) : memory(std::move(of)) {}
    BatchMemory memory;
    std::vector<Sample> samples{};
    std::uint64_t index = 0;
    std::size_t begun = 0;  // samples given to decoders
    std::size_t done = 0;
    std::vector<std::string> errors{};  // one per sample; empty: sound
    Json schedule{};                    // its state after this batch
    enum class At : std::uint8_t { free, mixing, decoding, ready, held } at = At::free;
  };

  Pipeline(std::vector<SourceSpec> sources, const MixtureOptions& options);
  Status prepare(const Json& resume);
  void run();
  /// Wakes all threads up for the last time.
  void end();
  void join();

  void read();
  Lane* wanted();
  /// Blocks that every source has before the first batch; 0: it is not primed.
  [[nodiscard]] std::size_t primed_blocks() const;
  /// Blocks that a source may have waiting: to be primed, more than later.
  [[nodiscard]] std::size_t room() const;
  void mix();
  bool mix_batch(Slot& slot, std::unique_lock<std::mutex>& lock);
  /// Waits until there is one to take. Nothing: all sources have ended, or it is over.
  std::optional<std::size_t> choose(std::unique_lock<std::mutex>& lock);
  void decode();
  void fail(const Error& error);
  Status repair(Slot& slot);
  Slot* find(Slot::At at, std::uint64_t index);
  [[nodiscard]] Error stalled() const;
  /// Until `there`. False: the limit has passed. An error: the consumer waits no longer.
  Result<bool> wait_for_batch(std::unique_lock<std::mutex>& lock,
                              const std::function<bool()>& there,
                              const std::function<bool()>& keep_waiting);
  void account(MixtureStage stage, std::int64_t ns) {
    cpu_ns_[static_cast<std::size_t>(stage)].fetch_add(ns, std::memory_order_relaxed);
  }

  std::vector<SourceSpec> specs_;
  MixtureOptions options_;
  Schedule schedule_;
  int action_size_ = 0;
  int state_size_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable read_wanted_;    // a queue has room
  std::condition_variable block_ready_;    // for the mixer: a block, or a free slot
  std::condition_variable decode_wanted_;  // a slot has samples
  std::condition_variable batch_ready_;
  std::vector<Lane> lanes_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::size_t turn_ = 0;    // where readers begin to look
  bool started_ = false;    // the first batch is mixed
  bool over_ = false;       // close() or the destructor runs
  bool mixed_all_ = false;  // no further batch will be mixed
  std::optional<Error> error_{};
  std::uint64_t next_mixed_ = 0;
  std::uint64_t next_given_ = 0;
  Slot* held_ = nullptr;
  MixtureBatch batch_{};
  Json given_schedule_{};
  std::uint64_t samples_given_ = 0;
  storage::Checksum hash_;
  std::array<std::atomic<std::int64_t>, kStages> cpu_ns_{};
  SteadyClock::time_point opened_ = SteadyClock::now();
  double start_s_ = 0;
  double wait_s_ = 0;
  std::mutex threads_mutex_;  // of `threads_`: close() may come from anywhere
  std::vector<std::thread> threads_;
};

}  // namespace sluice::loader::mixture
