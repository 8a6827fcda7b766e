// sluice/scenario/training/run.cpp - one step, one epoch, all of them; what is kept for a resume.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/training/run.h"

#include "sluice/core/clock.h"
#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/train/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::scenario {
namespace {

constexpr const char* kLast = "last.safetensors";
constexpr const char* kBest = "best.safetensors";

/// Predictions of the micro-step that has just run. Its logits are gone: the loss leaves the
/// gradient in their place, (softmax − target) · factor, which gives the softmax back.
Status judge(EpochSums& sums, const train::Engine& engine, std::span<const std::int32_t> labels) {
  SLUICE_TRY(const std::vector<float> gradient, engine.read("d_logits"));
  const train::EngineConfig& config = engine.config();
  const auto classes = static_cast<std::size_t>(config.model.classes);
  const int ranks = Ranks(config.world).size();
  const double rows = static_cast<double>(labels.size()) * config.grad_accum * ranks;
  const double apart = 1.0 - static_cast<double>(config.label_smoothing);  // of the two targets
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto row = std::span(gradient).subspan(i * classes, classes);
    const auto label = static_cast<std::size_t>(labels[i]);
    double highest = -1e300;
    for (std::size_t c = 0; c < classes; ++c)
      if (c != label) highest = std::max(highest, static_cast<double>(row[c]) * rows);
    if (static_cast<double>(row[label]) * rows + apart > highest) ++sums.correct;
    ++sums.judged;
  }
  return ok;
}

}  // namespace

std::uint64_t steps_per_epoch(const TrainingSchedule& plan, const TrainingFeed& feed,
                              int grad_accum) {
  std::uint64_t batches = feed.steps();
  if (plan.most_batches > 0) batches = std::min(batches, plan.most_batches);
  return batches / static_cast<std::uint64_t>(grad_accum);
}

void set_schedule(train::OptimizerConfig& update, const TrainingSchedule& plan,
                  std::uint64_t steps_per_epoch) {
  update.total_steps = plan.epochs * steps_per_epoch;
  const double warmup = std::round(plan.warmup_epochs * static_cast<double>(steps_per_epoch));
  update.warmup_steps = std::min(static_cast<std::uint64_t>(warmup), update.total_steps);
}

TrainingRun::TrainingRun(train::Engine& engine, TrainingFeed& feed, TrainingFeed* validation,
                         const TrainingSchedule& plan, TrainingObserver& observer)
    : engine_(engine),
      feed_(feed),
      validation_(validation),
      plan_(plan),
      observer_(observer),
      mixer_(plan.mix, engine.config().model, engine.config().seed),
      ranks_(engine.config().world),
      steps_(steps_per_epoch(plan, feed, engine.config().grad_accum)) {
  state_.loader = feed.state();
  state_.settings = training_settings(engine.config(), plan, feed);
}

Json training_settings(const train::EngineConfig& config, const TrainingSchedule& plan,
                       const TrainingFeed& feed) {
  Json json{
      {"--seed", config.seed},
      {"--epochs", plan.epochs},
      {"--warmup-epochs", plan.warmup_epochs},
      {kSamplesOfStep, std::int64_t{config.batch} * config.grad_accum * Ranks(config.world).size()},
      {kStepsOfEpoch, steps_per_epoch(plan, feed, config.grad_accum)},
      {"--optimizer", to_string(config.update.kind)},
      {"--lr", config.update.learning_rate},
      {"--weight-decay", config.update.weight_decay},
      {"--clip", config.update.max_gradient_norm},
      {"--ema", config.average},
      {"--ema-decay", config.update.average_decay},
      {"--label-smoothing", config.label_smoothing},
      {"--drop-path", config.model.drop_path},
      {"--mixup", plan.mix.mixup},
      {"--cutmix", plan.mix.cutmix},
      {"--dtype", train::to_string(config.regime)}};
  if (config.model.family == train::Family::gpt) json["--seq-len"] = config.model.sequence;
  const Json recipe = feed.describe();  // said where it is not the usual one
  if (const Json& name = at(recipe, "name"); name == "three-augment") json["--recipe"] = name;
  if (const Json& erasing = at(recipe, "erasing"); erasing.is_number())
    json["--random-erasing"] = erasing;
  json["number of training samples"] = feed.size();
  return json;
}

Status TrainingRun::save(const char* name) {
  state_.loader = feed_.state();
  TrainingState of_all = state_;
  SLUICE_TRY(of_all.sums, ranks_.total(state_.sums));
  if (!ranks_.leads()) return ok;
  return train::save_checkpoint(plan_.checkpoint_dir / name, engine_, to_json(of_all));
}

/// What was saved last: gigabytes of one file need not be written twice.
Status TrainingRun::keep_as_best() {
  const std::filesystem::path& folder = plan_.checkpoint_dir;
  if (!ranks_.leads() || link_file_atomic(folder / kLast, folder / kBest)) return ok;
  return train::save_checkpoint(folder / kBest, engine_, to_json(state_));
}

Error TrainingRun::of_checkpoint(const Error& error) const {
  const std::filesystem::path file = plan_.checkpoint_dir / kLast;
  return Error{error.code, fmt::format("{}: {}", printable(file.string()), error.message)};
}

Status TrainingRun::resume() {
  const std::filesystem::path file = plan_.checkpoint_dir / kLast;
  std::error_code problem;
  if (!std::filesystem::exists(file, problem))
    return Error{Errc::not_found, fmt::format("--resume: there is no {}; a run with this "
                                              "--checkpoint-dir and without --resume writes it",
                                              printable(file.string()))};
  SLUICE_TRY(const train::LoadedCheckpoint loaded, train::load_checkpoint(file, engine_));
  if (!loaded.has_optimizer)
    return of_checkpoint({Errc::invalid_input,
                          "holds weights alone; a training goes on from one with the "
                          "state of its optimizer"});
  auto state = training_state_from_json(loaded.extra);
  if (!state) return of_checkpoint(state.error());
  if (const Status same = same_settings(state->settings, state_.settings); !same)
    return of_checkpoint(same.error());
  if (state->sums.steps > 0 && state->sums.steps < steps_) {
    if (const Status restored = feed_.restore(state->loader); !restored)
      return of_checkpoint(restored.error());
    feed_started_ = true;
  }
  SLUICE_TRY(const int other,
             ranks_.first_other(dump_json(loaded.extra) + std::to_string(loaded.step)));
  if (other != 0)
    return Error{Errc::invalid_input, fmt::format("rank {} of {}: its {} is not that of rank 0",
                                                  other, ranks_.size(), printable(file.string()))};
  engine_.set_steps(loaded.step);
  state_ = std::move(*state);
  if (!ranks_.leads()) state_.sums.samples = state_.sums.judged = state_.sums.correct = 0;
  return ok;
}

Status TrainingRun::run_step() {
  const int micros = engine_.config().grad_accum;
  // A row of a vocabulary for every token is too much to look at; text is judged by its validation.
  const bool images = engine_.config().model.family == train::Family::vit5;
  const std::int64_t start_ns = SystemClock().now_ns();
  StepRecord record;
  in_step_ = true;
  record.step = engine_.steps();
  record.epoch = state_.epoch;
  for (int micro = 0; micro < micros; ++micro) {
    SLUICE_TRY(auto batch, feed_.next());
    if (!batch)
      return Error{Errc::internal,
                   fmt::format("the epoch ended at step {} of {}", state_.sums.steps, steps_)};
    record.wait_ns += batch->wait_ns;
    SLUICE_TRY(const train::BatchView view,
               mixer_.mix(batch->view, record.step, micro * ranks_.size() + ranks_.rank()));
    half_step_ = true;
    SLUICE_CHECK(engine_.micro_step(view));
    SLUICE_CHECK(feed_.ahead());
    if (!mixer_.on() && engine_.config().device == "cpu" && images)
      SLUICE_CHECK(judge(state_.sums, engine_, batch->view.labels));
    state_.sums.samples += batch->samples;
  }
  SLUICE_TRY(const train::StepResult result, engine_.update());
  half_step_ = in_step_ = false;
  record.busy_ns = SystemClock().now_ns() - start_ns;
  record.loss = static_cast<double>(result.loss);
  record.learning_rate = result.learning_rate;
  record.gradient_norm = result.gradient_norm;
  ++state_.sums.steps;
  state_.sums.loss_sum += record.loss;
  state_.sums.busy_ns += record.busy_ns;
  state_.sums.wait_ns += record.wait_ns;
  return observer_.on_step(record);
}

Status TrainingRun::run_epoch() {
  if (!feed_started_ && state_.sums.steps < steps_) SLUICE_CHECK(feed_.start_epoch(state_.epoch));
  feed_started_ = true;
  while (state_.sums.steps < steps_) {
    SLUICE_TRY(const bool stop, ranks_.any(observer_.interrupted()));
    if (stop) return Error{Errc::interrupted, "interrupted"};
    SLUICE_CHECK(run_step());
    const bool due = plan_.checkpoint_every > 0 && engine_.steps() % plan_.checkpoint_every == 0;
    if (due && state_.sums.steps < steps_) SLUICE_CHECK(save(kLast));
  }
  return finish_epoch();
}

Status TrainingRun::finish_epoch() {
  EpochRecord record;
  record.epoch = state_.epoch;
  SLUICE_TRY(record.sums, ranks_.total(state_.sums));
  record.steps_so_far = engine_.steps();
  const bool last = state_.epoch + 1 == plan_.epochs;
  const bool due = last || (state_.epoch + 1) % plan_.val_every == 0;
  const Stop stop = [this] { return observer_.interrupted(); };
  bool best = false;
  SLUICE_CHECK(feed_.end_epoch());
  if (validation_ != nullptr && due) {
    SLUICE_TRY(record.validation, evaluate(engine_, *validation_, false, stop));
    if (engine_.config().average) {
      SLUICE_TRY(record.average_validation, evaluate(engine_, *validation_, true, stop));
    }
    const double accuracy =
        (record.average_validation ? record.average_validation : record.validation)->top1();
    best = accuracy > state_.best_accuracy;
    if (best) state_.best_accuracy = accuracy;
  }
  const Json epoch = to_json(record);
  state_.history.push_back(epoch);
  ++state_.epoch;
  state_.sums = {};
  feed_started_ = false;
  SLUICE_CHECK(save(kLast));
  if (best) SLUICE_CHECK(keep_as_best());
  return observer_.on_epoch(epoch);
}

Result<TrainingOutcome> TrainingRun::run() {
  bool interrupted = false;
  while (state_.epoch < plan_.epochs && !interrupted) {
    const Status done = run_epoch();
    // Between steps ranks stop together; one that was stopped inside of a step leaves the others.
    interrupted =
        !done && done.error().code == Errc::interrupted && !(in_step_ && ranks_.size() > 1);
    if (!done && !interrupted) return done.error();
  }
  // A read that was cancelled inside a step leaves gradients that no checkpoint holds.
  if (interrupted && !half_step_) SLUICE_CHECK(save(kLast));
  TrainingOutcome found = outcome();
  found.interrupted = interrupted;
  return found;
}

TrainingOutcome TrainingRun::outcome() const {
  return {.epochs = state_.history, .steps = engine_.steps(), .interrupted = false};
}

}  // namespace sluice::scenario
