// sluice/visit/watch/marked_run.h - the marks of one process as one run of a row.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/marks.h"
#include "sluice/measure/record.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::visit {

/// The process that marked most steps: the first of equals. Precondition: not empty.
std::size_t main_process(const std::vector<measure::Marks>& all);

/// The counted steps of a process as one run: samples, phases, values and their sums in `details`.
/// Nothing of the steps before `warmup`, at most `steps` of those after (0: all). Where the program
/// reports times of its device, they are the samples, and steps without one are left out.
measure::Run watched_run(const measure::Marks& marks, std::int64_t warmup, std::int64_t steps);

/// "reported a loss that is not finite (nan) in step 17"; empty: it reported none such. Steps count
/// from 1.
std::string broken_loss(const measure::Marks& marks);

}  // namespace sluice::visit
