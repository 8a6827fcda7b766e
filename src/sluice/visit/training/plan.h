// sluice/visit/training/plan.h - what `sluice bench training` measures.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/scenario/training/mixer.h"
#include "sluice/train/engine.h"
#include "sluice/train/model/flops.h"
#include "sluice/visit/loader/run.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::visit {

struct TrainingPlan {
  train::EngineConfig engine;  // of the first regime, batch and last block, at the highest rung
  std::vector<train::Regime> regimes;  // measured side by side
  std::vector<train::Rung> rungs;      // of ours, side by side, the highest last
  /// Of every library, side by side.
  std::vector<train::LastBlock> last_blocks{train::LastBlock::full};
  std::vector<int> batches;  // one, or those of a sweep
  int world_size = 1;        // ranks of our rows; more than one: beside one rank, the reference
  bool sync_alone = false;   // one rank more, whose gradients pass through NCCL all the same
  double rank_timeout_s = 120;
  bool ranks_launched = false;  // by mpirun or srun: they can be used once
  bool swept = false;
  bool sweep_to_max = false;           // extend_sweep() has more to say
  bool synthetic = false;              // exactly when there is no input
  bool resume = false;                 // goes on with the run of the folder
  std::optional<LoaderRequest> input;  // absent: generated numbers
  std::vector<LoaderRequest> others;   // further inputs: rows of their own, in the same turns
  scenario::MixOptions mix;            // of every library; on: engine.soft_targets
  int gpu_index = -1;
  train::MfuEstimator estimator = train::MfuEstimator::shapes;
  std::string profile = "off";
  std::vector<std::string> libraries{"sluice"};  // ours need not be among them
  int warmup_steps = 200, measure_steps = 100;
  std::optional<double> peak_tflops;
  measure::Policy policy;

  [[nodiscard]] bool has_ours() const;
  /// Numbers of ranks that are measured.
  [[nodiscard]] std::vector<int> worlds() const;
  /// All of them, the first first.
  [[nodiscard]] std::vector<LoaderRequest> inputs() const;
  /// What updates the weights: "lamb", "none" where nothing does, and where dtypes differ in it one
  /// for each, as in "none,lamb".
  [[nodiscard]] std::string optimizers() const;
  [[nodiscard]] train::EngineConfig engine_of(train::Regime regime, int batch) const;
  [[nodiscard]] train::EngineConfig engine_of(train::Regime regime, int batch,
                                              train::Rung rung) const;
  [[nodiscard]] train::EngineConfig engine_of(train::Regime regime, int batch, train::Rung rung,
                                              train::LastBlock last_block) const;
};
/// "..max": batch sizes doubled from the last given one up to the largest whose plan fits into the
/// memory that is free now, that one included. Asks the device. Nothing for other sweeps.
Status extend_sweep(TrainingPlan& plan);

}  // namespace sluice::visit
