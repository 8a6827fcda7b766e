// sluice/visit/diagnose/run.cpp - the rows of a diagnosis, measured and summed up.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/diagnose/run.h"

#include "sluice/analysis/peer_ratio.h"
#include "sluice/analysis/step_rows.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/log.h"
#include "sluice/core/thread_pool.h"
#include "sluice/image/inputs/photo_dataset.h"
#include "sluice/peers/places.h"
#include "sluice/scenario/loader/outbox.h"
#include "sluice/scenario/training/spec.h"
#include "sluice/visit/diagnose/peer.h"
#include "sluice/visit/diagnose/take_advice.h"
#include "sluice/visit/loader/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;

bool emulated(const DiagnosePlan& plan) {
  return plan.model_time_ms > 0;
}

std::string step_text(const DiagnosePlan& plan) {
  if (emulated(plan))
    return fmt::format("an emulated accelerator that takes {:g} ms", plan.model_time_ms);
  return fmt::format("{}, {} on {}", plan.engine.model.name, to_string(plan.engine.regime),
                     plan.engine.device);
}

/// Of the pixels that the step gets.
train::PixelType pixels_of(const DiagnosePlan& plan) {
  if (emulated(plan)) return plan.handed;
  return plan.engine.device == "cpu" ? train::PixelType::f32 : plan.loader.upload;
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
  if (emulated(plan)) spec.loader["upload"] = scenario::to_string(plan.handed);
  Json json = to_json(spec);
  json["model_time_ms"] = plan.model_time_ms;
  return json;
}

Result<measure::SubjectSpec> subject_of(const DiagnosePlan& plan, const InputFacts& input,
                                        const char* part) {
  if (input.arrays)
    return Error{Errc::usage, fmt::format("--input {}: holds arrays, but the models take images",
                                          plan.loader.input)};
  SLUICE_TRY(const peers::Places places, peers::find_places());
  measure::SubjectSpec subject;
  subject.case_name = fmt::format("diagnose/{}", part);
  subject.spec = spec_of(plan, input);
  subject.params = {{"batch_size", std::to_string(plan.loader.batch_size)}};
  subject.command = places.worker();
  subject.threads = threads_of(plan);
  subject.thread_policy = measure::kLoaderThreads;
  subject.cpu_limit = measure::kNoCpuLimit;
  subject.unit = "samples/s";
  return subject;
}

Result<std::vector<measure::SubjectSpec>> subjects_of(const DiagnosePlan& plan,
                                                      const InputFacts& input) {
  std::vector<measure::SubjectSpec> subjects;
  for (const char* part : {"loader", "model", "transfer", "together"}) {
    if (emulated(plan) && std::string_view(part) == "transfer") continue;
    SLUICE_TRY(subjects.emplace_back(), subject_of(plan, input, part));
  }
  return subjects;
}

/// The first advice beside what is there, in pairs.
Result<results::AdviceOutcome> try_advice(Visit& visit, const DiagnosePlan& plan,
                                          const results::Advice& advice, Progress& progress) {
  const FolderGuard scratch(visit.path() / "advised");
  const auto stop = [&] { return visit.interrupted(); };
  SLUICE_TRY(const DiagnosePlan changed, with_advice(plan, advice, scratch.path(), stop, progress));
  SLUICE_TRY(const InputFacts input, inspect_input(plan.loader));
  SLUICE_TRY(const InputFacts advised, inspect_input(changed.loader));
  std::vector<measure::SubjectSpec> subjects(2);
  SLUICE_TRY(subjects[0], subject_of(plan, input, "before"));
  SLUICE_TRY(subjects[1], subject_of(changed, advised, "advised"));
  measure::Policy policy = plan.policy;
  if (plan.pairs > 0) policy.runs = plan.pairs;
  SLUICE_CHECK(visit.measure(subjects, policy));
  const std::vector<measure::Row>& rows = visit.file.rows;
  const auto ratio = analysis::row_ratio(rows.back(), rows[rows.size() - 2], true);
  if (!ratio)
    return Error{Errc::measurement,
                 fmt::format("the advice could not be tried: {}", rows.back().reason)};
  return results::AdviceOutcome{advice.what, advice.gain, *ratio,
                                static_cast<int>(rows.back().runs.size())};
}

analysis::LoaderSetting setting_of(const DiagnosePlan& plan, std::uint64_t items) {
  const LoaderRequest& loader = plan.loader;
  analysis::LoaderSetting setting;
  setting.items = items;
  setting.batch = loader.batch_size;
  setting.prefetch = loader.prefetch;
  setting.direct = loader.read_mode == "direct";
  setting.scaled = loader.decode_scaled;
  setting.step_on_cores = !emulated(plan) && plan.engine.device == "cpu";
  setting.hands_floats = !setting.step_on_cores && pixels_of(plan) != train::PixelType::u8;
  setting.workers = loader.workers;
  setting.cores = usable_cores();
  setting.remote = loader.remote;
  setting.cached = !loader.cache_dir.empty();
  setting.persistent = loader.persistent_workers;
  setting.sending = {loader.pin_memory, scenario::to_string(loader.upload)};
  return setting;
}

/// Nothing where the step is the limit: no advice would be given.
Result<analysis::ProbedData> probed_of(const DiagnosePlan& plan,
                                       const std::vector<measure::Row>& rows) {
  SLUICE_TRY(const analysis::StepTimes times, analysis::step_times(rows, plan.loader.batch_size));
  if (analysis::attribute(times).verdict == analysis::Bottleneck::compute)
    return analysis::ProbedData{};
  return probe_images(plan.loader, plan.engine.model.image, pixels_of(plan));
}

Json run_config_of(const DiagnosePlan& plan, bool generated) {
  Json config{{"command", "diagnose"},
              {"input", generated            ? "generated"
                        : plan.loader.remote ? plan.loader.input
                                             : "local"},
              {"batch_size", plan.loader.batch_size},
              {"num_workers", plan.loader.workers},
              {"prefetch", plan.loader.prefetch},
              {"threads", threads_of(plan)},
              {"policy", policy_json(plan.policy)}};
  if (emulated(plan))
    config["model_time_ms"] = plan.model_time_ms;
  else
    config.update(Json{{"model", train::to_json(plan.engine.model)},
                       {"last_block", to_string(plan.engine.last_block.value_or(
                                          shortest_last_block(plan.engine.model)))}});
  config["dtype"] = to_string(plan.engine.regime);
  config["device"] = plan.engine.device;
  if (plan.engine.device != "cpu") config["pin_memory"] = plan.loader.pin_memory;
  if (emulated(plan) || plan.engine.device != "cpu")
    config["upload"] = scenario::to_string(pixels_of(plan));
  return config;
}

Status describe(results::ResultFile& file, const DiagnosePlan& plan, bool generated) {
  SLUICE_TRY(const InputFacts input, inspect_input(plan.loader));
  file.run_config = run_config_of(plan, generated);
  file.dataset = dataset_of(input);
  file.timing = {.scope = "per case: loader, step, transfer, together",
                 .data_source = plan.loader.remote ? "bucket" : "file",
                 .includes_decode = true,
                 .includes_collate = true};
  file.block_order_seed = plan.policy.seed;
  return ok;
}

}  // namespace

Result<Diagnosis> diagnose(const DiagnosePlan& plan, const measure::RunnerContext& runner) {
  SLUICE_TRY(const InputFacts input, inspect_input(plan.loader));
  SLUICE_TRY(const auto subjects, subjects_of(plan, input));
  SLUICE_TRY(measure::WaveResult wave, measure::run_wave(subjects, plan.policy, runner));
  Diagnosis result;
  result.rows = std::move(wave.rows);
  result.interrupted = wave.interrupted;
  if (wave.interrupted) return result;
  SLUICE_TRY(const analysis::ProbedData probed, probed_of(plan, result.rows));
  SLUICE_TRY(result.found, analysis::diagnosis_of(result.rows, plan.loader.batch_size,
                                                  setting_of(plan, input.epoch_items), probed));
  result.found.step = step_text(plan);
  return result;
}

Result<Visited> run_diagnose(const Caller& caller, const DiagnosePlan& asked) {
  if (asked.library != "sluice") return run_peer_diagnose(caller, asked);
  DiagnosePlan plan = asked;
  const bool generated = plan.loader.input.empty();
  if (!generated) SLUICE_CHECK(inspect_input(plan.loader));  // before anything is written
  if (!emulated(plan))  // a model that does not fit, a device that is not there
    SLUICE_CHECK(train::plan_engine(plan.engine));
  Visit visit(caller, "diagnose");
  SLUICE_CHECK(visit.open({.storage = generated ? caller.out : storage_of(plan.loader)}));
  std::optional<FolderGuard> photos;  // goes when the run ends
  if (generated) {
    photos.emplace(visit.path() / "data");
    plan.loader.input = photos->path().string();
    SLUICE_CHECK(image::make_photo_dataset({.folder = photos->path(),
                                            .count = std::max(plan.images, plan.loader.batch_size),
                                            .seed = caller.seed},
                                           *caller.progress));
  }
  SLUICE_CHECK(visit.begin());
  SLUICE_CHECK(describe(visit.file, plan, generated));
  SLUICE_CHECK(visit.described());
  SLUICE_CHECK(visit.start());
  measure::RunnerContext runner = visit.runner;
  bool said = plan.policy.runs < 2 || !plan.so_far;
  runner.on_block = [&](const std::vector<measure::Row>& rows) {
    if (const auto times = analysis::step_times(rows, plan.loader.batch_size); times && !said) {
      said = true;
      plan.so_far(fmt::format("after 1 of {} runs: {}", plan.policy.runs,
                              analysis::attribute(*times).statement));
    }
    return visit.keep(rows);
  };
  SLUICE_TRY(Diagnosis found, diagnose(plan, runner));
  visit.add(found.rows);
  if (found.interrupted) return visit.finish(true);
  visit.file.diagnosis = std::move(found.found);
  visit.file.diagnosis->is_the_verdict = true;
  bool interrupted = false;
  if (plan.verify && !visit.file.diagnosis->advice.empty()) {
    auto outcome = try_advice(visit, plan, visit.file.diagnosis->advice.front(), *caller.progress);
    if (outcome)
      visit.file.diagnosis->outcome = *outcome;
    else if (outcome.error().code == Errc::interrupted)
      interrupted = true;
    else  // the diagnosis stands without it
      log::warn("{}", outcome.error().message);
  }
  return visit.finish(interrupted);
}

}  // namespace sluice::visit
