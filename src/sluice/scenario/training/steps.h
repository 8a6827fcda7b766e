// sluice/scenario/training/steps.h - an engine with what feeds it: whole steps, one after another.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/clock.h"
#include "sluice/scenario/training/feed.h"
#include "sluice/scenario/training/spec.h"
#include "sluice/train/engine.h"

#include <cstdint>
#include <memory>

namespace sluice::scenario {

class TrainingSteps {
 public:
  /// `feed` may be null: generated numbers. Each rank of the engine's world has numbers of its own.
  TrainingSteps(const TrainingSpec& spec, std::unique_ptr<train::Engine> engine,
                std::unique_ptr<TrainingFeed> feed);

  /// One whole step, the device idle before and after. The phase `data` is always filled in; the
  /// others by the engine, when it times them.
  Result<train::StepResult> take();

  [[nodiscard]] train::Engine& engine() { return *engine_; }
  [[nodiscard]] const TrainingFeed* feed() const { return feed_.get(); }
  [[nodiscard]] std::int64_t taken() const { return taken_; }
  /// The generated batch with every image as it is: what a model is checked on.
  Result<train::BatchView> unmixed() { return mixer_.unmixed(batch_.view()); }

 private:
  Status micro_step(int micro, std::int64_t& data_ns);
  Status resident_step(int micro);
  Result<train::BatchView> mixed(const train::BatchView& view, int micro);

  TrainingData data_;
  int grad_accum_, rank_, ranks_;
  std::unique_ptr<train::Engine> engine_;
  std::unique_ptr<TrainingFeed> feed_;
  TrainingMixer mixer_;
  GeneratedBatch batch_;
  SystemClock clock_;
  bool resident_ = false;  // the engine holds batch_
  std::int64_t taken_ = 0;
};

/// The feed of a spec that asks for one, null otherwise; of the engine's rank.
Result<std::unique_ptr<TrainingFeed>> open_feed(const TrainingSpec& spec,
                                                const measure::SubjectContext& context,
                                                const train::Engine& engine);

}  // namespace sluice::scenario
