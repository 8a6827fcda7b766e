// sluice/loader/worker.h - makes samples: read, recipe, and what stands in for a corrupt one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/loader/accounting.h"
#include "sluice/loader/data/dataset.h"
#include "sluice/loader/recipe/recipe.h"
#include "sluice/loader/ring.h"
#include "sluice/loader/trace.h"
#include "sluice/storage/local/read_buffer.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace sluice::loader {

/// The bytes of the sample are at fault, rather than the machine or the network: OnError::skip
/// passes it over.
bool is_corrupt_sample(const Error& error);

/// The samples that were skipped, of all workers.
class SkipList {
 public:
  void add(SkippedSample sample);
  void add_to(LoaderStats& stats) const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t count_ = 0;
  std::vector<SkippedSample> named_;
};

/// What all workers of a loader share.
struct WorkShop {
  std::shared_ptr<const Dataset> dataset;
  std::shared_ptr<const Recipe> recipe;
  std::uint64_t seed = 0;
  bool skip_corrupt = false;
  std::atomic<bool> stop{false};
  SkipList skipped;
  std::shared_ptr<Ring> ring;
  Clock* clock = nullptr;
};

/// One thread's part; its memory is its own.
class LoaderWorker {
 public:
  LoaderWorker(WorkShop& shop, std::size_t trace_spans);

  /// Until the ring says end.
  void run();
  /// One sample, in the thread of the caller.
  void make(const Ring::Item& item, StageClock& clock);
  [[nodiscard]] StageClock clock();

  [[nodiscard]] const WorkerCounters& counters() const { return counters_; }
  [[nodiscard]] const SpanRing* spans() const { return spans_ ? &*spans_ : nullptr; }

  /// So many corrupt samples in a row are the dataset's fault, not theirs.
  static constexpr std::uint64_t kMostInARow = 64;

 private:
  Status make_any(const Ring::Item& item, StageClock& clock);
  Status make_from(const Ring::Item& item, std::uint64_t index, StageClock& clock);

  WorkShop& shop_;
  std::unique_ptr<RecipeScratch> scratch_;
  storage::ReadBuffer buffer_;
  WorkerCounters counters_;
  std::optional<SpanRing> spans_;
};

}  // namespace sluice::loader
