// tests/scenario/training_text_test.cpp - a GPT fed with token files: ids and targets, resume bit
// for bit, and a loss below that of frequencies alone.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/tokens/text_maker.h"
#include "sluice/scenario/loader/split_dataset.h"
#include "sluice/scenario/training/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include <limits>

namespace sluice::scenario::training_text_test {
namespace {

using ::testing::HasSubstr;

train::EngineConfig small_gpt() {
  train::EngineConfig config;
  config.model.name = "toy";
  config.model.family = train::Family::gpt;
  config.model.dim = 32;
  config.model.layers = 1;
  config.model.heads = 2;
  config.model.vocabulary = 64;
  config.model.sequence = 16;
  config.batch = 8;
  config.threads = 1;
  config.update.kind = train::OptimizerKind::adamw;
  config.update.learning_rate = 1e-2;
  config.seed = 11;
  return config;
}

class TrainingTextTest : public ::testing::Test {
 protected:
  /// Its entropy by frequencies alone.
  double make_text(std::uint64_t tokens) const {
    loader::TextOptions options;
    options.folder = folder_ / "text";
    options.tokens = tokens;
    options.vocabulary = 64;
    options.shards = 3;
    return loader::make_text(options).value().unigram_nats;
  }
  [[nodiscard]] FeedOptions options_of(FeedUse use, int workers = 2) const {
    FeedOptions options;
    options.loader.input = (folder_ / "text").string();
    options.loader.batch_size = 8;
    options.loader.workers = workers;
    options.loader.seed = 5;
    options.use = use;
    options.set_model(small_gpt().model);
    return options;
  }

  testing_support::TemporaryFolder folder_;
};

struct Tokens {
  std::vector<std::int32_t> ids, labels;
  std::uint32_t samples = 0;
  friend bool operator==(const Tokens&, const Tokens&) = default;
};
std::vector<Tokens> rest_of(TrainingFeed& feed) {
  std::vector<Tokens> all;
  while (true) {
    auto batch = feed.next();
    EXPECT_TRUE(batch) << batch.error().message;
    if (!batch || !*batch) return all;
    const train::BatchView& view = (*batch)->view;
    EXPECT_TRUE(view.images.empty());
    all.push_back({{view.ids.begin(), view.ids.end()},
                   {view.labels.begin(), view.labels.end()},
                   (*batch)->samples});
  }
}

TEST_F(TrainingTextTest, LabelsAreTheNextIdsAndAShortBatchIsFilledUp) {
  make_text(16 * 19 + 1);
  const auto feed = TrainingFeed::open(options_of(FeedUse::validation)).value();
  ASSERT_EQ(feed->size(), 19U);
  ASSERT_TRUE(feed->start_epoch(0));
  const std::vector<Tokens> all = rest_of(*feed);
  ASSERT_EQ(all.size(), 3U);
  std::int32_t before = -1;  // the last target is the next first id, in order
  for (const Tokens& batch : all) {
    ASSERT_EQ(batch.ids.size(), 8U * 16);
    ASSERT_EQ(batch.labels.size(), 8U * 16);
    for (std::size_t i = 0; i < batch.samples * std::size_t{16}; ++i) {
      if (before >= 0) {
        ASSERT_EQ(batch.ids[i], before);
      }
      before = batch.labels[i];
    }
  }
  EXPECT_EQ(all[2].samples, 3U);
  for (std::size_t i = 3 * 16; i < 8 * 16; ++i) {
    ASSERT_EQ(all[2].ids[i], 0);
    ASSERT_EQ(all[2].labels[i], -1);
  }
}

TEST_F(TrainingTextTest, GoesOnWhereItWasWithAnyNumberOfWorkers) {
  make_text(16 * 48 + 1);
  const auto whole = TrainingFeed::open(options_of(FeedUse::train)).value();
  EXPECT_EQ(whole->steps(), 6U);
  ASSERT_TRUE(whole->start_epoch(2));
  for (std::size_t k = 0; k < 6; ++k) {
    ASSERT_TRUE(whole->next());
    const loader::LoaderState state = whole->state();
    const auto resumed =
        TrainingFeed::open(options_of(FeedUse::train, static_cast<int>(k % 3))).value();
    ASSERT_TRUE(resumed->restore(state));
    const auto beside = TrainingFeed::open(options_of(FeedUse::train)).value();
    ASSERT_TRUE(beside->start_epoch(2));
    for (std::size_t i = 0; i <= k; ++i)
      ASSERT_TRUE(beside->next());
    EXPECT_EQ(rest_of(*resumed), rest_of(*beside)) << k;
  }
}

TEST_F(TrainingTextTest, OpeningLooksAtEveryIdUnlessBadOnesAreSkipped) {
  make_text(500);
  FeedOptions options = options_of(FeedUse::train);
  options.loader.vocabulary = 10;
  const auto refused = open_loader_input(options.loader);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("the model has 10 ids, 0 to 9 are accepted"));
  options.loader.skip_errors = true;
  EXPECT_TRUE(open_loader_input(options.loader));
}

/// Says stop when so many steps are done.
class Watcher final : public TrainingObserver {
 public:
  Status on_step(const StepRecord& step) override {
    steps.push_back(step);
    return ok;
  }
  Status on_epoch(const Json& /*epoch*/) override { return ok; }
  bool interrupted() override { return steps.size() >= stop_after; }

  std::vector<StepRecord> steps;
  std::size_t stop_after = std::numeric_limits<std::size_t>::max();
};

struct Trainer {
  Trainer(const FeedOptions& options, const TrainingSchedule& plan) {
    train::EngineConfig config = small_gpt();
    const auto whole = open_loader_input(options.loader).value().dataset;
    DatasetSplit split = split_dataset(whole, 0.1);
    feed = TrainingFeed::make(split.train, options).value();
    FeedOptions held = options;
    held.use = FeedUse::validation;
    validation = TrainingFeed::make(split.validation, held).value();
    set_schedule(config.update, plan, steps_per_epoch(plan, *feed, 1));
    engine = train::Engine::make(config).value();
    run.emplace(*engine, *feed, validation.get(), plan, watcher);
  }
  [[nodiscard]] std::vector<std::vector<float>> weights() const {
    std::vector<std::vector<float>> values;
    for (const train::Parameter& parameter : engine->program().parameters)
      values.push_back(engine->read(engine->program().plan.at(parameter.value).name).value());
    return values;
  }

  std::unique_ptr<train::Engine> engine;
  std::unique_ptr<TrainingFeed> feed, validation;
  Watcher watcher;
  std::optional<TrainingRun> run;
};

TEST_F(TrainingTextTest, LearnsFromOrderAndResumesExactly) {
  const auto probe = train::Engine::make(small_gpt());
  if (!probe && probe.error().code == Errc::unsupported) GTEST_SKIP() << probe.error().message;
  const double frequencies = make_text(20'000);
  const FeedOptions options = options_of(FeedUse::train);
  const auto plan_of = [&](const char* name) {
    TrainingSchedule plan;
    plan.epochs = 2;
    plan.val_every = 2;
    plan.checkpoint_dir = folder_ / name;
    std::filesystem::create_directories(plan.checkpoint_dir);
    return plan;
  };
  Trainer whole(options, plan_of("whole"));
  const auto wanted = whole.run->run();
  ASSERT_TRUE(wanted) << wanted.error().message;
  const Json& last = wanted->epochs.back();
  EXPECT_LT(last.at("val_loss").get<double>(), frequencies - 0.3);
  EXPECT_GT(last.at("val_accuracy").get<double>(), 0.2);
  EXPECT_TRUE(last.at("accuracy").is_null()) << "of training batches it is not looked at";
  Trainer first(options, plan_of("parts"));
  first.watcher.stop_after = 153;  // inside the second epoch
  ASSERT_TRUE(first.run->run());
  Trainer second(options, plan_of("parts"));
  const Status resumed = second.run->resume();
  ASSERT_TRUE(resumed) << resumed.error().message;
  const auto outcome = second.run->run();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(second.watcher.steps.front().step, 153U);
  EXPECT_EQ(outcome->epochs.back().at("val_loss"), last.at("val_loss"));
  EXPECT_EQ(second.weights(), whole.weights());
}

}  // namespace
}  // namespace sluice::scenario::training_text_test
