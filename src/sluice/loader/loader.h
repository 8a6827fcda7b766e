// sluice/loader/loader.h - batches of a dataset, made ahead on threads; rules in docs/loader.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/loader/accounting.h"
#include "sluice/loader/batch.h"
#include "sluice/loader/data/dataset.h"
#include "sluice/loader/loader_state.h"
#include "sluice/loader/recipe/recipe.h"
#include "sluice/loader/sampler.h"
#include "sluice/loader/slot_memory.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

namespace sluice::loader {

/// What becomes of a sample whose bytes are at fault. skip: the next sample of the dataset stands
/// in for it (index + 1, from the end on with 0), so that batches keep their size; counted and
/// named. Errors that are not the sample's own (io, timeout) always fail.
enum class OnError : std::uint8_t { fail, skip };

struct LoaderOptions {
  std::uint32_t batch_size = 256;
  int workers = 2;   // threads, 0 to 1024; 0: the samples are made in next()
  int prefetch = 2;  // slots of the ring, 1 to 1024: batches being made, ready, or in use
  std::uint64_t seed = 0;
  Shuffle shuffle = Shuffle::full;
  std::uint64_t window = 8192;  // of windowed and shards
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  bool drop_last = true;
  bool persistent_workers = true;  // false: threads end and start with the epoch
  bool next_epoch_ahead = true;    // workers go on with epoch + 1 while the last batches are used;
                                   // needs persistent workers. Content is the same either way
  bool pin_memory = false;
  std::shared_ptr<PinnedAllocator> pinned_allocator = nullptr;
  OnError on_error = OnError::fail;
  double timeout_s = 300;       // of one next()
  std::size_t trace_spans = 0;  // kept per worker, the latest; 0: no trace
  Clock* clock = nullptr;       // null: the real one. Must be thread-safe with workers
};

/// Whether the consumer still wants its batch; empty: always.
using KeepWaiting = std::function<bool()>;

/// Workers take one sample at a time, so that all of them finish a batch together. Content and
/// order follow from (seed, epoch, index), never from the number of workers. One consumer: next()
/// is for one thread at a time, stop() and stats() for any.
class Loader {
 public:
  static constexpr int kMaxWorkers = 1024;
  static constexpr int kMaxPrefetch = 1024;

  /// Refuses (usage) options out of range, an empty dataset, and with drop_last a batch of all
  /// ranks that is larger than the dataset.
  static Result<std::unique_ptr<Loader>> make(std::shared_ptr<const Dataset> dataset,
                                              std::shared_ptr<const Recipe> recipe,
                                              const LoaderOptions& options);
  ~Loader();  // stop()
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// From its first batch on; what was left of another epoch is dropped.
  Status start_epoch(std::uint64_t epoch);
  /// Nothing at the end of the epoch. At most `prefetch` batches may be held; the last one must be
  /// released before (usage otherwise). Without start_epoch(): epoch 0. `keep_waiting` is asked 20
  /// times a second while the batch is not ready; false: `interrupted`, and the next call goes on.
  Result<std::optional<Batch>> next(const KeepWaiting& keep_waiting = {});
  /// Whether next() would not wait. Never with 0 workers.
  [[nodiscard]] bool ready();
  /// Batches that this rank gets in the epoch that is running.
  [[nodiscard]] std::uint64_t steps() const;

  /// After the last batch that next() gave.
  [[nodiscard]] LoaderState state() const;
  /// Goes on after `state`, with any number of workers, ranks and any batch size. Seed, shuffle,
  /// window and dataset size must be those of the state.
  Status restore(const LoaderState& state);

  [[nodiscard]] LoaderStats stats() const;
  /// Adds time and bytes of a stage outside the workers (list, transfer).
  void account(Stage stage, std::int64_t ns, std::uint64_t bytes = 0);
  /// Chrome's trace format (Perfetto reads it). Only with trace_spans.
  Status write_trace(const std::filesystem::path& path) const;

  /// Ends the threads, from any state within 0.2 s; next() then gives `interrupted`. A read that
  /// takes longer than 80 ms is cancelled, and then the dataset serves no more.
  void stop();

  [[nodiscard]] const LoaderOptions& options() const;
  [[nodiscard]] const OutputSpec& output() const;

 private:
  struct Impl;
  explicit Loader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::loader
