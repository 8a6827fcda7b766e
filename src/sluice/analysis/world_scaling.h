// sluice/analysis/world_scaling.h - several ranks beside one: efficiency, what adding gradients up
// costs, who waits for whom.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/training_metrics.h"

#include <optional>

namespace sluice::analysis {

/// Of the run whose median step is the shortest; without tokens and MFU, which need the model.
/// `alone`: one rank with the same batch a rank, of
/// the same session. Nothing where either was not measured.
std::optional<results::WorldScaling> world_scaling(const measure::Row& together,
                                                   const measure::Row& alone);

}  // namespace sluice::analysis
