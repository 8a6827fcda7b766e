// sluice/cli/canary_run.h - the frozen yardstick beside a run: a slower machine told from slower
// code.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/measure/runner.h"

#include <string>
#include <vector>

namespace sluice::cli {

/// Its rows, short: one run of two samples each. `worker` is the command of our own workers.
Result<std::vector<measure::Row>> take_canary(const std::vector<std::string>& worker,
                                              const measure::Policy& policy,
                                              measure::RunnerContext context);

/// `canary` of metrics.json: the best sample of each part, as the best run is what counts; null
/// without all parts.
Json canary_json(const std::vector<measure::Row>& rows);

}  // namespace sluice::cli
