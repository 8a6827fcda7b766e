// sluice/visit/training/plan.cpp - engines of a plan, and a sweep up to what memory holds.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/training/plan.h"

#include "sluice/core/text.h"
#include "sluice/scenario/loader/spec.h"

#include <algorithm>
#include <set>

namespace sluice::visit {

Status extend_sweep(TrainingPlan& plan) {
  if (!plan.sweep_to_max) return ok;
  // The worker's CUDA context, which is not there while the device is asked.
  constexpr std::int64_t kContext = std::int64_t{1} << 30;
  constexpr int kWhole = 8;  // kernels like whole eights
  SLUICE_TRY(int most, train::largest_batch(plan.engine_of(plan.regimes.front(), 1),
                                            static_cast<int>(scenario::kMaxBatch),
                                            plan.gpu_index < 0 ? 0 : kContext));
  if (most > kWhole) most -= most % kWhole;
  if (most < 1) return usage_error("--sweep: not even a batch of 1 fits");
  const auto beyond = [&](int batch) { return batch > most; };
  plan.batches.erase(std::remove_if(plan.batches.begin(), plan.batches.end(), beyond),
                     plan.batches.end());
  if (plan.batches.empty()) plan.batches.push_back(most);
  while (plan.batches.back() <= most / 2)
    plan.batches.push_back(plan.batches.back() * 2);
  if (plan.batches.back() != most) plan.batches.push_back(most);
  plan.engine.batch = plan.batches.front();
  return ok;
}

bool TrainingPlan::has_ours() const {
  return std::find(libraries.begin(), libraries.end(), "sluice") != libraries.end();
}

std::vector<int> TrainingPlan::worlds() const {
  if (world_size == 1) return {1};
  return {1, world_size};
}

std::vector<LoaderRequest> TrainingPlan::inputs() const {
  std::vector<LoaderRequest> all;
  if (input) all.push_back(*input);
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

std::string TrainingPlan::optimizers() const {
  std::vector<std::string> of_regimes;
  for (const train::Regime regime : regimes)
    of_regimes.emplace_back(
        engine_of(regime, engine.batch).optimizer ? to_string(engine.update.kind) : "none");
  if (std::set<std::string>(of_regimes.begin(), of_regimes.end()).size() == 1)
    return of_regimes.front();
  return join(of_regimes, ",");
}

train::EngineConfig TrainingPlan::engine_of(train::Regime regime, int batch) const {
  return engine_of(regime, batch, rungs.back());
}

train::EngineConfig TrainingPlan::engine_of(train::Regime regime, int batch,
                                            train::Rung rung) const {
  return engine_of(regime, batch, rung, last_blocks.front());
}

train::EngineConfig TrainingPlan::engine_of(train::Regime regime, int batch, train::Rung rung,
                                            train::LastBlock last_block) const {
  train::EngineConfig config = engine;
  config.last_block = last_block;
  config.regime = regime;
  config.rung = rung;
  config.optimizer = regime != train::Regime::bf16;  // regime A is forward and backward alone
  config.batch = batch;
  return config;
}

}  // namespace sluice::visit
