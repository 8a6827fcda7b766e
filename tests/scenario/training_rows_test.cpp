// tests/scenario/training_rows_test.cpp - a training row as the supervisor sees it: spec, check,
// steps, phases; on models that take milliseconds.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/scenario.h"
#include "sluice/scenario/training/spec.h"

#include <gmock/gmock.h>

#include <map>

namespace sluice::scenario::training_rows_test {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

train::ModelSpec tiny_vit() {
  train::ModelSpec model;
  model.name = "toy";
  model.dim = 32;
  model.layers = 2;
  model.heads = 2;
  model.image = 32;
  model.patch = 16;
  model.classes = 10;
  return model;
}

train::ModelSpec tiny_gpt() {
  train::ModelSpec model;
  model.name = "toy-gpt";
  model.family = train::Family::gpt;
  model.dim = 32;
  model.layers = 1;
  model.heads = 2;
  model.vocabulary = 50;
  model.sequence = 8;
  return model;
}

TrainingSpec spec_of(const train::ModelSpec& model) {
  TrainingSpec spec;
  spec.engine.model = model;
  spec.engine.batch = 4;
  spec.engine.grad_accum = 2;
  spec.warmup_steps = 2;
  spec.phase_steps = 3;
  return spec;
}

measure::SubjectContext context_of(const Json& spec) {
  measure::SubjectContext context;
  context.threads = 1;
  context.case_name = "training/toy";
  context.spec = spec;
  return context;
}

/// As the worker does: check, preflight, a turn of `steps`.
Json turn(measure::Subject& subject, int steps) {
  subject.begin_sample();
  for (int i = 0; i < steps; ++i)
    subject.run_pass();
  return subject.measured_info();
}

TEST(TrainingSpecTest, GoesThroughJson) {
  TrainingSpec spec = spec_of(tiny_vit());
  spec.engine.regime = train::Regime::mixed;
  spec.engine.update.kind = train::OptimizerKind::adamw;
  spec.engine.update.learning_rate = 0.25;
  spec.engine.checkpointing = true;
  spec.engine.seed = 7;
  spec.data = TrainingData::generated;
  spec.mix = {0.8, 1};
  const auto read = read_training_spec(context_of(to_json(spec)));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(*read), to_json(spec));
  EXPECT_EQ(read->engine.model, spec.engine.model);
  EXPECT_EQ(read->engine.threads, 1) << "as `configure` said";
  EXPECT_TRUE(read->engine.soft_targets) << "mixed images have targets of two classes";
}

TEST(TrainingSpecTest, RefusesWhatItCannotMean) {
  struct Case {
    const char* words;
    void (*spoil)(Json&);
  };
  const std::vector<Case> cases{
      {"model", [](Json& json) { json.erase("model"); }},
      {"family", [](Json& json) { json["model"]["family"] = "cnn"; }},
      {"batch", [](Json& json) { json["batch"] = 0; }},
      {"batch", [](Json& json) { json["batch"] = 2.5; }},
      {"grad_accum", [](Json& json) { json["grad_accum"] = "2"; }},
      {"fp64", [](Json& json) { json["dtype"] = "fp64"; }},
      {"sgd", [](Json& json) { json["optimizer"] = "sgd"; }},
      {"warmup_steps", [](Json& json) { json["warmup_steps"] = -1; }},
      {"data", [](Json& json) { json["data"] = "cloud"; }},
      {"loader", [](Json& json) { json["data"] = "loader"; }},
      {"--batch-size 3", [](Json& json) { json["batch"] = 3, json["mixup"] = 0.8; }},
      {"cutmix", [](Json& json) { json["cutmix"] = "much"; }},
      {"heads", [](Json& json) { json["model"]["heads"] = 5; }},
      {"last_block", [](Json& json) { json["last_block"] = "half"; }},
      {"full is accepted", [](Json& json) { json["model"]["readout"] = "gap"; }},
  };
  for (const Case& one : cases) {
    Json json = to_json(spec_of(tiny_vit()));
    one.spoil(json);
    const auto read = read_training_spec(context_of(json));
    ASSERT_FALSE(read) << one.words;
    EXPECT_THAT(read.error().message, HasSubstr(one.words));
  }
  EXPECT_FALSE(read_training_spec(context_of(Json())));
}

TEST(TrainingSpecTest, NumbersFollowTheSeed) {
  const auto one = generate_batch(tiny_vit(), 2, 1);
  EXPECT_EQ(one.images.size(), 2u * 3 * 32 * 32);
  EXPECT_EQ(one.labels.size(), 2u);
  EXPECT_EQ(one.images, generate_batch(tiny_vit(), 2, 1).images);
  EXPECT_NE(one.images, generate_batch(tiny_vit(), 2, 2).images);
  const auto ids = generate_batch(tiny_gpt(), 3, 1);
  EXPECT_EQ(ids.ids.size(), 24u);
  EXPECT_EQ(ids.labels.size(), 24u);
  for (const auto id : ids.ids)
    EXPECT_TRUE(id >= 0 && id < 50) << id;
}

TEST(TrainingRowTest, StepsLossesAndPhases) {
  for (const auto& model : {tiny_vit(), tiny_gpt()}) {
    const auto subject = make_training(context_of(to_json(spec_of(model))));
    ASSERT_TRUE(subject) << subject.error().message;
    EXPECT_EQ((*subject)->items_per_pass(), 8);
    const auto digest = (*subject)->check();
    ASSERT_TRUE(digest) << digest.error().message;
    const Json first = turn(**subject, 5);
    ASSERT_EQ(first.at("losses").size(), 5u) << "warm-up and instrumented steps are not among them";
    EXPECT_EQ(first.at("gradient_norms").size(), 5u);
    EXPECT_EQ(first.at("warmup_steps"), 2);
    EXPECT_EQ((*subject)->untimed_passes(), 5) << "they explain CPU time that no sample has";
    EXPECT_EQ(first.at("phased_step_ns").size(), 3u);
    EXPECT_EQ(first.at("phases_ns").size(), 7u);
    for (const char* phase : {"forward", "loss", "backward", "optimizer_step"})
      for (const Json& value : first.at("phases_ns").at(phase))
        EXPECT_GT(value.get<std::int64_t>(), 0) << phase;
    for (const Json& value : first.at("phases_ns").at("transfer"))
      EXPECT_EQ(value, 0) << "the batch stays where it is";
    const Json second = turn(**subject, 4);
    EXPECT_EQ(second.at("losses").size(), 4u);
    EXPECT_EQ((*subject)->untimed_passes(), 3) << "warm once";
    EXPECT_LT(second.at("losses").back().get<double>(), first.at("losses").front().get<double>())
        << "the same batch again and again is learnt";
    EXPECT_GT(second.at("peak_bytes").get<std::int64_t>(), 0);
    EXPECT_EQ(second.at("engine").at("device"), "cpu");
    EXPECT_EQ(second.at("data").at("source"), "resident");
  }
}

TEST(TrainingRowTest, TellsWhatItExecutes) {
  std::map<train::LastBlock, double> flop;
  for (const auto last_block : {train::LastBlock::full, train::LastBlock::class_token}) {
    TrainingSpec spec = spec_of(tiny_vit());
    spec.engine.last_block = last_block;
    const auto subject = make_training(context_of(to_json(spec)));
    ASSERT_TRUE(subject) << subject.error().message;
    ASSERT_TRUE((*subject)->check());
    const Json told = turn(**subject, 1);
    EXPECT_EQ(told.at("engine").at("last_block"), to_string(last_block));
    flop[last_block] = told.at("flop_executed").get<double>();
  }
  // Eight tokens without the class token, two micro-steps of four samples; projection and MLP.
  const double left_out = 3 * 2.0 * 2 * 4 * 8 * 9 * 32 * 32;
  EXPECT_EQ(flop[train::LastBlock::full] - flop[train::LastBlock::class_token], left_out);
}

TEST(TrainingRowTest, TheDigestIsThatOfEveryProcess) {
  const auto digest = [](std::uint64_t seed) {
    TrainingSpec spec = spec_of(tiny_vit());
    spec.engine.seed = seed;
    auto subject = make_training(context_of(to_json(spec)));
    return *(*subject)->check();
  };
  EXPECT_EQ(digest(1), digest(1));
  EXPECT_NE(digest(1), digest(2));
}

TEST(TrainingRowTest, GeneratedNumbersAreCopiedIn) {
  TrainingSpec spec = spec_of(tiny_vit());
  spec.data = TrainingData::generated;
  auto subject = make_training(context_of(to_json(spec)));
  ASSERT_TRUE((*subject)->check());
  const Json info = turn(**subject, 1);
  for (const Json& value : info.at("phases_ns").at("transfer"))
    EXPECT_GT(value.get<std::int64_t>(), 0);
}

TEST(TrainingRowTest, ImagesAreMixedAnewInEveryStep) {
  for (const auto data : {TrainingData::resident, TrainingData::generated}) {
    TrainingSpec spec = spec_of(tiny_vit());
    spec.data = data;
    spec.engine.update.learning_rate = 0;  // every loss is that of the same weights
    const auto losses_of = [&](const MixOptions& mix) {
      spec.mix = mix;
      auto subject = make_training(context_of(to_json(spec)));
      EXPECT_TRUE(subject) << subject.error().message;
      EXPECT_TRUE((*subject)->check()) << "of images as they are";
      return turn(**subject, 4).at("losses").get<std::vector<double>>();
    };
    EXPECT_THAT(losses_of({}), Each(losses_of({}).front()));
    const std::vector<double> mixed = losses_of({0.8, 1});
    EXPECT_THAT(mixed, Contains(Not(mixed.front()))) << "each step has a draw of its own";
    EXPECT_EQ(mixed, losses_of({0.8, 1})) << "which follows from the seed";
  }
}

TEST(TrainingRowTest, SyntheticNeverTouchesALoader) {
  TrainingSpec spec = spec_of(tiny_vit());
  spec.loader = Json{{"input", "/there/is/no/such/folder"}};
  for (const auto data : {TrainingData::resident, TrainingData::generated}) {
    spec.data = data;
    auto subject = make_training(context_of(to_json(spec)));
    ASSERT_TRUE(subject) << subject.error().message;
    ASSERT_TRUE((*subject)->check());
    turn(**subject, 1);
  }
  spec.data = TrainingData::loader;
  EXPECT_FALSE(make_training(context_of(to_json(spec)))) << "this one does";
}

TEST(TrainingRowTest, WhatDoesNotFitIsUnsupportedAndSaysWhatWould) {
  TrainingSpec spec = spec_of(tiny_vit());
  spec.engine.model.image = 2048;
  spec.engine.batch = 65'536;
  const auto subject = make_training(context_of(to_json(spec)));
  ASSERT_FALSE(subject);
  EXPECT_EQ(subject.error().code, Errc::unsupported) << "a row of a sweep that says so";
  EXPECT_THAT(subject.error().message, HasSubstr("fits"));
}

TEST(TrainingRowTest, ALossThatIsNoNumberNamesItsStep) {
  TrainingSpec spec = spec_of(tiny_vit());
  spec.engine.update.kind = train::OptimizerKind::adamw;
  spec.engine.update.learning_rate = 1e30;
  spec.engine.update.max_gradient_norm = 0;
  spec.warmup_steps = 0;
  auto subject = make_training(context_of(to_json(spec)));
  ASSERT_TRUE(subject) << subject.error().message;
  ASSERT_TRUE((*subject)->check());
  std::string said;
  try {
    turn(**subject, 50);
  } catch (const std::exception& problem) {
    said = problem.what();
  }
  EXPECT_THAT(said, HasSubstr("step "));
}

}  // namespace
}  // namespace sluice::scenario::training_rows_test
