// sluice/visit/diagnose/peer.h - the diagnosis of another library's loader on a folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/visit/diagnose/run.h"

namespace sluice::visit {

/// `plan.library` loads; the step is a wait of model_time_ms, which must be above 0. Present
/// workers and prefetch are the loader's. A visit of its own, as run_diagnose(), which calls this.
Result<Visited> run_peer_diagnose(const Caller& caller, const DiagnosePlan& plan);

}  // namespace sluice::visit
