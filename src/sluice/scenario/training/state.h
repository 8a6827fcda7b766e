// sluice/scenario/training/state.h - where a training is and what its epochs gave: kept in
// checkpoints, so that a resumed run goes on exactly there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/loader/loader_state.h"
#include "sluice/scenario/training/evaluation.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice::scenario {

/// What the steps of an epoch add up to, so far.
struct EpochSums {
  std::uint64_t steps = 0;
  std::uint64_t samples = 0;
  double loss_sum = 0;                    // over the steps
  std::uint64_t judged = 0, correct = 0;  // samples whose prediction was looked at
  std::int64_t busy_ns = 0;               // of the steps, waiting included
  std::int64_t wait_ns = 0;               // for batches
};

struct EpochRecord {
  std::uint64_t epoch = 0;  // 0 is the first
  EpochSums sums;
  std::uint64_t steps_so_far = 0;
  std::optional<Accuracy> validation;
  std::optional<Accuracy> average_validation;  // of the EMA weights
};
/// epoch (1 is the first), steps, samples, loss, accuracy, val_loss, val_accuracy, ema_val_*,
/// samples_per_s, wait_fraction, seconds. What was not measured is null.
Json to_json(const EpochRecord& record);

struct TrainingState {
  std::uint64_t epoch = 0;  // that is running
  EpochSums sums;           // of it
  loader::LoaderState loader;
  double best_accuracy = -1;     // of the validations so far
  Json history = Json::array();  // finished epochs as to_json() gave them
  Json settings;                 // what a resumed run must have in common
};
Json to_json(const TrainingState& state);
/// invalid_input for anything that to_json() does not write.
Result<TrainingState> training_state_from_json(const Json& json);

inline constexpr const char* kSamplesOfStep =
    "number of samples in a step (--batch-size x --grad-accum x ranks)";
inline constexpr const char* kStepsOfEpoch = "number of steps in an epoch";

/// One line for the first setting that differs: "epochs is 3 there, 5 here".
Status same_settings(const Json& saved, const Json& wanted);

}  // namespace sluice::scenario
