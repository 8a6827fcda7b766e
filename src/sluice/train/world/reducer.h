// sluice/train/world/reducer.h - gradients of all ranks added up while backward goes on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/world/buckets.h"
#include "sluice/train/world/communicator.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::train {

/// What the last step spent on it. Of the time from the first bucket to the end of the last one,
/// `exposed_ns` is what the step waited or worked for it; the rest was hidden behind backward.
struct SyncTimes {
  std::int64_t bytes = 0;  // of gradients, of one rank
  std::int64_t in_flight_ns = 0;
  std::int64_t exposed_ns = 0;
  std::int64_t waited_ns = 0;  // of the exposed: in the end, for the others and what was left
};

/// Of gradients in host memory.
class GradientReducer {
 public:
  static constexpr std::size_t kBucketBytes = std::size_t{4} << 20;

  /// `memory`: the plan's allocation. All outlive it.
  GradientReducer(const Program& program, std::byte* memory, Communicator& world,
                  std::size_t bucket_bytes = kBucketBytes);

  /// After operation `index` of the last backward of a step, each in its order.
  Status after(std::size_t index);
  /// Every gradient is the sum over all ranks.
  Status finish();

  [[nodiscard]] const SyncTimes& times() const { return times_; }
  [[nodiscard]] const std::vector<Bucket>& buckets() const { return buckets_; }

 private:
  std::byte* memory_;
  Communicator& world_;
  std::vector<Bucket> buckets_;
  std::size_t next_ = 0;  // of the buckets, to be begun
  std::int64_t began_ns_ = 0;
  SyncTimes times_;
};

}  // namespace sluice::train
