// sluice/scenario/training/world.h - the ranks of a training row: rank 0 is the worker that is
// measured, the others do as it says.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/worker/subject.h"
#include "sluice/scenario/training/feed.h"
#include "sluice/scenario/training/spec.h"
#include "sluice/train/world/launcher.h"
#include "sluice/train/world/reducer.h"
#include "sluice/train/world/world.h"

#include <memory>

namespace sluice::scenario {

/// Rank 0's hold on the others.
class TrainingWorld {
 public:
  /// Starts the others as `sluice worker --rank`, or joins those that a launcher started; `context`
  /// is what they prepare from, at the same time as this rank.
  static Result<std::unique_ptr<TrainingWorld>> start(const TrainingSpec& spec,
                                                      const measure::SubjectContext& context);
  ~TrainingWorld();
  TrainingWorld(const TrainingWorld&) = delete;
  TrainingWorld& operator=(const TrainingWorld&) = delete;

  [[nodiscard]] train::Communicator& ranks() { return *world_; }
  /// Every other rank is ready, with this program and the samples of `feed`, which may be null. The
  /// error names the rank that is not.
  Status ready(const TrainingFeed* feed);
  /// The others take a step, too.
  Status step();
  /// The others end.
  void end();
  /// A sample begins: what was noted so far is forgotten.
  void begin() { sync_.clear(); }
  void note(const train::SyncTimes& sync) { sync_.push_back(sync); }
  /// Of the steps since begin(): sums, waits and machines, by rank. `device_sums`: what adds up
  /// where devices do it themselves.
  Result<Json> report(const std::string& device_sums);

 private:
  explicit TrainingWorld(std::unique_ptr<train::World> world) : world_(std::move(world)) {}

  std::unique_ptr<train::World> world_;
  bool ended_ = false;
  std::vector<train::SyncTimes> sync_;  // of this rank
};

/// What every rank but 0 does, until rank 0 says that it is over.
Status serve_rank(train::World& world);

}  // namespace sluice::scenario
