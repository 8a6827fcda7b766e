// sluice/visit/canary_run.h - the frozen yardstick beside a run: a slower machine told from slower
// code.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/measure/runner.h"
#include "sluice/results/result_file.h"

#include <string>
#include <vector>

namespace sluice::visit {

/// Its rows: those of `so_far` with `runs` more of eight short samples each. `worker` is the
/// command of our own workers. A core changes its speed within seconds: runs that are spread over a
/// measurement say more about it than as many at its end.
Result<std::vector<measure::Row>> take_canary(const std::vector<std::string>& worker,
                                              const measure::Policy& policy,
                                              measure::RunnerContext context, int runs,
                                              std::vector<measure::Row> so_far = {});

/// What the machine was like. The speed of a part is the
/// upper quartile of its runs, in passes per second on a core: waiting for one is counted apart.
/// No canary without all parts, no noise without a check.
void put_machine(results::TrainingMetrics& metrics, const results::ResultFile& file);

}  // namespace sluice::visit
