// sluice/cli/dataloader_result.h - what the rows of a loader run come to: metrics, checks,
// diagnosis, recommendation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/dataloader_run.h"
#include "sluice/cli/gpu_watch.h"

namespace sluice::cli {

/// Puts `metrics`, `verdict` and `summary` into the file, from its rows alone.
void conclude(results::ResultFile& file, const DataloaderPlan& plan, const InputFacts& input,
              const WatchedGpu& gpu);

}  // namespace sluice::cli
