// sluice/analysis/step_rows.h - the rows of `sluice diagnose` as times per batch, and what they
// say.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/analysis/bottleneck.h"
#include "sluice/analysis/loader_verdict.h"
#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/measure/record.h"

#include <vector>

namespace sluice::analysis {

/// From "diagnose/loader", "diagnose/model", "diagnose/together" and, where it was measured,
/// "diagnose/transfer"; `batch` samples each. A row that is missing or failed is an error that
/// gives its reason.
Result<StepTimes> step_times(const std::vector<measure::Row>& rows, int batch);

/// Without `step`.
Result<results::Diagnosis> diagnosis_of(const std::vector<measure::Row>& rows, int batch,
                                        const LoaderSetting& setting,
                                        const ProbedData& probed = {});

}  // namespace sluice::analysis
