// sluice/scenario/allreduce/rank_sums.h - how a rank adds up: in host memory by its world, or on a
// GPU by NCCL.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/world/world.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sluice::scenario {

/// One rank of several, which all make the same calls. An error is final.
class RankSums {
 public:
  virtual ~RankSums() = default;
  /// "Open MPI v4.1.4, ...", "NCCL 2.30.3"; of rank 0.
  [[nodiscard]] virtual std::string library() const = 0;

  /// The numbers that are added up from now on; not to be touched before give_back().
  virtual Status take(std::span<float> values) = 0;
  /// Replaces the numbers by their sum over all ranks, so many times, one after the other. All have
  /// ended when it returns.
  virtual Status add_up(int times) = 0;
  /// The numbers are where they were taken from.
  virtual Status give_back() = 0;
};

/// By `ranks`, which outlive it.
std::unique_ptr<RankSums> host_sums(train::Communicator& ranks, std::string library);

/// On "cuda:N", of at most `bytes`. All ranks of `world`, which outlives it, call it together.
/// Usage errors: the device's, memory that is not there. Errc::unsupported: there is no NCCL.
Result<std::unique_ptr<RankSums>> device_sums(train::World& world, const std::string& device,
                                              std::int64_t bytes);

}  // namespace sluice::scenario
