// sluice/train/profile/step_runner.h - an engine of a profile and its batches: whole steps, one
// after another.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/train/profile/device_record.h"
#include "sluice/train/profile/profile.h"

#include <memory>
#include <vector>

namespace sluice::train {

class StepRunner {
 public:
  /// `resident`: only the first batch of `next`, used again and again.
  static Result<StepRunner> make(const EngineConfig& config, const BatchSource& next,
                                 bool resident);

  /// From nothing under way to nothing under way.
  Result<StepResult> step(DeviceStep& mark);
  Status steps(int count);
  /// Milliseconds of each; `phases` (may be null): the sum of the phases of each.
  Result<std::vector<double>> timed_steps(int count, std::vector<double>* phases);
  [[nodiscard]] Engine& engine() const { return *engine_; }

 private:
  StepRunner(std::unique_ptr<Engine> engine, const BatchSource& next, bool resident)
      : engine_(std::move(engine)), next_(next), resident_(resident) {}

  std::unique_ptr<Engine> engine_;
  BatchSource next_;
  bool resident_;
  bool holds_ = false;
};

}  // namespace sluice::train
