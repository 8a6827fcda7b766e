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
#include <map>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEngineThreads = "micro-threads";  // as many as the engine has
constexpr int kPhaseSteps = 20;

/// What every row of the plan does beyond the usual: not to be compared with rows that do not.
std::map<std::string, std::string> work_of(const TrainingPlan& plan) {
  std::map<std::string, std::string> work;
  const auto add = [&](const char* name, double value) {
    if (value > 0) work[name] = fmt::format("{:g}", value);
  };
  add("mixup", plan.mix.mixup);
  add("cutmix", plan.mix.cutmix);
  if (plan.input) add("random_erasing", plan.input->random_erasing);
  return work;
}

/// One row in its settings.
struct RowSettings {
  train::Regime regime = train::Regime::fp32;
  int batch = 1;
  train::LastBlock last_block = train::LastBlock::full;
  const TrainingSource* source = nullptr;
  int world = 1;            // ranks
  bool sync_alone = false;  // one rank, as if it were of several
};

scenario::TrainingSpec spec_of(const TrainingRowMaker& maker, const RowSettings& of,
                               train::Rung rung) {
  const TrainingPlan& plan = maker.plan;
  scenario::TrainingSpec spec;
  spec.engine = plan.engine_of(of.regime, of.batch, rung, of.last_block);
  spec.data = plan.input ? scenario::TrainingData::loader : scenario::TrainingData::resident;
  spec.mix = plan.mix;
  spec.warmup_steps = plan.warmup_steps;
  const int per_turn = plan.policy.samples_per_turn;
  const int turns = (plan.measure_steps + per_turn - 1) / per_turn;
  spec.phase_steps = std::max(1, std::min(plan.measure_steps, kPhaseSteps) / turns);
  spec.world_size = of.world;
  spec.sync_alone = of.sync_alone;
  spec.rank_timeout_s = plan.rank_timeout_s;
  spec.loader = of.source->loader;
  if (spec.loader.is_object()) spec.loader["batch_size"] = of.batch;
  return spec;
}

measure::SubjectSpec row_of(const TrainingPlan& plan, const RowSettings& of, train::Rung rung) {
  measure::SubjectSpec row;
  const std::string& storage = of.source->storage;
  row.case_name = training_case(plan, of.regime, of.batch, rung, of.last_block, storage, of.world,
                                of.sync_alone);
  row.params = {{"batch_size", std::to_string(of.batch)},
                {"dtype", to_string(of.regime)},
                {"grad_accum", std::to_string(plan.engine.grad_accum)}};
  if (of.last_block != train::LastBlock::full) row.params["last_block"] = to_string(of.last_block);
  if (!storage.empty()) row.params["storage"] = storage;
  if (of.world > 1) row.params["world_size"] = std::to_string(of.world);
  if (of.sync_alone) row.params["grad_sync"] = "nccl";
  for (const auto& [name, value] : work_of(plan))
    row.params[name] = value;
  row.threads = plan.engine.threads;
  row.thread_policy = kEngineThreads;
  if (plan.input) row.cpu_limit = measure::kNoCpuLimit;
  row.unit = "samples/s";
  return row;
}

measure::SubjectSpec our_row(const TrainingRowMaker& maker, const RowSettings& of,
                             train::Rung rung) {
  measure::SubjectSpec row = row_of(maker.plan, of, rung);
  if (maker.plan.gpu_index >= 0) row.params["compile"] = to_string(rung);
  row.library = "sluice";
  row.spec = to_json(spec_of(maker, of, rung));
  row.command = maker.worker;
  return row;
}

Status write_numbers(const fs::path& path, std::span<const std::byte> bytes) {
  return write_file_atomic(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// Weights, numbers and the loss that must come of them: of images as they are.
Result<Json> reference_of(train::EngineConfig config, const fs::path& folder) {
  config.soft_targets = false;
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

/// A row of another library, to be measured or refused. `reference`: weights and numbers of this
/// regime, written when the first library wants them.
void add_peer(TrainingRows& made, measure::SubjectSpec row, const TrainingPlan& plan,
              train::Regime regime, int batch, Json& reference, const fs::path& scratch) {
  auto command = peers::worker_command(row.library, "training", kEngineThreads);
  if (!command) {
    made.refused.push_back(measure::refused_row(row, command.error()));
    return;
  }
  row.command = std::move(command->command);
  row.environment = std::move(command->environment);
  if (plan.has_ours() && reference.is_null()) {
    auto written = reference_of(plan.engine_of(regime, batch), scratch / to_string(regime));
    if (!written) {
      made.refused.push_back(measure::refused_row(row, written.error()));
      return;
    }
    reference = std::move(*written);
  }
  if (!reference.is_null()) row.spec.update(reference);
  made.rows.push_back(std::move(row));
}

/// A row of every library, of ours one at every rung.
void add_libraries(const TrainingRowMaker& maker, TrainingRows& made, const RowSettings& of,
                   Json& reference, const fs::path& scratch) {
  const TrainingPlan& plan = maker.plan;
  for (const std::string& library : plan.libraries) {
    if (library == "sluice") {
      for (const train::Rung rung : plan.rungs)
        made.rows.push_back(our_row(maker, of, rung));
      continue;
    }
    measure::SubjectSpec row = row_of(plan, of, plan.rungs.back());
    row.library = library;
    row.spec = to_json(spec_of(maker, of, plan.rungs.back()));
    add_peer(made, std::move(row), plan, of.regime, of.batch, reference, scratch);
  }
}

}  // namespace

std::string training_case(const TrainingPlan& plan, train::Regime regime, int batch) {
  return training_case(plan, regime, batch, plan.rungs.back());
}

std::string training_case(const TrainingPlan& plan, train::Regime regime, int batch,
                          train::Rung rung) {
  return training_case(plan, regime, batch, rung, plan.last_blocks.front());
}

std::string training_case(const TrainingPlan& plan, train::Regime regime, int batch,
                          train::Rung rung, train::LastBlock last_block, const std::string& storage,
                          int world, bool sync_alone) {
  measure::State state;
  if (sync_alone) state.values["grad_sync"] = "nccl";
  if (world > 1) state.values["world_size"] = std::to_string(world);
  if (!storage.empty()) state.values["storage"] = storage;
  for (const auto& [name, value] : work_of(plan))
    state.values[name] = value;
  if (last_block != train::LastBlock::full) state.values["last_block"] = to_string(last_block);
  if (plan.swept) state.values["batch_size"] = std::to_string(batch);
  if (plan.regimes.size() > 1) state.values["dtype"] = to_string(regime);
  if (rung != plan.rungs.back()) state.values["compile"] = to_string(rung);
  return measure::case_name("training/" + plan.engine.model.name, state);
}

Result<TrainingRows> TrainingRowMaker::rows(int batch, const fs::path& scratch) const {
  TrainingRows made;
  for (const train::Regime regime : plan.regimes) {
    Json reference;  // of all last blocks: they give the same loss
    for (const train::LastBlock last_block : plan.last_blocks)
      for (const TrainingSource& source : sources)
        for (const int world : plan.worlds())
          add_libraries(*this, made, {regime, batch, last_block, &source, world}, reference,
                        scratch);
    if (plan.sync_alone)
      made.rows.push_back(
          our_row(*this, {regime, batch, plan.last_blocks.front(), &sources.front(), 1, true},
                  plan.rungs.back()));
  }
  return made;
}

}  // namespace sluice::visit
