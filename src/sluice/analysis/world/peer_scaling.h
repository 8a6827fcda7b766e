// sluice/analysis/world/peer_scaling.h - ranks of other libraries beside one process of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/training_metrics.h"

#include <vector>

namespace sluice::analysis {

/// One line for each row of another library with several ranks that was measured beside the same
/// case with one.
std::vector<results::PeerScaling> peer_scaling(const std::vector<measure::Row>& rows);

}  // namespace sluice::analysis
