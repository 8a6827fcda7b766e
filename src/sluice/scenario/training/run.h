// sluice/scenario/training/run.h - epochs of steps, validation, checkpoints: the loop of `sluice
// train`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/scenario/training/feed.h"
#include "sluice/scenario/training/mixer.h"
#include "sluice/scenario/training/ranks.h"
#include "sluice/scenario/training/state.h"
#include "sluice/train/engine.h"

#include <filesystem>

namespace sluice::scenario {

struct TrainingSchedule {
  std::uint64_t epochs = 1;
  double warmup_epochs = 0;
  std::uint64_t val_every = 4;         // epochs; also after the last one
  std::uint64_t most_batches = 0;      // of an epoch; 0: all
  std::uint64_t checkpoint_every = 0;  // steps; 0: after epochs only
  std::filesystem::path checkpoint_dir;
  MixOptions mix;
};

/// Updates of one epoch: whole ones only.
std::uint64_t steps_per_epoch(const TrainingSchedule& plan, const TrainingFeed& feed,
                              int grad_accum);
/// What a resumed run must have in common with the one that it continues, and ranks with each
/// other: flags and what else decides the weights. The samples of a step may be shared out over
/// other batches, accumulations and ranks.
Json training_settings(const train::EngineConfig& engine, const TrainingSchedule& plan,
                       const TrainingFeed& feed);
/// Warm-up and length of the schedule.
void set_schedule(train::OptimizerConfig& update, const TrainingSchedule& plan,
                  std::uint64_t steps_per_epoch);

struct StepRecord {
  std::uint64_t step = 0;   // 0 is the first
  std::uint64_t epoch = 0;  // 0 is the first
  double loss = 0, learning_rate = 0, gradient_norm = 0;
  std::int64_t busy_ns = 0, wait_ns = 0;
};

class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;
  virtual Status on_step(const StepRecord& step) = 0;
  virtual Status on_epoch(const Json& epoch) = 0;
  virtual bool interrupted() = 0;
};

struct TrainingOutcome {
  Json epochs;  // a list of what to_json(EpochRecord) gives, those of earlier runs included
  std::uint64_t steps = 0;
  bool interrupted = false;
};

/// Checkpoints are last.safetensors, replaced after every epoch, every `checkpoint_every` steps and
/// when interrupted, and best.safetensors, the one with the highest validation accuracy (of the
/// average, where one is kept). A run that was interrupted and resumed ends with the same weights
/// as one that was not; with another number of ranks but as many samples in a step it goes on with
/// the same samples, and differs by rounding, and by what Mixup draws for each rank. Of several
/// ranks each has a run, and rank 0 writes.
class TrainingRun {
 public:
  /// `validation` may be null. All outlive the run.
  TrainingRun(train::Engine& engine, TrainingFeed& feed, TrainingFeed* validation,
              const TrainingSchedule& plan, TrainingObserver& observer);

  /// Reads last.safetensors. Refuses (invalid_input) a file that is not sound, of another model or
  /// with other settings. Not to be run after an error.
  Status resume();
  /// Errors: what feed and engine report; a loss that is not finite is Errc::measurement and names
  /// the step. Being interrupted is none.
  Result<TrainingOutcome> run();
  /// What is done so far; after an error of run(), too.
  [[nodiscard]] TrainingOutcome outcome() const;

 private:
  Status run_epoch();
  Status run_step();
  Status finish_epoch();
  Status save(const char* name);
  Status keep_as_best();
  [[nodiscard]] Error of_checkpoint(const Error& error) const;

  train::Engine& engine_;
  TrainingFeed& feed_;
  TrainingFeed* validation_;
  TrainingSchedule plan_;
  TrainingObserver& observer_;
  TrainingMixer mixer_;
  Ranks ranks_;
  std::uint64_t steps_;        // of an epoch
  TrainingState state_;        // samples, judged and correct ones are this rank's own
  bool feed_started_ = false;  // the feed is where the state says
  bool half_step_ = false;     // gradients were added that no update took yet
  bool in_step_ = false;
};

}  // namespace sluice::scenario
