// sluice/visit/allreduce/run.h - one visit of `sluice bench allreduce`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/scenario/allreduce/world.h"
#include "sluice/visit/visit.h"

namespace sluice::visit {

struct AllreducePlan {
  scenario::AllreduceSpec spec;
  measure::Policy policy;
};

Result<Visited> run_allreduce(const Caller& caller, const AllreducePlan& plan);

}  // namespace sluice::visit
