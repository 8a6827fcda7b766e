// sluice/scenario/training/spec.h - which model is trained, how, on what: the spec of `prepare`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/worker/subject.h"
#include "sluice/scenario/loader/spec.h"
#include "sluice/scenario/training/mixer.h"
#include "sluice/train/engine.h"

#include <cstdint>
#include <vector>

namespace sluice::scenario {

/// Where the batches of a step come from.
enum class TrainingData : std::uint8_t {
  resident,   // one generated batch that stays where the engine reads it; no loader, no copy
  generated,  // the same batch, copied in for every micro-step
  loader,     // files
};
const char* to_string(TrainingData data);

/// Every field of the spec, docs/bench-training.md. Other libraries read the same fields.
struct TrainingSpec {
  train::EngineConfig engine;
  TrainingData data = TrainingData::resident;
  MixOptions mix;               // on: engine.soft_targets
  int warmup_steps = 0;         // before the first timed one; nothing of them is kept
  int world_size = 1;           // ranks that take a step together, each with engine.batch samples
  double rank_timeout_s = 120;  // for the slowest of them
  bool sync_alone = false;      // one rank on a GPU: its gradients pass through NCCL all the same
  int phase_steps = 0;  // instrumented, half before and half after the timed steps of a turn
  Json loader;          // fields of LoaderSpec; null without one
};

Json to_json(const TrainingSpec& spec);
/// Unknown fields are ignored, wrong types and values out of range are errors.
Result<TrainingSpec> read_training_spec(const measure::SubjectContext& context);

/// From what train::to_json() gives.
Result<train::ModelSpec> read_model(const Json& json);

/// A batch of numbers that mean nothing: the same for the same model, size and seed.
struct GeneratedBatch {
  std::vector<float> images;
  std::vector<std::int32_t> ids, labels;
  [[nodiscard]] train::BatchView view() const;
};
/// `rank`: each has numbers of its own.
GeneratedBatch generate_batch(const train::ModelSpec& model, int batch, std::uint64_t seed,
                              int rank = 0);

}  // namespace sluice::scenario
