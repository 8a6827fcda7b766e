// tests/cli/bench_training_flags_test.cpp - flags of `bench training` into a plan, and what is
// refused.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/bench/training_flags.h"
#include "sluice/core/text.h"
#include "sluice/visit/training/rows.h"
#include "sluice/visit/training/run.h"

#include <gmock/gmock.h>

namespace sluice::cli::bench_training_flags_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// As the command does it.
Result<visit::TrainingPlan> plan_of(const std::string& words) {
  CLI::App app;
  BenchTrainingFlags flags;
  add_bench_training_flags(app, flags);
  std::vector<std::string> arguments =
      words.empty() ? std::vector<std::string>{} : split(words, ' ');
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& problem) {
    return Error{Errc::usage, problem.what()};
  }
  flags.batch_given = app.count("--batch-size") > 0;
  flags.steps_given = app.count("--measure-steps") > 0;
  return training_plan(flags, Globals{});
}

TEST(TrainingPlanTest, DefaultsAreThoseOfTheSeed) {
  const auto plan = plan_of("");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_TRUE(plan->synthetic) << "without an input";
  EXPECT_FALSE(plan->input);
  EXPECT_THAT(plan->batches, ElementsAre(256));
  EXPECT_EQ(plan->warmup_steps, 200);
  EXPECT_EQ(plan->measure_steps, 100);
  EXPECT_EQ(plan->policy.runs, 1);
  EXPECT_EQ(plan->policy.samples_per_run, 100);
  EXPECT_EQ(plan->policy.samples_per_turn, 100) << "alone: all in a row";
  EXPECT_EQ(plan->policy.warmup_limit_ms, 0);
  EXPECT_THAT(plan->regimes, ElementsAre(train::Regime::fp32));
  EXPECT_EQ(plan->profile, "off");
  EXPECT_EQ(plan->engine.device, "cpu");
  EXPECT_THAT(plan->libraries, ElementsAre("sluice"));
}

TEST(TrainingPlanTest, DefaultsThatDepend) {
  EXPECT_THAT(plan_of("--model gpt-tiny")->batches, ElementsAre(8));
  EXPECT_THAT(plan_of("--model gpt-tiny --batch-size 256")->batches, ElementsAre(256));
  EXPECT_EQ(plan_of("--model gpt-tiny --seq-len 64")->engine.model.sequence, 64);
  EXPECT_THAT(plan_of("--gpu cuda:1")->regimes, ElementsAre(train::Regime::mixed));
  EXPECT_EQ(plan_of("--gpu cuda:1")->engine.device, "cuda:1");
  EXPECT_EQ(plan_of("--num-batches 7")->measure_steps, 7);
  EXPECT_EQ(plan_of("--max-batches 7 --warmup-batches 0")->measure_steps, 7);
  const auto two = plan_of("--dtype fp32,bf16 --measure-steps 20");
  EXPECT_THAT(two->regimes, ElementsAre(train::Regime::fp32, train::Regime::mixed));
  EXPECT_EQ(two->policy.samples_per_turn, 5) << "in turns";
  EXPECT_THAT(plan_of("--sweep batch-size=64,8,64")->batches, ElementsAre(8, 64));
  EXPECT_TRUE(plan_of("--sweep batch-size=8")->swept);
  EXPECT_FALSE(plan_of("--sweep batch-size=8")->sweep_to_max);
  EXPECT_TRUE(plan_of("--sweep batch-size=8,24..max")->sweep_to_max);
  EXPECT_THAT(plan_of("--sweep batch-size=8,24..max")->batches, ElementsAre(8, 24));
  EXPECT_FALSE(plan_of("--dtype bf16-weights")->engine.optimizer);
  EXPECT_TRUE(plan_of("--dtype bf16-weights,fp32")->engine_of(train::Regime::fp32, 2).optimizer);
}

TEST(TrainingPlanTest, PairsOfImagesAreMixed) {
  const auto plan = plan_of("--mixup 0.8 --cutmix 1 --batch-size 8");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->mix.mixup, 0.8);
  EXPECT_EQ(plan->mix.cutmix, 1);
  EXPECT_TRUE(plan->engine_of(train::Regime::fp32, 8).soft_targets);
  EXPECT_FALSE(plan_of("")->engine.soft_targets);
  EXPECT_THAT(plan_of("--cutmix 1 --batch-size 7").error().message, HasSubstr("--batch-size 7"));
  EXPECT_THAT(plan_of("--mixup 1 --sweep batch-size=2,5").error().message,
              HasSubstr("--batch-size 5"));
  EXPECT_THAT(plan_of("--model gpt-tiny --mixup 1").error().message,
              HasSubstr("gpt-tiny takes tokens"));
  EXPECT_FALSE(plan_of("--mixup -1"));
}

TEST(TrainingPlanTest, AnInputIsOfTheKindThatTheModelTakes) {
  const auto images = plan_of("--input photos");
  ASSERT_TRUE(images) << images.error().message;
  EXPECT_FALSE(images->synthetic);
  EXPECT_EQ(images->input->sequence, 0U);
  const auto text = plan_of("--model gpt-tiny --seq-len 64 --mode e2e --input text");
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_FALSE(text->synthetic);
  EXPECT_EQ(text->input->sequence, 64U);
  EXPECT_EQ(text->input->vocabulary, 4096U);
  EXPECT_EQ(text->input->batch_size, 8);
}

TEST(TrainingPlanTest, TheLadder) {
  EXPECT_THAT(plan_of("")->rungs, ElementsAre(train::Rung::graph));
  EXPECT_EQ(plan_of("--gpu cuda:0 --compile off")->engine.rung, train::Rung::off);
  const auto plan = plan_of("--gpu cuda:0 --compile graph,off,fused --dtype bf16,fp32");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(plan->rungs, ElementsAre(train::Rung::off, train::Rung::fused, train::Rung::graph));
  EXPECT_EQ(plan->engine.rung, train::Rung::graph);
  EXPECT_EQ(plan->policy.samples_per_turn, 10) << "in turns";
  const train::EngineConfig one = plan->engine_of(train::Regime::fp32, 4, train::Rung::fused);
  EXPECT_EQ(one.rung, train::Rung::fused);
  EXPECT_EQ(one.regime, train::Regime::fp32);
  EXPECT_EQ(one.device, "cuda:0");
  EXPECT_EQ(visit::training_case(*plan, train::Regime::fp32, 4, train::Rung::fused),
            "training/vit5-tiny/compile=fused/dtype=fp32");
  EXPECT_EQ(visit::training_case(*plan, train::Regime::fp32, 4, train::Rung::graph),
            visit::training_case(*plan, train::Regime::fp32, 4))
      << "the highest rung is the one beside other libraries";
  EXPECT_NE(plan_of("--gpu cuda:0 --compile off,fused")->policy.warmup_ms, 0) << "in turns";
}

TEST(TrainingPlanTest, SeveralInputsAreRowsInTurns) {
  const auto plan = plan_of(
      "--input photos --input s3://bucket/photos --input-cold photos --endpoint http://host:1 "
      "--read-mode mmap");
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->inputs().size(), 3U);
  EXPECT_EQ(plan->input->input, "photos");
  EXPECT_EQ(plan->input->read_mode, "mmap");
  EXPECT_TRUE(plan->input->endpoint.empty()) << "a folder has none";
  EXPECT_TRUE(plan->others[0].remote);
  EXPECT_EQ(plan->others[0].endpoint, "http://host:1");
  EXPECT_EQ(plan->others[1].read_mode, "direct");
  EXPECT_EQ(plan->policy.samples_per_turn, 10) << "in turns";
  EXPECT_EQ(plan_of("--input-cold photos")->input->read_mode, "direct") << "also alone";
  EXPECT_EQ(visit::training_case(*plan, train::Regime::fp32, 256, train::Rung::graph,
                                 train::LastBlock::full, "s3"),
            "training/vit5-tiny/storage=s3");
  const visit::TrainingRowMaker maker{
      *plan, {{"page-cache", {{"input", "a"}}}, {"s3", {{"input", "b"}}}}, {"sluice", "worker"}};
  const auto made = maker.rows(8, "none");
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(made->rows.size(), 2U);
  EXPECT_EQ(made->rows[1].case_name, "training/vit5-tiny/storage=s3");
  EXPECT_EQ(made->rows[1].params.at("storage"), "s3");
  EXPECT_EQ(made->rows[1].spec["loader"]["input"], Json("b"));
  EXPECT_EQ(made->rows[1].spec["loader"]["batch_size"], Json(8));
}

TEST(TrainingPlanTest, InputsThatCannotStandTogetherAreRefused) {
  const auto refused = [](const std::string& words, const char* said) {
    const auto plan = plan_of(words);
    ASSERT_FALSE(plan) << words;
    EXPECT_THAT(plan.error().message, HasSubstr(said)) << words;
  };
  refused("--input a --input-dir b", "--input-cold");
  refused("--input a --input b --enable-bundling", "one --input");
  refused("--input-cold s3://bucket/a", "--input-cold s3://bucket/a");
  refused("--input a --endpoint http://host:1", "--endpoint");
  refused("--input a --input b --mode synthetic", "--mode synthetic");
}

TEST(TrainingPlanTest, WhatSamplesAreReadFrom) {
  const auto request = [](const char* input, const char* read_mode = "buffered") {
    visit::LoaderRequest made;
    made.input = input;
    made.remote = made.input.find("://") != std::string::npos;
    made.read_mode = read_mode;
    return made;
  };
  EXPECT_EQ(visit::storage_kind(request("s3://bucket/a")), "s3");
  EXPECT_EQ(visit::storage_kind(request("gs://bucket/a")), "gcs");
  EXPECT_THAT(visit::storage_names({request("s3://x/a"), request("gs://x/a"), request("s3://x/b")}),
              ElementsAre("s3", "gcs", "s3-2"));
  EXPECT_NE(visit::storage_kind(request("/proc")), "");
}

TEST(TrainingPlanTest, TheLastBlock) {
  using train::LastBlock;
  EXPECT_THAT(plan_of("")->last_blocks, ElementsAre(LastBlock::full)) << "as other libraries do";
  const auto plan = plan_of("--gpu cuda:0 --last-block class-token,full --compile off,graph");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(plan->last_blocks, ElementsAre(LastBlock::full, LastBlock::class_token));
  EXPECT_EQ(plan->engine.last_block, LastBlock::full);
  EXPECT_EQ(plan->policy.samples_per_turn, 10) << "in turns";
  const auto name = [&](train::Rung rung, LastBlock last_block) {
    return visit::training_case(*plan, train::Regime::mixed, 256, rung, last_block);
  };
  EXPECT_EQ(name(train::Rung::graph, LastBlock::full), "training/vit5-tiny");
  EXPECT_EQ(name(train::Rung::graph, LastBlock::class_token),
            "training/vit5-tiny/last_block=class-token");
  EXPECT_EQ(name(train::Rung::off, LastBlock::class_token),
            "training/vit5-tiny/compile=off/last_block=class-token");
  const auto short_alone = plan_of("--last-block class-token");
  EXPECT_EQ(visit::training_case(*short_alone, train::Regime::fp32, 256),
            "training/vit5-tiny/last_block=class-token")
      << "a row says so even when it is alone";
  const auto made =
      visit::TrainingRowMaker{*plan, {visit::TrainingSource{}}, {"sluice", "worker"}}.rows(2,
                                                                                           "none");
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(made->rows.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(made->rows[i].spec["last_block"], Json(i < 2 ? "full" : "class-token"));
    EXPECT_EQ(made->rows[i].params.count("last_block"), i < 2 ? 0U : 1U)
        << "rows of earlier versions still find theirs";
  }
}

TEST(TrainingPlanTest, TheEstimatorIsThatOfTheFamily) {
  using train::MfuEstimator;
  EXPECT_EQ(plan_of("")->estimator, MfuEstimator::shapes);
  EXPECT_EQ(plan_of("--model gpt-tiny")->estimator, MfuEstimator::six_nd);
  EXPECT_EQ(plan_of("--mfu-estimator 6ND")->estimator, MfuEstimator::six_nd);
  EXPECT_EQ(plan_of("--model gpt-tiny --mfu-estimator shapes")->estimator, MfuEstimator::shapes);
}

TEST(TrainingPlanTest, OthersAlone) {
  const auto plan = plan_of("--gpu cuda:0 --libraries torch-eager,torch-max-autotune");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_FALSE(plan->has_ours());
  EXPECT_THAT(plan->libraries, ElementsAre("torch-eager", "torch-max-autotune"));
  EXPECT_EQ(
      plan_of("--gpu cuda:0 --compile off,graph --libraries torch-eager")->policy.samples_per_turn,
      100)
      << "the ladder is ours";
}

TEST(TrainingPlanTest, RowsOfALadder) {
  const auto plan = plan_of(
      "--mode synthetic --gpu cuda:1 --compile off,graph --dtype bf16,bf16-weights --batch-size 2");
  ASSERT_TRUE(plan) << plan.error().message;
  const auto made =
      visit::TrainingRowMaker{*plan, {visit::TrainingSource{}}, {"sluice", "worker"}}.rows(2,
                                                                                           "none");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->refused.empty());
  ASSERT_EQ(made->rows.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    const measure::SubjectSpec& row = made->rows[i];
    EXPECT_EQ(row.library, "sluice");
    EXPECT_EQ(row.spec["device"], Json("cuda:1"));
    EXPECT_EQ(row.spec["compile"], Json(i % 2 == 0 ? "off" : "graph"));
    EXPECT_EQ(row.params.at("compile"), i % 2 == 0 ? "off" : "graph");
    EXPECT_EQ(row.spec["dtype"], Json(i < 2 ? "bf16" : "bf16-weights"));
    EXPECT_EQ(row.spec["optimizer"], Json(i < 2 ? "lamb" : "none"));
  }
  EXPECT_EQ(made->rows[0].case_name, "training/vit5-tiny/compile=off/dtype=bf16");
  EXPECT_EQ(made->rows[1].case_name, "training/vit5-tiny/dtype=bf16");
}

TEST(TrainingPlanTest, CasesNameWhatDiffers) {
  EXPECT_EQ(visit::training_case(*plan_of(""), train::Regime::fp32, 256), "training/vit5-tiny");
  EXPECT_EQ(visit::training_case(*plan_of("--sweep batch-size=8,16"), train::Regime::fp32, 8),
            "training/vit5-tiny/batch_size=8");
  EXPECT_EQ(visit::training_case(*plan_of("--sweep batch-size=8 --dtype fp32,bf16"),
                                 train::Regime::mixed, 8),
            "training/vit5-tiny/batch_size=8/dtype=bf16");
}

TEST(TrainingPlanTest, Refusals) {
  struct Case {
    const char* words;
    const char* error;
  };
  const std::vector<Case> cases{
      {"--model vit6", "vit6"},
      {"--mode real", "--mode"},
      {"--gpu tpu:0", "accepted are cpu"},
      {"--dtype fp16", "fp16"},
      {"--dtype fp32,fp32", "twice"},
      {"--batch-size 0", "--batch-size"},
      {"--warmup-steps -1", "--warmup-steps"},
      {"--measure-steps 0", "--measure-steps"},
      {"--repeat 0", "--repeat"},
      {"--grad-accum 0", "--grad-accum"},
      {"--seq-len 64", "gpt"},
      {"--compile fast", "--compile"},
      {"--optimizer sgd", "--optimizer"},
      {"--mfu-estimator 7ND", "--mfu-estimator: MFU estimator '7ND' is not known"},
      {"--last-block half", "full and class-token are accepted"},
      {"--last-block full,full", "twice"},
      {"--last-block class-token --readout gap", "full is accepted"},
      {"--last-block full,class-token --model gpt-tiny", "full is accepted"},
      {"--readout mean", "cls and gap are accepted"},
      {"--registers 3", "a square number"},
      {"--registers 2000", "--registers"},
      {"--registers -1", "--registers"},
      {"--model gpt-tiny --registers 4", "--registers"},
      {"--model gpt-tiny --readout cls", "--readout"},
      {"--peak-tflops 0", "--peak-tflops"},
      {"--profile all", "--profile"},
      {"--sweep workers=1", "batch-size=64,256,512 or 64..max"},
      {"--sweep batch-size=", "--sweep"},
      {"--sweep batch-size=..max", "'..max' is not a number"},
      {"--sweep batch-size=8..max,9", "'8..max' is not a number"},
      {"--sweep batch-size=8,x", "'x' is not a number"},
      {"--sweep batch-size=8 --batch-size 8", "give only one"},
      {"--num-batches 3 --measure-steps 3", "give only one"},
      {"--libraries torch-eager --profile trace", "does not name 'sluice'"},
      {"--compile off,fused", "the CPU has only one form"},
      {"--gpu cuda:0 --compile off,off", "twice"},
      {"--gpu cuda:0 --compile off,fast", "fast"},
      {"--libraries sluice,torch-eage", "torch-eager"},
      {"--libraries sluice,torch-tensor", "torch-tensor"},
      {"--mode synthetic --input photos", "--mode e2e"},
      {"--mode e2e", "--mode e2e: needs --input DIR"},
      {"--mode e2e --model gpt-tiny", "--mode e2e: needs --input DIR"},
      {"--model gpt-tiny --input s3://b/p", "--input s3://b/p: is for images"},
      {"--model gpt-tiny --input text --recipe three-augment", "--recipe three-augment"},
      {"--model gpt-tiny --input text --enable-bundling", "--enable-bundling: is for images"},
      {"--model gpt-tiny --input text --libraries sluice,torch-eager", "only sluice reads tokens"},
      {"--cache-dir x", "an input is missing"},
      {"--heads 5", "heads"},
      {"--sample-ratio 0", "--sample-ratio"},
  };
  for (const Case& one : cases) {
    const auto plan = plan_of(one.words);
    ASSERT_FALSE(plan) << one.words;
    EXPECT_EQ(plan.error().code, Errc::usage) << one.words;
    EXPECT_THAT(plan.error().message, HasSubstr(one.error)) << one.words;
  }
}

TEST(TrainingPlanTest, ASweepMayGoAsFarAsMemoryDoes) {
  auto plan = plan_of("--model vit5-base --image-size 1024 --sweep batch-size=1,3..max");
  ASSERT_TRUE(plan) << plan.error().message;
  const auto most = train::largest_batch(plan->engine_of(plan->regimes.front(), 1), 65'536);
  ASSERT_TRUE(most) << most.error().message;
  ASSERT_TRUE(visit::extend_sweep(*plan));
  ASSERT_GE(plan->batches.size(), 1U);
  EXPECT_TRUE(std::is_sorted(plan->batches.begin(), plan->batches.end()));
  EXPECT_LE(plan->batches.back(), *most + *most / 4);  // what is free changes while we look
  EXPECT_GE(plan->batches.back(), *most / 2);
  EXPECT_EQ(plan->engine.batch, plan->batches.front());
  for (std::size_t i = 3; i + 1 < plan->batches.size(); ++i)
    EXPECT_EQ(plan->batches[i], 2 * plan->batches[i - 1]);
}

}  // namespace
}  // namespace sluice::cli::bench_training_flags_test
