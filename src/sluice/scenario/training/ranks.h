// sluice/scenario/training/ranks.h - what the ranks of a training know together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/scenario/training/evaluation.h"
#include "sluice/scenario/training/state.h"
#include "sluice/train/world/communicator.h"

#include <cstdint>
#include <string_view>

namespace sluice::scenario {

/// Every rank makes the same calls in the same order; one rank alone answers itself.
class Ranks {
 public:
  explicit Ranks(train::Communicator* world) : world_(world) {}  // null: alone

  [[nodiscard]] int rank() const { return world_ != nullptr ? world_->rank() : 0; }
  [[nodiscard]] int size() const { return world_ != nullptr ? world_->size() : 1; }
  [[nodiscard]] bool leads() const { return rank() == 0; }  // and writes the files

  /// Whether any of them says so.
  Result<bool> any(bool mine) const;
  /// Samples, judged and correct ones are added up; waiting is the mean of them.
  Result<EpochSums> total(const EpochSums& mine) const;
  /// Errc::interrupted when any of them was.
  Result<Accuracy> total(const Accuracy& mine, bool interrupted) const;
  /// The lowest rank whose text is not that of rank 0; 0: all have the same.
  Result<int> first_other(std::string_view text) const;

 private:
  train::Communicator* world_;
};

}  // namespace sluice::scenario
