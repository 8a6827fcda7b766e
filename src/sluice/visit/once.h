// sluice/visit/once.h - one sample in one fresh process, without warm-up: first epochs,
// traces, probes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/runner.h"

namespace sluice::visit {

/// As the runner takes samples, but nothing is done before the timed passes. A row that fails says
/// why; an Error is an interruption.
Result<measure::Row> measure_once(const measure::SubjectSpec& spec, std::int64_t passes,
                                  const measure::RunnerContext& context, double timeout_s,
                                  std::uint64_t seed);

}  // namespace sluice::visit
