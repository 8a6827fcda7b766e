// sluice/scenario/allreduce/world.h - the ranks of `bench allreduce`: rank 0 is the worker that is
// measured, the others do as it says.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/scenario/allreduce/sums.h"
#include "sluice/train/world/world.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::scenario {

/// A row of `bench allreduce`.
struct AllreduceSpec {
  int world_size = 2;
  std::vector<std::int64_t> bytes;  // sizes, growing
  int sums = 0;                     // timed together at each size; 0: by its size
  double rank_timeout_s = 120;      // for the slowest rank
};
Json to_json(const AllreduceSpec& spec);
Result<AllreduceSpec> read_allreduce_spec(const Json& json);

/// Of one rank, while the largest size is added up: the numbers, and what MPI takes beside them.
std::int64_t bytes_of_rank(const AllreduceSpec& spec);

/// Rank 0's hold on the others.
class AllreduceWorld {
 public:
  /// Starts the others as `sluice worker --allreduce-rank`, or joins those that a launcher started.
  /// The error names the rank that runs another program or has too little memory.
  static Result<std::unique_ptr<AllreduceWorld>> start(const AllreduceSpec& spec);
  ~AllreduceWorld();
  AllreduceWorld(const AllreduceWorld&) = delete;
  AllreduceWorld& operator=(const AllreduceWorld&) = delete;

  /// Is the sum of this size right on every rank?
  Status check(std::int64_t bytes);
  Result<SumTimes> time(std::int64_t bytes, Clock& clock);

  [[nodiscard]] int size() const { return world_->size(); }
  [[nodiscard]] int machines() const { return machines_; }
  [[nodiscard]] std::string library() const { return world_->library(); }

 private:
  AllreduceWorld(std::unique_ptr<train::World> world, AllreduceSpec spec)
      : world_(std::move(world)), spec_(std::move(spec)) {}
  Status meet();

  std::unique_ptr<train::World> world_;
  AllreduceSpec spec_;
  std::vector<float> values_;
  int machines_ = 1;
};

/// What every rank but 0 does, until rank 0 says that it is over.
Status serve_allreduce(train::World& world);

}  // namespace sluice::scenario
