// sluice/visit/storage/run.cpp - the life of `sluice bench storage`, top to bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/storage/run.h"

#include "sluice/analysis/storage_metrics.h"
#include "sluice/core/folder_guard.h"
#include "sluice/peers/places.h"

#include <optional>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "bench-storage";

/// What the inputs of the plan hold.
struct Held {
  std::vector<storage::Object> large, objects;
};
Result<Held> list_inputs(const StoragePlan& plan) {
  Held held;
  SLUICE_TRY(const auto store, scenario::open_storage(plan.large));
  SLUICE_TRY(held.large, scenario::list_storage(*store));
  if (plan.objects.input == plan.large.input) {
    held.objects = held.large;
    return held;
  }
  SLUICE_TRY(const auto other, scenario::open_storage(plan.objects));
  SLUICE_TRY(held.objects, scenario::list_storage(*other));
  return held;
}

Json run_config_of(const StoragePlan& plan, bool generated) {
  return Json{{"command", kName},
              {"input", generated             ? "generated"
                        : plan.large.remote() ? plan.large.input
                                              : "given"},
              {"modes", plan.modes},
              {"sizes", plan.sizes},
              {"concurrency", plan.concurrency},
              {"bytes", plan.bytes},
              {"operations", plan.operations},
              {"warm", plan.warm},
              {"policy", policy_json(plan.policy)}};
}

/// Everything about the visit that is known before the first sample.
void describe(results::ResultFile& file, const StoragePlan& plan, bool generated,
              const Held& held) {
  file.run_config = run_config_of(plan, generated);
  for (const storage::Object& object : held.objects)
    file.dataset.bytes += static_cast<std::int64_t>(object.size);
  file.dataset.count = static_cast<std::int64_t>(held.objects.size());
  file.timing.scope = "read";
  file.timing.data_source = plan.large.remote() ? "object store" : "file";
  file.block_order_seed = plan.policy.seed;
}

}  // namespace

Result<Visited> run_storage(const Caller& caller, const StoragePlan& asked) {
  Visit visit(caller, kName);
  StoragePlan plan = asked;
  const bool generated = plan.large.input.empty();
  std::optional<Held> held;
  if (!generated) {  // before anything is written
    SLUICE_TRY(held, list_inputs(plan));
  }
  const bool local = !generated && !plan.large.remote();
  SLUICE_CHECK(visit.open({.storage = local ? fs::path(plan.large.input) : caller.out}));
  std::optional<FolderGuard> data;  // goes when the run ends
  if (generated) {
    const auto bar = caller.progress->bar("make files", 0);
    data.emplace(visit.path() / "data");
    SLUICE_CHECK(make_storage_data(plan, fs::absolute(data->path()), caller.seed));
    SLUICE_TRY(held, list_inputs(plan));
  }
  SLUICE_TRY(const peers::Places places, peers::find_places());
  SLUICE_CHECK(visit.begin());
  describe(visit.file, plan, generated, *held);
  SLUICE_CHECK(visit.described());
  SLUICE_CHECK(visit.start());
  SLUICE_TRY(const bool interrupted,
             is_interrupted(visit.measure(
                 storage_rows(plan, held->large, held->objects, places.worker()), plan.policy)));
  visit.file.storage = results::StorageMetrics{analysis::storage_lines(visit.file.rows)};
  return visit.finish(interrupted);
}

}  // namespace sluice::visit
