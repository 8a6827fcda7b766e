// sluice/visit/watch/result.h - what the row of a watched program comes to: metrics.json.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/visit/gpu_watch.h"
#include "sluice/visit/watch/run.h"

namespace sluice::visit {

/// Puts `metrics` into the file, with the keys that every gate reads; nothing where the row has no
/// steps.
void conclude_watch(results::ResultFile& file, const WatchPlan& plan, const WatchedGpu& gpu);

/// Steps, their times and the phases, for the terminal.
std::string watch_text(const results::ResultFile& file);

}  // namespace sluice::visit
