// sluice/visit/training/result.h - what the rows of a training run come to: metrics, checks, sweep,
// advice.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/analysis/training_metrics.h"
#include "sluice/visit/gpu_watch.h"
#include "sluice/visit/training/anchors.h"
#include "sluice/visit/training/run.h"

namespace sluice::visit {

/// What was seen beside the rows.
struct TrainingSurroundings {
  std::vector<InputFacts> inputs{};     // of plan.inputs(); none: generated numbers
  std::vector<std::string> storages{};  // likewise: what each lies on
  WatchedGpu gpu{};
  TrainingAnchors anchors{};  // of other libraries
  bool resumed = false;       // rows may be of an earlier process
  analysis::DownloadProbe downloads{{std::nullopt, "the input is no bucket"},
                                    {std::nullopt, "the input is no bucket"}};
};

/// `env` of metrics.json and eval.json, from env.json.
Json metrics_env_json(const Json& environment);

/// Puts `metrics` (of our fastest row), `verdict` and `summary` into the file, from its rows alone.
/// No metrics where none of our rows was measured.
void conclude_training(results::ResultFile& file, const TrainingPlan& plan,
                       const TrainingSurroundings& around);

}  // namespace sluice::visit
