// sluice/visit/watch/trace.h - the marks of a process as a trace for Chrome, Perfetto, TensorBoard.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/marks.h"

#include <cstdint>
#include <string>

namespace sluice::visit {

/// One row of steps (the first `warmup` in a category of their own), one of phases, times from the
/// first step on; what a step reported stands in its arguments.
std::string marks_trace(const measure::Marks& marks, std::int64_t warmup,
                        const std::string& program);

}  // namespace sluice::visit
