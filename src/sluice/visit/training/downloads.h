// sluice/visit/training/downloads.h - how fast the workers of a training could download, were there
// no model.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/analysis/training_metrics.h"
#include "sluice/visit/loader/run.h"

#include <string>
#include <vector>

namespace sluice::visit {

/// A few batches by all workers, and by one: each in a fresh process of `worker`, from the bucket
/// itself, whatever cache the request has. What fails is a reason, an Error is an interruption.
Result<analysis::DownloadProbe> probe_downloads(const LoaderRequest& request,
                                                const InputFacts& input,
                                                const std::vector<std::string>& worker,
                                                const measure::RunnerContext& runner,
                                                const measure::Policy& policy);

}  // namespace sluice::visit
