// sluice/train/profile/step_runner.cpp - micro-steps, the update, and the wait for both.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/profile/step_runner.h"

#include <numeric>
#include <utility>

namespace sluice::train {

Result<StepRunner> StepRunner::make(const EngineConfig& config, const BatchSource& next,
                                    bool resident) {
  SLUICE_TRY(auto engine, Engine::make(config));
  return StepRunner(std::move(engine), next, resident);
}

Result<StepResult> StepRunner::step(DeviceStep& mark) {
  mark.start_ns = now_ns();
  for (int micro = 0; micro < engine_->config().grad_accum; ++micro) {
    if (resident_ && std::exchange(holds_, true)) {
      SLUICE_CHECK(engine_->micro_step_again());
      continue;
    }
    SLUICE_TRY(const BatchView batch, next_());
    SLUICE_CHECK(engine_->micro_step(batch));
  }
  SLUICE_TRY(const StepResult result, engine_->update());
  engine_->synchronize();
  mark.end_ns = now_ns();
  return result;
}

Status StepRunner::steps(int count) {
  for (int i = 0; i < count; ++i) {
    DeviceStep mark;
    SLUICE_CHECK(step(mark));
  }
  return ok;
}

Result<std::vector<double>> StepRunner::timed_steps(int count, std::vector<double>* phases) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    DeviceStep mark;
    SLUICE_TRY(const StepResult result, step(mark));
    times.push_back(static_cast<double>(mark.end_ns - mark.start_ns) * 1e-6);
    if (phases != nullptr)
      phases->push_back(static_cast<double>(std::accumulate(result.phases.begin(),
                                                            result.phases.end(), std::int64_t{0})) *
                        1e-6);
  }
  return times;
}

}  // namespace sluice::train
