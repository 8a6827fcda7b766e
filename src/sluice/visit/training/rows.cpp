// sluice/visit/training/rows.cpp - specs of rows out of a plan; other libraries get our weights,
// our numbers and our loss to compare with.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/training/rows.h"

#include "sluice/core/file.h"
#include "sluice/measure/axes.h"
#include "sluice/measure/policy.h"
#include "sluice/peers/launch.h"
#include "sluice/scenario/training/spec.h"
#include "sluice/train/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEngineThreads = "micro-threads";  // as many as the engine has
constexpr int kPhaseSteps = 20;

scenario::TrainingSpec spec_of(const TrainingRowMaker& maker, train::Regime regime, int batch,
                               train::Rung rung) {
  const TrainingPlan& plan = maker.plan;
  scenario::TrainingSpec spec;
  spec.engine = plan.engine_of(regime, batch, rung);
  spec.data = plan.input ? scenario::TrainingData::loader : scenario::TrainingData::resident;
  spec.warmup_steps = plan.warmup_steps;
  const int per_turn = plan.policy.samples_per_turn;
  const int turns = (plan.measure_steps + per_turn - 1) / per_turn;
  spec.phase_steps = std::max(1, std::min(plan.measure_steps, kPhaseSteps) / turns);
  spec.loader = maker.loader;
  if (spec.loader.is_object()) spec.loader["batch_size"] = batch;
  return spec;
}

measure::SubjectSpec row_of(const TrainingPlan& plan, train::Regime regime, int batch) {
  measure::SubjectSpec row;
  row.case_name = training_case(plan, regime, batch);
  row.params = {{"batch_size", std::to_string(batch)},
                {"dtype", to_string(regime)},
                {"grad_accum", std::to_string(plan.engine.grad_accum)}};
  row.threads = plan.engine.threads;
  row.thread_policy = kEngineThreads;
  if (plan.input) row.cpu_limit = measure::kNoCpuLimit;
  row.unit = "samples/s";
  return row;
}

measure::SubjectSpec our_row(const TrainingRowMaker& maker, train::Regime regime, int batch,
                             train::Rung rung) {
  measure::SubjectSpec row = row_of(maker.plan, regime, batch);
  row.case_name = training_case(maker.plan, regime, batch, rung);
  if (maker.plan.gpu_index >= 0) row.params["compile"] = to_string(rung);
  row.library = "sluice";
  row.spec = to_json(spec_of(maker, regime, batch, rung));
  row.command = maker.worker;
  return row;
}

Status write_numbers(const fs::path& path, std::span<const std::byte> bytes) {
  return write_file_atomic(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// Weights, numbers and the loss that must come of them.
Result<Json> reference_of(const train::EngineConfig& config, const fs::path& folder) {
  SLUICE_CHECK(create_folders(folder));
  SLUICE_TRY(const auto engine, train::Engine::make(config));
  const scenario::GeneratedBatch batch =
      scenario::generate_batch(config.model, config.batch, config.seed);
  SLUICE_TRY(const auto evaluated, engine->evaluate(batch.view()));
  SLUICE_CHECK(train::save_checkpoint(folder / "weights.safetensors", *engine, Json::object()));
  const bool images = !batch.images.empty();
  const fs::path numbers = folder / (images ? "images.f32" : "ids.i32");
  SLUICE_CHECK(write_numbers(numbers, images ? std::as_bytes(std::span(batch.images))
                                             : std::as_bytes(std::span(batch.ids))));
  SLUICE_CHECK(write_numbers(folder / "labels.i32", std::as_bytes(std::span(batch.labels))));
  Json json{{"weights", fs::absolute(folder / "weights.safetensors").string()},
            {"inputs", Json{{images ? "images" : "ids", fs::absolute(numbers).string()},
                            {"labels", fs::absolute(folder / "labels.i32").string()}}}};
  const bool same = config.model.drop_path == 0 && config.label_smoothing == 0;
  json["expected_loss"] = same ? Json(evaluated.loss) : Json(nullptr);
  return json;
}

}  // namespace

std::string training_case(const TrainingPlan& plan, train::Regime regime, int batch) {
  return training_case(plan, regime, batch, plan.rungs.back());
}

std::string training_case(const TrainingPlan& plan, train::Regime regime, int batch,
                          train::Rung rung) {
  measure::State state;
  if (plan.swept) state.values["batch_size"] = std::to_string(batch);
  if (plan.regimes.size() > 1) state.values["dtype"] = to_string(regime);
  if (rung != plan.rungs.back()) state.values["compile"] = to_string(rung);
  return measure::case_name("training/" + plan.engine.model.name, state);
}

Result<TrainingRows> TrainingRowMaker::rows(int batch, const fs::path& scratch) const {
  TrainingRows made;
  for (const train::Regime regime : plan.regimes) {
    Json reference;
    for (const std::string& library : plan.libraries) {
      if (library == "sluice") {
        for (const train::Rung rung : plan.rungs)
          made.rows.push_back(our_row(*this, regime, batch, rung));
        continue;
      }
      measure::SubjectSpec row = row_of(plan, regime, batch);
      row.library = library;
      row.spec = to_json(spec_of(*this, regime, batch, plan.rungs.back()));
      auto command = peers::worker_command(library, "training", kEngineThreads);
      if (!command) {
        made.refused.push_back(measure::refused_row(row, command.error()));
        continue;
      }
      row.command = std::move(command->command);
      row.environment = std::move(command->environment);
      if (plan.has_ours() && reference.is_null()) {
        auto written = reference_of(plan.engine_of(regime, batch), scratch / to_string(regime));
        if (!written) {
          made.refused.push_back(measure::refused_row(row, written.error()));
          continue;
        }
        reference = std::move(*written);
      }
      if (!reference.is_null()) row.spec.update(reference);
      made.rows.push_back(std::move(row));
    }
  }
  return made;
}

}  // namespace sluice::visit
