// sluice/analysis/storage_metrics.h - rows of `bench storage` as rates, latencies and cache states.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/record.h"
#include "sluice/results/summaries.h"

#include <vector>

namespace sluice::analysis {

using results::ReadLatency;
using results::StorageLine;

/// One per row, in order; rows of other commands are left out.
std::vector<StorageLine> storage_lines(const std::vector<measure::Row>& rows);

}  // namespace sluice::analysis
