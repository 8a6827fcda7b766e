// sluice/scenario/training/steps.cpp - batches in, steps out.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/training/steps.h"

#include <utility>

namespace sluice::scenario {
namespace {

int rank_of(const train::Engine& engine) {
  const train::Communicator* world = engine.config().world;
  return world != nullptr ? world->rank() : 0;
}
int ranks_of(const train::Engine& engine) {
  const train::Communicator* world = engine.config().world;
  return world != nullptr ? world->size() : 1;
}

}  // namespace

TrainingSteps::TrainingSteps(const TrainingSpec& spec, std::unique_ptr<train::Engine> engine,
                             std::unique_ptr<TrainingFeed> feed)
    : data_(spec.data),
      grad_accum_(spec.engine.grad_accum),
      rank_(rank_of(*engine)),
      ranks_(ranks_of(*engine)),
      engine_(std::move(engine)),
      feed_(std::move(feed)),
      mixer_(spec.mix, spec.engine.model, spec.engine.seed),
      batch_(generate_batch(spec.engine.model, spec.engine.batch, spec.engine.seed, rank_)) {}

Result<train::StepResult> TrainingSteps::take() {
  std::int64_t data_ns = 0;
  for (int i = 0; i < grad_accum_; ++i)
    SLUICE_CHECK(data_ == TrainingData::resident ? resident_step(i) : micro_step(i, data_ns));
  SLUICE_TRY(train::StepResult result, engine_->update());
  engine_->synchronize();
  ++taken_;
  result.phases[static_cast<std::size_t>(train::Phase::data)] = data_ns;
  return result;
}

Status TrainingSteps::micro_step(int micro, std::int64_t& data_ns) {
  const std::int64_t start_ns = clock_.now_ns();
  train::BatchView view = batch_.view();
  if (feed_) {
    SLUICE_TRY(const FeedBatch batch, feed_->next_of_any_epoch());
    view = batch.view;
  }
  data_ns += clock_.now_ns() - start_ns;
  SLUICE_TRY(const train::BatchView ready, mixed(view, micro));
  SLUICE_CHECK(engine_->micro_step(ready));
  return feed_ ? feed_->ahead() : ok;
}

/// Without a copy but for the first. Images that are mixed are so again, as they are by then: they
/// mean nothing, and the work is the same.
Status TrainingSteps::resident_step(int micro) {
  train::BatchView view = batch_.view();
  view.resident = std::exchange(resident_, true);
  if (view.resident && !mixer_.on()) return engine_->micro_step_again();
  SLUICE_TRY(const train::BatchView ready, mixed(view, micro));
  return engine_->micro_step(ready);
}

Result<train::BatchView> TrainingSteps::mixed(const train::BatchView& view, int micro) {
  return mixer_.mix(view, static_cast<std::uint64_t>(taken_), micro * ranks_ + rank_);
}

Result<std::unique_ptr<TrainingFeed>> open_feed(const TrainingSpec& spec,
                                                const measure::SubjectContext& context,
                                                const train::Engine& engine) {
  if (spec.data != TrainingData::loader) return std::unique_ptr<TrainingFeed>();
  SLUICE_TRY(FeedOptions options, feed_options(spec, context));
  options.loader.rank = static_cast<std::uint32_t>(rank_of(engine));
  options.loader.ranks = static_cast<std::uint32_t>(ranks_of(engine));
  SLUICE_TRY(auto feed, TrainingFeed::open(options));
  SLUICE_CHECK(feed->connect(engine));
  return feed;
}

}  // namespace sluice::scenario
