// sluice/cli/canary_run.h - the frozen yardstick beside a run: a slower machine told from slower
// code.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/measure/runner.h"
#include "sluice/results/result_file.h"

#include <string>
#include <vector>

namespace sluice::cli {

/// Its rows: two runs of eight short samples each. `worker` is the command of our own workers.
Result<std::vector<measure::Row>> take_canary(const std::vector<std::string>& worker,
                                              const measure::Policy& policy,
                                              measure::RunnerContext context);

/// `canary` and `noise` of metrics.json: what the machine was like. The speed of a part is that of
/// its best run, as the best run is what counts, in passes per second on a core: waiting for one is
/// counted apart. Null without all parts, or without a noise check.
void put_machine(Json& metrics, const results::ResultFile& file);

}  // namespace sluice::cli
