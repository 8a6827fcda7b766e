// sluice/visit/watch/result.h - what the row of a watched program comes to: metrics.json.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/visit/gpu_watch.h"
#include "sluice/visit/watch/run.h"

namespace sluice::visit {

/// What a sample of the row counts: the samples of a step where every step of every run reports the
/// same number, else those of the plan, else the step itself.
void count_in_samples(measure::Row& row, const WatchPlan& plan);

/// Puts `metrics` into the file, with the keys that every gate reads; nothing where the row has no
/// steps.
void conclude_watch(results::ResultFile& file, const WatchPlan& plan, const WatchedGpu& gpu);

/// Steps, their times and the phases, for the terminal.
std::string watch_text(const results::ResultFile& file);

}  // namespace sluice::visit
