// sluice/visit/diagnose/run.cpp - the rows of a diagnosis, measured and summed up.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/diagnose/run.h"

#include "sluice/analysis/step_rows.h"
#include "sluice/backend/visit.h"
#include "sluice/config/emit.h"
#include "sluice/config/from_json.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/thread_pool.h"
#include "sluice/image/photo_dataset.h"
#include "sluice/measure/local_runner.h"
#include "sluice/measure/policy.h"
#include "sluice/peers/places.h"
#include "sluice/report/report.h"
#include "sluice/results/run_folder.h"
#include "sluice/scenario/training/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDiagnoseResult = "diagnose.json";

bool emulated(const DiagnosePlan& plan) {
  return plan.model_time_ms > 0;
}

std::string step_text(const DiagnosePlan& plan) {
  if (emulated(plan))
    return fmt::format("an emulated accelerator that takes {:g} ms", plan.model_time_ms);
  return fmt::format("{}, {} on {}", plan.engine.model.name, to_string(plan.engine.regime),
                     plan.engine.device);
}

int threads_of(const DiagnosePlan& plan) {
  return plan.engine.threads > 0 ? plan.engine.threads : static_cast<int>(usable_cores());
}

Json spec_of(const DiagnosePlan& plan, const InputFacts& input) {
  DataloaderPlan loading;
  loading.loader = plan.loader;
  loading.skip_errors = plan.skip_errors;
  scenario::TrainingSpec spec;
  spec.engine = plan.engine;
  spec.data = scenario::TrainingData::loader;
  spec.loader = loader_spec_json(loading, input, plan.engine.seed);
  Json json = to_json(spec);
  json["model_time_ms"] = plan.model_time_ms;
  return json;
}

Result<std::vector<measure::SubjectSpec>> subjects_of(const DiagnosePlan& plan) {
  SLUICE_TRY(const InputFacts input, inspect_input(plan.loader));
  if (input.arrays)
    return Error{Errc::usage, fmt::format("--input {}: holds arrays, but the models take images",
                                          plan.loader.input)};
  SLUICE_TRY(const peers::Places places, peers::find_places());
  const Json spec = spec_of(plan, input);
  std::vector<measure::SubjectSpec> subjects;
  for (const char* part : {"loader", "model", "transfer", "together"}) {
    if (emulated(plan) && std::string_view(part) == "transfer") continue;
    measure::SubjectSpec subject;
    subject.case_name = fmt::format("diagnose/{}", part);
    subject.spec = spec;
    subject.params = {{"batch_size", std::to_string(plan.loader.batch_size)}};
    subject.command = {places.program.string(), "worker"};
    subject.threads = threads_of(plan);
    subject.thread_policy = measure::kLoaderThreads;
    subject.cpu_limit = measure::kNoCpuLimit;
    subject.unit = "samples/s";
    subjects.push_back(std::move(subject));
  }
  return subjects;
}

analysis::LoaderSetting setting_of(const LoaderRequest& loader) {
  analysis::LoaderSetting setting;
  setting.workers = loader.workers;
  setting.cores = usable_cores();
  setting.remote = loader.remote;
  setting.cached = !loader.cache_dir.empty();
  setting.persistent = loader.persistent_workers;
  return setting;
}

Json run_config_of(const DiagnosePlan& plan, bool generated) {
  Json policy = measure::to_json(plan.policy);
  policy.erase("seed");
  Json config{{"command", "diagnose"},
              {"input", generated            ? "generated"
                        : plan.loader.remote ? plan.loader.input
                                             : "local"},
              {"batch_size", plan.loader.batch_size},
              {"num_workers", plan.loader.workers},
              {"prefetch", plan.loader.prefetch},
              {"threads", threads_of(plan)},
              {"policy", std::move(policy)}};
  if (emulated(plan))
    config["model_time_ms"] = plan.model_time_ms;
  else
    config["model"] = train::to_json(plan.engine.model);
  config["dtype"] = to_string(plan.engine.regime);
  config["device"] = plan.engine.device;
  return config;
}

Result<results::ResultFile> describe(const DiagnosePlan& plan, const backend::VisitOptions& visit,
                                     bool generated) {
  SLUICE_TRY(results::ResultFile file, backend::begin_visit(visit));
  SLUICE_TRY(const InputFacts input, inspect_input(plan.loader));
  file.run_config = run_config_of(plan, generated);
  file.dataset = {input.hash, static_cast<std::int64_t>(input.items),
                  static_cast<std::int64_t>(input.bytes)};
  file.timing = {.scope = "per case: loader, step, transfer, together",
                 .data_source = plan.loader.remote ? "bucket" : "file",
                 .includes_decode = true,
                 .includes_collate = true};
  file.block_order_seed = plan.policy.seed;
  return file;
}

}  // namespace

Result<Diagnosis> diagnose(const DiagnosePlan& plan, const measure::RunnerContext& runner) {
  SLUICE_TRY(const auto subjects, subjects_of(plan));
  SLUICE_TRY(measure::WaveResult wave, measure::run_wave(subjects, plan.policy, runner));
  Diagnosis result;
  result.rows = std::move(wave.rows);
  result.interrupted = wave.interrupted;
  if (wave.interrupted) return result;
  SLUICE_TRY(result.summary, analysis::diagnosis_json(result.rows, plan.loader.batch_size,
                                                      setting_of(plan.loader)));
  result.summary["step"] = step_text(plan);
  return result;
}

Result<DiagnoseResult> run_diagnose(const Caller& caller, const DiagnosePlan& asked) {
  DiagnosePlan plan = asked;
  const bool generated = plan.loader.input.empty();
  if (!generated) {  // before anything is written
    SLUICE_TRY([[maybe_unused]] const InputFacts input, inspect_input(plan.loader));
  }
  if (!emulated(plan)) {  // a model that does not fit, a device that is not there
    SLUICE_TRY([[maybe_unused]] const auto planned, train::plan_engine(plan.engine));
  }
  const fs::path storage = generated ? caller.out : fs::path(plan.loader.input);
  const backend::VisitOptions visit{plan.loader.remote || storage.empty() ? fs::path(".") : storage,
                                    env::ProfileDevice::cpu, caller.argv};
  results::RunFolder::Options where;
  where.out = caller.out;
  where.name = "diagnose";
  SLUICE_TRY(where.profile, backend::profile_of_visit(visit));
  SLUICE_TRY(const results::RunFolder folder, results::RunFolder::open(where));
  std::optional<FolderGuard> photos;  // goes when the run ends
  if (generated) {
    photos.emplace(folder.path() / "data");
    plan.loader.input = photos->path().string();
    image::PhotoDatasetOptions options;
    options.folder = photos->path();
    options.count = std::max(plan.images, plan.loader.batch_size);
    options.seed = caller.seed;
    SLUICE_TRY([[maybe_unused]] const auto made,
               image::make_photo_dataset(options, *caller.progress));
  }
  SLUICE_TRY(results::ResultFile file, describe(plan, visit, generated));
  SLUICE_CHECK(folder.write_environment(file.environment));
  SLUICE_CHECK(folder.write_config(config::to_yaml(config::from_json(file.run_config))));

  measure::LocalRunner local;
  SLUICE_TRY(measure::RunnerContext runner,
             local.context(*caller.progress, file.session_id, folder.path() / "logs"));
  runner.on_block = [&](const std::vector<measure::Row>& rows) -> Status {
    file.rows = rows;
    return folder.write_result(kDiagnoseResult, file);
  };
  SLUICE_TRY(Diagnosis found, diagnose(plan, runner));
  file.rows = std::move(found.rows);
  if (!found.interrupted)
    file.extra = Json{{"verdict", Json{{"bottleneck", found.summary["attribution"]["verdict"]},
                                       {"statement", found.summary["attribution"]["statement"]}}},
                      {"summary", std::move(found.summary)}};
  SLUICE_CHECK(folder.write_result(kDiagnoseResult, file));
  const std::vector<results::ResultFile> files{file};
  SLUICE_CHECK(folder.write_report(report::markdown(files), report::html(files)));
  return DiagnoseResult{std::move(file), folder.path(), found.interrupted};
}

}  // namespace sluice::visit
