// sluice/visit/storage/run.h - one visit of `sluice bench storage`: what is measured, in which
// order, and what it leaves.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/visit/storage/rows.h"
#include "sluice/visit/visit.h"

namespace sluice::visit {

/// Without an input in the plan data are generated, and removed at the end.
Result<Visited> run_storage(const Caller& caller, const StoragePlan& plan);

}  // namespace sluice::visit
