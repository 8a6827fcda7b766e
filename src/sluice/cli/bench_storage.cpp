// sluice/cli/bench_storage.cpp - `sluice bench storage`: how fast bytes come, in sequence, at
// random and by object, cold and warm.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/visit.h"
#include "sluice/cli/commands.h"
#include "sluice/cli/sampling_flags.h"
#include "sluice/cli/storage_rows.h"
#include "sluice/cli/storage_table.h"
#include "sluice/config/emit.h"
#include "sluice/config/from_json.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/text.h"
#include "sluice/measure/local_runner.h"
#include "sluice/peers/places.h"
#include "sluice/report/report.h"
#include "sluice/results/run_folder.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <random>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "bench-storage";

measure::Policy policy_of(const StorageFlags& flags, const Globals& globals) {
  measure::Policy policy;
  policy.runs = flags.runs;
  policy.samples_per_run = flags.samples;
  policy.min_sample_ms = 0;  // one pass: a second one would find in memory what the first one read
  policy.warmup_ms = 10;
  policy.warmup_limit_ms = 10;
  policy.slow_item_s = 0;
  policy.step_timeout_s = flags.timeout_s;
  policy.seed = globals.seed_given ? globals.seed : std::random_device{}();
  return policy;
}

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
  for (const gate::StorageLine& line : gate::storage_lines(file.rows))
    lines.push_back(gate::to_json(line));
  file.extra = Json{{"summary", Json{{"storage", std::move(lines)}}}};
}

struct Outcome {
  results::ResultFile file;
  fs::path folder;
  bool interrupted = false;
};

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

Result<Outcome> measure_storage(Context& context, const StorageFlags& flags) {
  measure::LocalRunner here;
  SLUICE_TRY(StoragePlan plan, storage_plan(flags));
  const bool generated = flags.input.empty();
  std::optional<Held> held;
  if (!generated) {  // before anything is written
    SLUICE_TRY(held, list_inputs(plan));
  }

  const measure::Policy policy = policy_of(flags, context.globals);
  const bool local = !generated && !plan.large.remote();
  const fs::path storage = local ? fs::path(flags.input) : context.globals.out;
  const backend::VisitOptions visit{storage.empty() ? fs::path(".") : storage,
                                    env::ProfileDevice::cpu, context.argv};
  results::RunFolder::Options where;
  where.out = context.globals.out;
  where.name = kName;
  SLUICE_TRY(where.profile, backend::profile_of_visit(visit));
  SLUICE_TRY(results::RunFolder folder, results::RunFolder::open(where));
  std::optional<FolderGuard> data;  // goes when the run ends
  if (generated) {
    data.emplace(folder.path() / "data");
    SLUICE_CHECK(make_storage_data(plan, fs::absolute(data->path()), context.globals.seed));
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
             here.context(*context.progress, file.session_id, folder.path() / "logs"));
  runner.on_block = [&](const std::vector<measure::Row>& so_far) -> Status {
    file.rows = so_far;
    return folder.write_result(name, file);
  };
  SLUICE_TRY(measure::WaveResult wave, measure::run_wave(rows, policy, runner));
  file.rows = std::move(wave.rows);
  put_storage_lines(file);
  SLUICE_CHECK(folder.write_result(name, file));
  SLUICE_CHECK(folder.write_report(report::markdown({file}), report::html({file})));
  return Outcome{std::move(file), folder.path(), wave.interrupted};
}

Result<ExitCode> show(const Context& context, const Outcome& outcome) {
  if (context.globals.json) {
    fmt::print("{}", results::to_text(results::to_json(outcome.file)));
  } else {
    fmt::print("{}report: {}\n", storage_table(gate::storage_lines(outcome.file.rows)),
               (outcome.folder / "report.html").string());
  }
  if (outcome.interrupted) {
    return Error{Errc::interrupted, fmt::format("interrupted; what was measured is in {}",
                                                printable(outcome.folder.string()))};
  }
  return exit_code_of(outcome.file);
}

void add_flags(CLI::App& command, StorageFlags& flags) {
  command
      .add_option(
          "--input", flags.input,
          "folder, file, s3://bucket/prefix or gs://bucket/prefix; generated when not given")
      ->type_name("DIR|URI");
  command.add_option("--endpoint", flags.endpoint, "server of the bucket")->type_name("URL");
  command.add_option("--region", flags.region, "region of the bucket");
  command.add_flag("--anonymous", flags.anonymous, "do not sign requests");
  command.add_option(
      "--modes", flags.modes,
      "ways to read files (default buffered,mmap,direct; whole objects by the first)");
  command.add_option("--sizes", flags.sizes,
                     "classes of objects by size (default 16k,128k,1m,8m): upper ends of those of "
                     "the input, or sizes to generate");
  command.add_option("--concurrency", flags.concurrency, "reads at once (default 1,4)");
  command.add_option("--bytes", flags.bytes,
                     "most bytes of a pass, and size of the generated file (default 128m; 32m for "
                     "a bucket)");
  command
      .add_option("--operations", flags.operations,
                  "most reads of a pass (default 512; 64 for a bucket)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  command.add_flag("--warm", flags.warm, "random reads and whole objects also from memory");
  add_runs_flag(command, flags.runs);
  add_samples_flag(command, flags.samples, "timed passes per run");
  add_timeout_flag(command, flags.timeout_s);
}

}  // namespace

void add_bench_storage(CLI::App& bench, Context& context) {
  auto flags = std::make_shared<StorageFlags>();
  CLI::App* command =
      add_command(bench, context, "storage",
                  "Reads in sequence, at random and by object: rates and latencies, cold and warm",
                  [flags, &context]() -> Result<ExitCode> {
                    SLUICE_TRY(const Outcome outcome, measure_storage(context, *flags));
                    return show(context, outcome);
                  });
  add_flags(*command, *flags);
  add_examples(*command, {"sluice bench storage", "sluice bench storage --input photos --warm",
                          "sluice bench storage --input s3://bucket/photos --concurrency 1,8,32"});
}

}  // namespace sluice::cli
