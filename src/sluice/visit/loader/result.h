// sluice/visit/loader/result.h - what the rows of a loader run come to: metrics, checks,
// diagnosis, recommendation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/analysis/advice.h"
#include "sluice/visit/gpu_watch.h"
#include "sluice/visit/loader/run.h"

namespace sluice::visit {

/// Puts `metrics`, `verdict` and `summary` into the file, from its rows and from what was probed.
void conclude(results::ResultFile& file, const DataloaderPlan& plan, const InputFacts& input,
              const WatchedGpu& gpu, const analysis::ProbedData& probed = {});

}  // namespace sluice::visit
