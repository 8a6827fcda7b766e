// sluice/visit/tour/training.cpp - the tour's training step, alone and fed by the loader, and an
// accelerator that is only waited for.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/log.h"
#include "sluice/core/thread_pool.h"
#include "sluice/peers/places.h"
#include "sluice/results/resume.h"
#include "sluice/scenario/training/spec.h"
#include "sluice/visit/diagnose/run.h"
#include "sluice/visit/tour/tour.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::visit {
namespace {

constexpr int kTourRuns = 3;
constexpr int kStepBatch = 4;
constexpr int kAcceleratorBatch = 32;
constexpr double kStepWarmupMs = 1;  // a step that came before warms as well as ten
/// ResNet-50 on an H100, as MLPerf Storage emulates it: 400 images in 0.224 s.
constexpr double kAcceleratorMsPerImage = 0.56;

int tour_cores(const measure::Policy& session) {
  return static_cast<int>(session.cpus.empty() ? usable_cores() : session.cpus.size());
}

LoaderRequest tour_loader(const LaterPart& part, const measure::Policy& session, int batch) {
  LoaderRequest loader;
  loader.input = part.data_dir.string();
  loader.batch_size = static_cast<int>(
      std::min<std::int64_t>(batch, std::max<std::int64_t>(1, part.file.dataset.count)));
  loader.workers = tour_cores(session);
  return loader;
}

measure::Policy short_policy(const measure::Policy& session) {
  measure::Policy policy = session;
  policy.runs = std::min(kTourRuns, session.runs);
  policy.samples_per_run = 1;
  policy.slow_item_s = 0;
  policy.stop = measure::StopKind::count;
  return policy;
}

/// The step alone and fed by the loader; what is wrong with the images is found by the workers.
Result<std::vector<measure::SubjectSpec>> step_subjects(const LaterPart& part,
                                                        const measure::Policy& session) {
  DataloaderPlan loading;
  loading.loader = tour_loader(part, session, kStepBatch);
  const auto items = static_cast<std::uint64_t>(part.file.dataset.count);
  const InputFacts input{.items = items,
                         .epoch_items = items,
                         .bytes = static_cast<std::uint64_t>(part.file.dataset.bytes),
                         .hash = part.file.dataset.hash};
  SLUICE_TRY(const peers::Places places, peers::find_places());
  scenario::TrainingSpec spec;
  SLUICE_TRY(spec.engine.model, train::find_model(kTourModel));
  spec.engine.batch = loading.loader.batch_size;
  spec.engine.last_block = train::LastBlock::full;  // the model as it is written
  spec.loader = loader_spec_json(loading, input, spec.engine.seed);
  std::vector<measure::SubjectSpec> subjects;
  for (const bool fed : {false, true}) {
    spec.data = fed ? scenario::TrainingData::loader : scenario::TrainingData::resident;
    measure::SubjectSpec subject;
    subject.case_name = fmt::format("{}/{}", fed ? "end-to-end" : "training", kTourModel);
    subject.params = {{"batch_size", std::to_string(spec.engine.batch)}};
    subject.spec = to_json(spec);
    subject.command = places.worker();
    subject.threads = tour_cores(session);
    if (fed) subject.cpu_limit = measure::kNoCpuLimit;
    subject.unit = "samples/s";
    subjects.push_back(std::move(subject));
  }
  return subjects;
}

/// Raw times of rows that are no rows of the file: they are short, and no comparison reads them.
Json raw_rows(const std::vector<measure::Row>& rows) {
  Json list = Json::array();
  for (const measure::Row& row : rows) {
    Json runs = Json::array();
    for (const measure::Run& run : row.runs)
      runs.push_back(Json{{"samples_ns", run.samples_ns}, {"details", run.details}});
    list.push_back(Json{{"case", row.case_name},
                        {"items_per_sample", row.items_per_sample},
                        {"runs", std::move(runs)}});
  }
  return list;
}

}  // namespace

Status tour_training(const LaterPart& part, const measure::Policy& session) {
  SLUICE_TRY(const auto subjects, step_subjects(part, session));
  const auto finished = results::finished_cases(part.file);
  if (std::all_of(subjects.begin(), subjects.end(), [&](const measure::SubjectSpec& subject) {
        return finished.contains({subject.case_name, subject.library});
      }))
    return ok;
  measure::Policy policy = short_policy(session);
  policy.warmup_ms = std::min(kStepWarmupMs, session.warmup_ms);
  policy.warmup_limit_ms = policy.warmup_ms;
  SLUICE_TRY(measure::WaveResult wave, measure::run_wave(subjects, policy, part.runner));
  if (wave.interrupted) return Error{Errc::interrupted, "interrupted"};
  std::erase_if(part.file.rows, [&](const measure::Row& row) {
    return std::any_of(subjects.begin(), subjects.end(), [&](const measure::SubjectSpec& subject) {
      return row.case_name == subject.case_name;
    });
  });
  part.file.rows.insert(part.file.rows.end(), std::make_move_iterator(wave.rows.begin()),
                        std::make_move_iterator(wave.rows.end()));
  return part.write();
}

Status tour_accelerator(const LaterPart& part, const measure::Policy& session) {
  DiagnosePlan plan;
  plan.loader = tour_loader(part, session, kAcceleratorBatch);
  SLUICE_TRY(plan.engine.model, train::find_model(kTourModel));
  plan.engine.batch = plan.loader.batch_size;
  plan.model_time_ms = kAcceleratorMsPerImage * plan.loader.batch_size;
  plan.policy = short_policy(session);
  plan.policy.min_sample_ms = 2.5 * session.min_sample_ms;  // a batch takes longer than an image
  const auto found = diagnose(plan, part.runner);
  if (found && found->interrupted) return Error{Errc::interrupted, "interrupted"};
  results::Diagnosis& diagnosis = part.file.diagnosis.emplace();
  if (!found) {
    diagnosis.attribution.reason = found.error().message;
    log::warn("no diagnosis of loader and accelerator: {}", found.error().message);
    return ok;
  }
  diagnosis = found->found;
  diagnosis.step = fmt::format("an emulated accelerator that trains {:.0f} images/s",
                               1e3 / kAcceleratorMsPerImage);
  diagnosis.step_rows = raw_rows(found->rows);
  return ok;
}

}  // namespace sluice::visit
