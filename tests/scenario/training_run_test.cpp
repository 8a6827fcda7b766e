// tests/scenario/training_run_test.cpp - the loop of `sluice train`: resume bit for bit,
// validation, what stops it; and a model that learns.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/rng.h"
#include "sluice/scenario/loader/split_dataset.h"
#include "sluice/scenario/training/run.h"
#include "sluice/train/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenario/toy_dataset.h"
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <unistd.h>

namespace sluice::scenario::training_run_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

train::EngineConfig small_engine() {
  train::EngineConfig config;
  config.model.name = "toy";
  config.model.dim = 32;
  config.model.layers = 2;
  config.model.heads = 2;
  config.model.image = 32;
  config.model.patch = 8;
  config.model.classes = 3;
  config.model.drop_path = 0.1F;
  config.batch = 4;
  config.threads = 1;  // a team whose threads are not all running waits for each other
  config.average = true;
  config.update.kind = train::OptimizerKind::adamw;
  config.update.learning_rate = 2e-3;
  config.update.average_decay = 0.9;
  config.seed = 11;
  return config;
}

/// Says stop when so many steps are done, or when so many questions were asked.
class Watcher final : public TrainingObserver {
 public:
  Status on_step(const StepRecord& step) override {
    steps.push_back(step);
    return ok;
  }
  Status on_epoch(const Json& epoch) override {
    epochs.push_back(epoch);
    return ok;
  }
  bool interrupted() override {
    ++asked;
    return steps.size() >= stop_after_steps || asked > stop_after_asked;
  }

  std::vector<StepRecord> steps;
  std::vector<Json> epochs;
  std::size_t stop_after_steps = std::numeric_limits<std::size_t>::max();
  std::size_t asked = 0, stop_after_asked = std::numeric_limits<std::size_t>::max();
};

/// An engine, its data and its run, all new.
struct Trainer {
  Trainer(train::EngineConfig config, const TrainingSchedule& plan, std::uint64_t samples = 26) {
    FeedOptions options;
    options.loader.batch_size = static_cast<std::uint32_t>(config.batch);
    options.loader.workers = 2;
    options.loader.seed = config.seed;
    options.image = config.model.image;
    options.classes = config.model.classes;
    feed = TrainingFeed::make(std::make_shared<testing::ToyDataset>(samples, config.model.classes),
                              options)
               .value();
    options.use = FeedUse::validation;
    validation = TrainingFeed::make(
                     std::make_shared<testing::ToyDataset>(10, config.model.classes, 99), options)
                     .value();
    set_schedule(config.update, plan, steps_per_epoch(plan, *feed, config.grad_accum));
    auto made = train::Engine::make(config);
    EXPECT_TRUE(made) << made.error().message;
    engine = std::move(*made);
    run.emplace(*engine, *feed, validation.get(), plan, watcher);
  }

  std::unique_ptr<TrainingFeed> feed, validation;
  std::unique_ptr<train::Engine> engine;
  Watcher watcher;
  std::optional<TrainingRun> run;
};

class TrainingRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto engine = train::Engine::make(small_engine());
    if (!engine && engine.error().code == Errc::unsupported) GTEST_SKIP() << engine.error().message;
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) /
              ("sluice-training-" + std::to_string(getpid()) + "-" + test->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] TrainingSchedule plan_of(std::uint64_t epochs, const char* name) const {
    TrainingSchedule plan;
    plan.epochs = epochs;
    plan.val_every = 1;
    plan.checkpoint_dir = folder_ / name;
    fs::create_directories(plan.checkpoint_dir);
    return plan;
  }

  fs::path folder_;
};

/// Every number that training changes.
std::vector<std::vector<float>> all_of(const train::Engine& engine) {
  std::vector<std::vector<float>> values;
  const train::Program& program = engine.program();
  for (const train::Parameter& parameter : program.parameters)
    for (const train::TensorId id :
         {parameter.value, parameter.first_moment, parameter.second_moment, parameter.average})
      values.push_back(engine.read(program.plan.at(id).name).value());
  return values;
}

/// Without what the clock says.
Json learned(const Json& epochs) {
  Json kept = epochs;
  for (Json& epoch : kept)
    for (const char* key : {"samples_per_s", "wait_fraction", "seconds"})
      epoch.erase(key);
  return kept;
}

void interrupt_and_resume(const TrainingSchedule& plan, const train::EngineConfig& config,
                          const std::function<void(Watcher&)>& stop, Trainer& whole,
                          const TrainingOutcome& wanted) {
  {
    Trainer first(config, plan);
    stop(first.watcher);
    const auto outcome = first.run->run();
    ASSERT_TRUE(outcome) << outcome.error().message;
    ASSERT_TRUE(outcome->interrupted);
  }
  Trainer second(config, plan);
  const Status resumed = second.run->resume();
  ASSERT_TRUE(resumed) << resumed.error().message;
  const auto outcome = second.run->run();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_FALSE(outcome->interrupted);
  EXPECT_EQ(outcome->steps, wanted.steps);
  EXPECT_EQ(learned(outcome->epochs), learned(wanted.epochs));
  EXPECT_EQ(all_of(*second.engine), all_of(*whole.engine));
}

TEST_F(TrainingRunTest, ResumedRunsEndWithTheWeightsOfTheUninterruptedOne) {
  const train::EngineConfig config = small_engine();
  Trainer whole(config, plan_of(3, "whole"));
  const auto wanted = whole.run->run();
  ASSERT_TRUE(wanted) << wanted.error().message;
  EXPECT_EQ(wanted->steps, 18U);  // 26 samples, batches of 4
  const auto after_steps = [](std::size_t steps) {
    return [steps](Watcher& watcher) { watcher.stop_after_steps = steps; };
  };
  interrupt_and_resume(plan_of(3, "none"), config, after_steps(0), whole, *wanted);
  interrupt_and_resume(plan_of(3, "middle"), config, after_steps(8), whole, *wanted);
  interrupt_and_resume(plan_of(3, "border"), config, after_steps(12), whole, *wanted);
  // Six questions before steps, then one before each batch of the validation.
  interrupt_and_resume(
      plan_of(3, "validation"), config, [](Watcher& watcher) { watcher.stop_after_asked = 7; },
      whole, *wanted);
}

TEST_F(TrainingRunTest, ResumesExactlyWithMixingAndAccumulation) {
  train::EngineConfig config = small_engine();
  config.batch = 2;
  config.grad_accum = 2;
  config.soft_targets = true;
  config.label_smoothing = 0.1F;
  const auto mixing = [&](const char* name) {
    TrainingSchedule plan = plan_of(2, name);
    plan.mix = {0.8, 1.0};
    return plan;
  };
  Trainer whole(config, mixing("whole"));
  const auto wanted = whole.run->run();
  ASSERT_TRUE(wanted) << wanted.error().message;
  EXPECT_TRUE(wanted->epochs.at(0).at("accuracy").is_null());
  EXPECT_FALSE(wanted->epochs.at(0).at("val_accuracy").is_null());
  interrupt_and_resume(
      mixing("middle"), config, [](Watcher& watcher) { watcher.stop_after_steps = 4; }, whole,
      *wanted);
  Trainer plain(config, plan_of(2, "plain"));  // soft targets asked for, none made
  EXPECT_FALSE(plain.run->run());
}

TEST_F(TrainingRunTest, AccumulatesAndLeavesOutWhatMakesNoWholeStep) {
  train::EngineConfig config = small_engine();
  config.threads = 2;
  config.batch = 2;
  config.grad_accum = 2;
  Trainer whole(config, plan_of(1, "whole"), 15);  // 7 batches: 3 steps and one left over
  const auto wanted = whole.run->run();
  ASSERT_TRUE(wanted) << wanted.error().message;
  EXPECT_EQ(wanted->steps, 3U);
  EXPECT_EQ(wanted->epochs.at(0).at("samples"), 12);
}

TEST_F(TrainingRunTest, ValidatesWhenItIsDueAndAtTheEnd) {
  TrainingSchedule plan = plan_of(5, "c");
  plan.val_every = 2;
  Trainer setup(small_engine(), plan, 4);
  const auto outcome = setup.run->run();
  ASSERT_TRUE(outcome) << outcome.error().message;
  std::string validated;
  for (const Json& epoch : outcome->epochs) {
    EXPECT_EQ(epoch.at("val_loss").is_null(), epoch.at("ema_val_accuracy").is_null());
    if (!epoch.at("val_loss").is_null()) validated += epoch.at("epoch").dump();
  }
  EXPECT_EQ(validated, "245");
  EXPECT_EQ(setup.watcher.epochs.size(), 5U);
  EXPECT_TRUE(fs::exists(plan.checkpoint_dir / "best.safetensors"));
}

TEST_F(TrainingRunTest, SavesEverySoManySteps) {
  TrainingSchedule plan = plan_of(1, "c");
  plan.checkpoint_every = 4;
  Trainer setup(small_engine(), plan);
  // The run fails in the middle: what was saved before is what --resume finds.
  struct Failing final : TrainingObserver {
    Status on_step(const StepRecord& step) override {
      if (step.step == 4) return Error{Errc::io, "full"};
      return ok;
    }
    Status on_epoch(const Json&) override { return ok; }
    bool interrupted() override { return false; }
  } failing;
  TrainingRun run(*setup.engine, *setup.feed, setup.validation.get(), plan, failing);
  const auto outcome = run.run();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message, "full");
  Trainer again(small_engine(), plan);
  ASSERT_TRUE(again.run->resume());
  EXPECT_EQ(again.engine->steps(), 4U);
}

TEST_F(TrainingRunTest, TrainAccuracyIsThatOfTheLogitsBeforeTheStep) {
  for (const float smoothing : {0.0F, 0.2F}) {
    train::EngineConfig config = small_engine();
    config.model.drop_path = 0;
    config.label_smoothing = smoothing;
    Trainer twin(config, plan_of(1, "twin"), 4);
    ASSERT_TRUE(twin.feed->start_epoch(0));
    const auto batch = twin.feed->next();
    ASSERT_TRUE(batch);
    ASSERT_TRUE(*batch);
    const auto logits = twin.engine->evaluate((*batch)->view);
    ASSERT_TRUE(logits);
    Accuracy wanted;
    add_logits(wanted, logits->logits, (*batch)->view.labels);
    Trainer setup(config, plan_of(1, "c"), 4);
    const auto outcome = setup.run->run();
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_DOUBLE_EQ(outcome->epochs.at(0).at("accuracy").get<double>(), wanted.top1());
    if (smoothing == 0) {
      EXPECT_NEAR(outcome->epochs.at(0).at("loss").get<double>(), wanted.loss(), 1e-5);
    }
  }
}

TEST_F(TrainingRunTest, ALossThatIsNotFiniteNamesItsStepAndKeepsTheCheckpoint) {
  const TrainingSchedule plan = plan_of(2, "c");
  {
    Trainer first(small_engine(), plan);
    first.watcher.stop_after_steps = 3;
    ASSERT_TRUE(first.run->run());
  }
  const auto before = read_text_file(plan.checkpoint_dir / "last.safetensors");
  ASSERT_TRUE(before);
  Trainer setup(small_engine(), plan);
  ASSERT_TRUE(setup.run->resume());
  std::vector<float> head = setup.engine->read("head.weight").value();
  head[0] = std::nanf("");
  ASSERT_TRUE(setup.engine->write("head.weight", head));
  const auto outcome = setup.run->run();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::measurement);
  EXPECT_THAT(outcome.error().message, HasSubstr("step 3"));
  EXPECT_EQ(read_text_file(plan.checkpoint_dir / "last.safetensors").value(), *before);
}

TEST_F(TrainingRunTest, RefusesToResumeWhatIsNotThisTraining) {
  const TrainingSchedule plan = plan_of(2, "c");
  const auto refused = [&](const train::EngineConfig& config, const TrainingSchedule& asked) {
    Trainer setup(config, asked);
    const Status status = setup.run->resume();
    EXPECT_FALSE(status);
    return status ? std::string() : status.error().message;
  };
  EXPECT_THAT(refused(small_engine(), plan), HasSubstr("there is no"));
  {
    Trainer first(small_engine(), plan);
    first.watcher.stop_after_steps = 2;
    ASSERT_TRUE(first.run->run());
  }
  TrainingSchedule longer = plan;
  longer.epochs = 4;
  EXPECT_THAT(refused(small_engine(), longer), HasSubstr("--epochs is 2 there and 4 here"));
  train::EngineConfig other = small_engine();
  other.update.weight_decay = 0.5;
  EXPECT_THAT(refused(other, plan), HasSubstr("--weight-decay"));
  other = small_engine();
  other.model.layers = 3;
  EXPECT_FALSE(refused(other, plan).empty());
  const fs::path file = plan.checkpoint_dir / "last.safetensors";
  const std::string text = read_text_file(file).value();
  ASSERT_TRUE(write_file_atomic(file, std::string_view(text).substr(0, text.size() / 2)));
  EXPECT_THAT(refused(small_engine(), plan), HasSubstr("last.safetensors"));
  Trainer plain(small_engine(), plan);
  ASSERT_TRUE(train::save_checkpoint(file, *plain.engine, Json::object()));
  EXPECT_THAT(refused(small_engine(), plan), HasSubstr("was not written by sluice train"));
}

/// The toy set of CI: 95 % of the training data in well under two minutes.
TEST_F(TrainingRunTest, ATinyModelLearnsAToySet) {
  train::EngineConfig config = small_engine();
  config.model.dim = 64;
  config.model.layers = 3;
  config.model.classes = 4;
  config.model.drop_path = 0;
  config.batch = 16;
  config.average = false;
  TrainingSchedule plan = plan_of(6, "c");
  plan.val_every = 6;
  plan.warmup_epochs = 0.5;
  Trainer setup(config, plan, 128);
  const auto outcome = setup.run->run();
  ASSERT_TRUE(outcome) << outcome.error().message;
  const Json& last = outcome->epochs.back();
  EXPECT_GE(last.at("accuracy").get<double>(), 0.95) << last.dump();
  EXPECT_GE(last.at("val_accuracy").get<double>(), 0.9) << last.dump();
  EXPECT_LT(last.at("loss").get<double>(), outcome->epochs.front().at("loss").get<double>());
}

TEST(SplitDataset, HoldsBackTheShareOfEveryClass) {
  for (const int classes : {2, 4, 5}) {
    const auto whole = std::make_shared<testing::ToyDataset>(200, classes);
    const DatasetSplit split = split_dataset(whole, 0.25);
    ASSERT_NE(split.validation, nullptr);
    EXPECT_EQ(split.train->size() + split.validation->size(), 200U);
    std::vector<int> held(static_cast<std::size_t>(classes));
    std::set<std::string> names;
    for (std::uint64_t i = 0; i < split.validation->size(); ++i) {
      ++held[static_cast<std::size_t>(split.validation->label(i))];
      names.insert(split.validation->name(i));
    }
    for (const int count : held)
      EXPECT_NEAR(count, 50.0 / classes, 1.0);
    for (std::uint64_t i = 0; i < split.train->size(); ++i)
      EXPECT_TRUE(names.insert(split.train->name(i)).second) << "in both";
    EXPECT_EQ(names.size(), 200U);
  }
  EXPECT_EQ(split_dataset(std::make_shared<testing::ToyDataset>(2, 2), 0.01).validation, nullptr);
}

TEST(Accuracy, LeavesOutWhatFillsUpABatch) {
  Accuracy sum;
  const std::vector<float> logits{0, 2, 1, 3, 0, 0, 9, 9, 9};
  const std::vector<std::int32_t> labels{1, 2, -1};
  add_logits(sum, logits, labels);
  EXPECT_EQ(sum.samples, 2U);
  EXPECT_EQ(sum.correct, 1U);
  const double first = std::log(std::exp(-2) + 1 + std::exp(-1));
  const double second = std::log(1 + 2 * std::exp(-3)) + 3;
  EXPECT_NEAR(sum.loss_sum, first + second, 1e-9);
}

TEST(Accuracy, ManyRowsGiveTheSumOfTheirOwn) {
  constexpr std::size_t kClasses = 5000, kRows = 1000;  // enough for several threads
  Rng rng({.seed = 5});
  std::vector<float> logits(kClasses * kRows);
  std::vector<std::int32_t> labels(kRows);
  for (float& logit : logits)
    logit = static_cast<float>(rng.uniform());
  for (std::size_t i = 0; i < kRows; ++i) {
    labels[i] = i % 7 == 0 ? -1 : static_cast<std::int32_t>(rng.below(kClasses));
    if (labels[i] >= 0 && i % 3 == 0)
      logits[i * kClasses + static_cast<std::size_t>(labels[i])] = 2;  // the highest
  }
  Accuracy all, one_by_one;
  add_logits(all, logits, labels);
  for (std::size_t i = 0; i < kRows; ++i)
    add_logits(one_by_one, std::span(logits).subspan(i * kClasses, kClasses),
               std::span(labels).subspan(i, 1));
  EXPECT_EQ(all.samples, one_by_one.samples);
  EXPECT_EQ(all.correct, one_by_one.correct);
  EXPECT_GT(all.correct, kRows / 4);
  EXPECT_EQ(all.loss_sum, one_by_one.loss_sum);
}

}  // namespace
}  // namespace sluice::scenario::training_run_test
