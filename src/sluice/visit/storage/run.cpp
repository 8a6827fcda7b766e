// sluice/visit/storage/run.cpp - the life of `sluice bench storage`, top to bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/storage/run.h"

#include "sluice/analysis/storage_metrics.h"
#include "sluice/backend/visit.h"
#include "sluice/config/emit.h"
#include "sluice/config/from_json.h"
#include "sluice/core/folder_guard.h"
#include "sluice/measure/local_runner.h"
#include "sluice/peers/places.h"
#include "sluice/report/report.h"
#include "sluice/results/run_folder.h"

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

Json run_config_of(const StoragePlan& plan, bool generated, const measure::Policy& policy) {
  Json asked = measure::to_json(policy);
  asked.erase("seed");  // is block_order_seed
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
              {"policy", std::move(asked)}};
}

void put_storage_lines(results::ResultFile& file) {
  Json lines = Json::array();
  for (const analysis::StorageLine& line : analysis::storage_lines(file.rows))
    lines.push_back(analysis::to_json(line));
  file.extra = Json{{"summary", Json{{"storage", std::move(lines)}}}};
}

/// Everything about the visit that is known before the first sample.
Result<results::ResultFile> describe(const backend::VisitOptions& visit, const StoragePlan& plan,
                                     bool generated, const Held& held,
                                     const measure::Policy& policy) {
  SLUICE_TRY(results::ResultFile file, backend::begin_visit(visit));
  file.run_config = run_config_of(plan, generated, policy);
  for (const storage::Object& object : held.objects)
    file.dataset.bytes += static_cast<std::int64_t>(object.size);
  file.dataset.count = static_cast<std::int64_t>(held.objects.size());
  file.timing.scope = "read";
  file.timing.data_source = plan.large.remote() ? "object store" : "file";
  file.block_order_seed = policy.seed;
  return file;
}

}  // namespace

Result<StorageResult> run_storage(const Caller& caller, const StoragePlan& asked) {
  measure::LocalRunner here;
  StoragePlan plan = asked;
  const bool generated = plan.large.input.empty();
  std::optional<Held> held;
  if (!generated) {  // before anything is written
    SLUICE_TRY(held, list_inputs(plan));
  }

  const measure::Policy& policy = plan.policy;
  const bool local = !generated && !plan.large.remote();
  const fs::path storage = local ? fs::path(plan.large.input) : caller.out;
  const backend::VisitOptions visit{storage.empty() ? fs::path(".") : storage,
                                    env::ProfileDevice::cpu, caller.argv};
  results::RunFolder::Options where;
  where.out = caller.out;
  where.name = kName;
  SLUICE_TRY(where.profile, backend::profile_of_visit(visit));
  SLUICE_TRY(results::RunFolder folder, results::RunFolder::open(where));
  std::optional<FolderGuard> data;  // goes when the run ends
  if (generated) {
    data.emplace(folder.path() / "data");
    SLUICE_CHECK(make_storage_data(plan, fs::absolute(data->path()), caller.seed));
    SLUICE_TRY(held, list_inputs(plan));
  }

  SLUICE_TRY(const peers::Places places, peers::find_places());
  const auto rows =
      storage_rows(plan, held->large, held->objects, {places.program.string(), "worker"});
  SLUICE_TRY(results::ResultFile file, describe(visit, plan, generated, *held, policy));
  SLUICE_CHECK(folder.write_environment(file.environment));
  SLUICE_CHECK(folder.write_config(config::to_yaml(config::from_json(file.run_config))));
  const fs::path name = std::string(kName) + ".json";
  SLUICE_TRY(measure::RunnerContext runner,
             here.context(*caller.progress, file.session_id, folder.path() / "logs"));
  runner.on_block = [&](const std::vector<measure::Row>& so_far) -> Status {
    file.rows = so_far;
    return folder.write_result(name, file);
  };
  SLUICE_TRY(measure::WaveResult wave, measure::run_wave(rows, policy, runner));
  file.rows = std::move(wave.rows);
  put_storage_lines(file);
  SLUICE_CHECK(folder.write_result(name, file));
  SLUICE_CHECK(folder.write_report(report::markdown({file}), report::html({file})));
  return StorageResult{std::move(file), folder.path(), wave.interrupted};
}

}  // namespace sluice::visit
