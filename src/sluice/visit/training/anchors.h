// sluice/visit/training/anchors.h - how fast other libraries are known to be: a slower one in our
// run is set up wrongly by us, and nothing may be compared with it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"
#include "sluice/visit/training/plan.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::visit {

/// A median step of a preset of model_presets(), generated numbers, one micro-step.
struct TrainingAnchor {
  std::string device;  // as its driver names it
  std::string model;
  int batch = 0;
  train::Regime regime = train::Regime::fp32;
  std::string library;
  double step_ms = 0;
};
using TrainingAnchors = std::vector<TrainingAnchor>;

/// `training` of adapters/anchors.json; none where there is no such file.
Result<TrainingAnchors> read_training_anchors(const std::filesystem::path& adapters);

/// A row beside its anchor. Up to 5 % slower, and any faster, is valid.
struct AnchorCheck {
  double anchor_ms = 0;
  double measured_ms = 0;  // median step of the best run
  [[nodiscard]] double off() const { return measured_ms / anchor_ms - 1; }
  [[nodiscard]] bool valid() const;
  [[nodiscard]] std::string text() const;  // "anchor: 28.5 ms, measured 29.1 ms, off by +2.1 %"
};
results::AnchorCheck record_of(const AnchorCheck& check);

/// Absent: no anchor for this row, or nothing was measured.
std::optional<AnchorCheck> check_anchor(const measure::Row& row, const TrainingPlan& plan,
                                        const TrainingAnchors& anchors);

/// Rows that are too slow become `failed` with the check as reason; their samples stay.
void fail_slow_peers(results::ResultFile& file, const TrainingPlan& plan,
                     const TrainingAnchors& anchors);

}  // namespace sluice::visit
