// sluice/loader/sampler.h - which sample comes when: the order of an epoch, cut into batches.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/loader/permutation.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::loader {

/// none:     as the dataset has them.
/// full:     any order of all samples.
/// windowed: windows of `window` neighbours in any order, and any order inside a window: reads stay
///           near each other.
/// shards:   shards in any order, one after another; in this stream every run of `window` samples
///           in any order: few shards are open at a time.
enum class Shuffle : std::uint8_t { none, full, windowed, shards };
const char* to_string(Shuffle shuffle);
Result<Shuffle> parse_shuffle(std::string_view text);

struct OrderOptions {
  Shuffle shuffle = Shuffle::full;
  std::uint64_t window = 8192;  // at least 1; windowed and shards only
  std::uint64_t seed = 0;
};

/// Position in the epoch to index in the dataset: a permutation that follows from (seed, epoch).
/// Memory is that of the shards, not of the samples.
class EpochOrder {
 public:
  /// `shard_starts` must outlive it; a dataset's do.
  EpochOrder(std::uint64_t size, std::span<const std::uint64_t> shard_starts,
             const OrderOptions& options, std::uint64_t epoch);
  /// Precondition: position < size().
  [[nodiscard]] std::uint64_t operator[](std::uint64_t position) const;
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  [[nodiscard]] std::uint64_t windowed(std::uint64_t position) const;
  [[nodiscard]] std::uint64_t sharded(std::uint64_t position) const;
  [[nodiscard]] std::uint64_t in_window(std::uint64_t window, std::uint64_t size,
                                        std::uint64_t place) const;

  Shuffle shuffle_;
  std::uint64_t size_;
  std::uint64_t window_;
  RngKey key_;
  Permutation outer_;           // of samples, windows or shards
  std::uint64_t short_at_ = 0;  // windowed: the position at which the short window begins
  std::span<const std::uint64_t> starts_;  // of the shards in the dataset
  std::vector<std::uint64_t> stream_;      // of the shards in the order of the epoch
};

/// How an epoch is shared out. Step s takes the next ranks x batch_size positions: rank r the r-th
/// run of batch_size of them. With drop_last a step that is not full does not take place; without,
/// its samples are divided as evenly as may be, and a rank for which none is left has no batch.
struct BatchOptions {
  std::uint32_t batch_size = 256;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  bool drop_last = true;
};

class BatchPlan {
 public:
  /// `consumed`: positions that were taken before, by whatever ranks and batches.
  BatchPlan(std::uint64_t size, const BatchOptions& options, std::uint64_t consumed = 0);

  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  struct Range {
    std::uint64_t first = 0;
    std::uint32_t count = 0;  // 0: no batch for this rank
  };
  [[nodiscard]] Range step(std::uint64_t step) const;
  /// Positions taken by all ranks once `step` is through.
  [[nodiscard]] std::uint64_t consumed_after(std::uint64_t step) const;

 private:
  std::uint64_t size_;
  BatchOptions options_;
  std::uint64_t base_;
  std::uint64_t steps_;
};

}  // namespace sluice::loader
