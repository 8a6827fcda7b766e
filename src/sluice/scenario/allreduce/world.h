// sluice/scenario/allreduce/world.h - the ranks of `bench allreduce`: rank 0 is the worker that is
// measured, the others do as it says.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/scenario/allreduce/rank_sums.h"
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
  std::string device = "cpu";       // or "cuda:N", of the first rank of a machine
  std::vector<std::int64_t> bytes;  // sizes, growing
  int sums = 0;                     // timed together at each size; 0: by its size
  double rank_timeout_s = 120;      // for the slowest rank
};
Json to_json(const AllreduceSpec& spec);
Result<AllreduceSpec> read_allreduce_spec(const Json& json);

/// Rank 0's hold on the others.
class AllreduceWorld {
 public:
  /// Starts the others as `sluice worker --allreduce-rank`, or joins those that a launcher started.
  /// The error names the rank that runs another program, has no device, or too little memory.
  static Result<std::unique_ptr<AllreduceWorld>> start(const AllreduceSpec& spec);
  ~AllreduceWorld();
  AllreduceWorld(const AllreduceWorld&) = delete;
  AllreduceWorld& operator=(const AllreduceWorld&) = delete;

  /// Is the sum of this size right on every rank?
  Status check(std::int64_t bytes);
  Result<SumTimes> time(std::int64_t bytes, Clock& clock);

  [[nodiscard]] int size() const { return world_->size(); }
  [[nodiscard]] int machines() const { return machines_; }
  [[nodiscard]] std::string library() const { return sums_->library(); }

 private:
  AllreduceWorld(std::unique_ptr<train::World> world, AllreduceSpec spec)
      : world_(std::move(world)), spec_(std::move(spec)) {}
  Status meet();
  Status open();
  Error over(const Error& error);

  std::unique_ptr<train::World> world_;
  AllreduceSpec spec_;
  std::unique_ptr<RankSums> sums_;
  std::vector<float> values_;
  int machines_ = 1;
};

/// What every rank but 0 does, until rank 0 says that it is over.
Status serve_allreduce(train::World& world);

}  // namespace sluice::scenario
