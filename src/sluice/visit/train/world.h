// sluice/visit/train/world.h - several ranks of `sluice train`: how they find each other, agree on
// what is trained, and end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/train/world/launcher.h"
#include "sluice/train/world/world.h"
#include "sluice/visit/caller.h"

#include <memory>
#include <string>

namespace sluice::visit {

/// The flag, not for people, of a rank that another one started.
inline constexpr const char* kFollowFlag = "--follow-rank-0";

struct TrainRanks {
  int size = 1;
  double timeout_s = 120;        // for the slowest rank of a step
  std::string device = "cpu";    // of rank 0, "cpu" or "cuda:N"
  train::LaunchedRank launched;  // by mpirun, srun or torchrun
  bool follows = false;          // was started by rank 0, with kFollowFlag
};

class TrainWorld {
 public:
  /// Joins the ranks of a launcher, or those of the rank that started this one, or starts them with
  /// the arguments of the caller. Precondition: size > 1 or follows.
  static Result<std::unique_ptr<TrainWorld>> open(const Caller& caller, const TrainRanks& ranks);

  [[nodiscard]] train::World& ranks() { return *world_; }
  [[nodiscard]] bool leads() const { return world_->rank() == 0; }
  /// Ranks that have the cores of this process, this one included.
  [[nodiscard]] int sharing_cores() const { return sharing_; }

  /// Before the first step. `mine`: what all must have in common, or why this rank cannot begin.
  /// Rank 0 names the rank and the first thing that differs; the others end with it. Nobody is left
  /// waiting, and the world can be left in order.
  Status agree(const Result<Json>& mine);
  /// What is to be printed is rank 0's.
  [[nodiscard]] bool is_silent() const { return silent_ || world_->is_spoken_for(); }

 private:
  explicit TrainWorld(std::unique_ptr<train::World> world) : world_(std::move(world)) {}
  Status hear_verdict(const Result<Json>& mine);
  Status count_sharing();

  std::unique_ptr<train::World> world_;
  int sharing_ = 1;
  bool silent_ = false;
};

}  // namespace sluice::visit
