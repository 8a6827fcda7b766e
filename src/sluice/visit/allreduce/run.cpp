// sluice/visit/allreduce/run.cpp - the life of `sluice bench allreduce`, top to bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/allreduce/run.h"

#include "sluice/analysis/world/allreduce.h"
#include "sluice/measure/axes.h"
#include "sluice/peers/places.h"

#include <string>

namespace sluice::visit {
namespace {

bool adds_on_cpu(const AllreducePlan& plan) {
  return plan.spec.device == "cpu";
}

measure::SubjectSpec ladder_row(const AllreducePlan& plan, const std::vector<std::string>& worker) {
  measure::SubjectSpec row;
  row.params = {{"world_size", std::to_string(plan.spec.world_size)}};
  if (!adds_on_cpu(plan)) row.params["device"] = "cuda";  // never compared with a CPU's
  row.case_name = measure::case_name("allreduce/sum", {row.params});
  row.spec = scenario::to_json(plan.spec);
  row.command = worker;
  row.unit = "sums/s";
  row.cpu_limit = measure::kNoCpuLimit;  // MPI may have threads of its own
  row.single_pass = true;
  return row;
}

void describe_allreduce(results::ResultFile& file, const AllreducePlan& plan) {
  file.run_config = Json{{"command", "bench-allreduce"}, {"world_size", plan.spec.world_size},
                         {"device", plan.spec.device},   {"bytes", plan.spec.bytes},
                         {"sums", plan.spec.sums},       {"policy", policy_json(plan.policy)}};
  file.timing.scope = "all-reduce";
  file.timing.data_source = "memory";
  file.block_order_seed = plan.policy.seed;
}

/// A row that was measured becomes one for each size.
void conclude_allreduce(results::ResultFile& file, const AllreducePlan& plan) {
  std::vector<measure::Row> rows;
  for (const measure::Row& row : file.rows)
    for (measure::Row& one : analysis::rows_by_size(row, plan.policy.unstable_cv))
      rows.push_back(std::move(one));
  file.rows = std::move(rows);
  file.allreduce = analysis::allreduce_summary(file.rows);
}

}  // namespace

Result<Visited> run_allreduce(const Caller& caller, const AllreducePlan& plan) {
  Visit visit(caller, "bench-allreduce");
  SLUICE_CHECK(visit.open(
      {.storage = caller.out,
       .device = adds_on_cpu(plan) ? env::ProfileDevice::cpu : env::ProfileDevice::gpu}));
  SLUICE_TRY(const peers::Places places, peers::find_places());
  SLUICE_CHECK(visit.begin());
  describe_allreduce(visit.file, plan);
  SLUICE_CHECK(visit.described());
  SLUICE_CHECK(visit.start());
  SLUICE_TRY(const bool interrupted,
             is_interrupted(visit.measure({ladder_row(plan, places.worker())}, plan.policy)));
  conclude_allreduce(visit.file, plan);
  return visit.finish(interrupted);
}

}  // namespace sluice::visit
