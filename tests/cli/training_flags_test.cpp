// tests/cli/training_flags_test.cpp - what model and engine flags come to, and who has them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/command.h"
#include "sluice/cli/flags/training.h"
#include "sluice/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace sluice::cli::training_flags_test {
namespace {

using ::testing::HasSubstr;

Result<train::EngineConfig> parse(std::vector<std::string> arguments,
                                  const std::string& device = "cpu") {
  CLI::App app;
  TrainingFlags flags;
  add_training_flags(app, flags);
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  return engine_config_of(flags, device, 8, 5);
}

std::string error_of(const std::vector<std::string>& arguments) {
  const auto config = parse(arguments);
  EXPECT_FALSE(config);
  if (config) return "";
  EXPECT_EQ(config.error().code, Errc::usage);
  return config.error().message;
}

TEST(TrainingFlags, DefaultsAreThoseOfTheModelAndTheDevice) {
  const auto config = parse({"--model", "vit5-small"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->model, train::find_model("vit5-small").value());
  EXPECT_EQ(config->regime, train::Regime::fp32);
  EXPECT_EQ(config->batch, 8);
  EXPECT_EQ(config->seed, 5U);
  EXPECT_TRUE(config->optimizer);
  EXPECT_FALSE(config->average);
  EXPECT_EQ(config->update.kind, train::OptimizerKind::lamb);
  EXPECT_DOUBLE_EQ(config->update.learning_rate, 4e-3);
  EXPECT_EQ(parse({}, "cuda:0")->regime, train::Regime::mixed);
  EXPECT_DOUBLE_EQ(parse({"--optimizer", "adamw"})->update.learning_rate, 1e-3);
}

TEST(TrainingFlags, EveryFlagIsApplied) {
  const auto config = parse({"--model",      "vit5-tiny",
                             "--classes",    "4",
                             "--image-size", "32",
                             "--patch-size", "8",
                             "--dim",        "64",
                             "--heads",      "2",
                             "--layers",     "3",
                             "--drop-path",  "0.5",
                             "--dtype",      "bf16",
                             "--threads",    "3",
                             "--grad-accum", "2",
                             "--optimizer",  "adamw",
                             "--lr",         "0.5",
                             "--clip",       "7",
                             "--ema",        "--ema-decay",
                             "0.25",         "--weight-decay",
                             "0.75",         "--label-smoothing",
                             "0.125",        "--compile",
                             "off",          "--checkpoint-activations",
                             "--registers",  "9",
                             "--readout",    "gap",
                             "--last-block", "full"});
  ASSERT_TRUE(config) << config.error().message;
  train::ModelSpec model = train::find_model("vit5-tiny").value();
  model.classes = 4;
  model.image = 32;
  model.patch = 8;
  model.dim = 64;
  model.heads = 2;
  model.layers = 3;
  model.drop_path = 0.5F;
  model.registers = 9;
  model.readout = train::Readout::gap;
  EXPECT_EQ(config->model, model);
  EXPECT_EQ(config->last_block, train::LastBlock::full);
  EXPECT_FALSE(parse({})->last_block) << "the engine takes the shortest that is right";
  EXPECT_EQ(config->regime, train::Regime::mixed);
  EXPECT_EQ(config->rung, train::Rung::off);
  EXPECT_EQ(config->threads, 3);
  EXPECT_EQ(config->grad_accum, 2);
  EXPECT_EQ(config->update.kind, train::OptimizerKind::adamw);
  EXPECT_DOUBLE_EQ(config->update.learning_rate, 0.5);
  EXPECT_DOUBLE_EQ(config->update.max_gradient_norm, 7);
  EXPECT_DOUBLE_EQ(config->update.average_decay, 0.25);
  EXPECT_DOUBLE_EQ(config->update.weight_decay, 0.75);
  EXPECT_FLOAT_EQ(config->label_smoothing, 0.125F);
  EXPECT_TRUE(config->average);
  EXPECT_TRUE(config->checkpointing);
  EXPECT_EQ(parse({"--model", "gpt-tiny", "--seq-len", "32"})->model.sequence, 32);
  EXPECT_FALSE(parse({"--dtype", "bf16-weights"})->optimizer);
}

TEST(TrainingFlags, SaysWhatDoesNotGoTogether) {
  EXPECT_THAT(error_of({"--model", "vit7"}), HasSubstr("vit5-tiny"));
  EXPECT_THAT(error_of({"--model", "gpt-tiny", "--classes", "4"}), HasSubstr("--classes"));
  EXPECT_THAT(error_of({"--model", "gpt-tiny", "--image-size", "32"}), HasSubstr("--image-size"));
  EXPECT_THAT(error_of({"--seq-len", "8"}), HasSubstr("--seq-len"));
  EXPECT_THAT(error_of({"--heads", "5"}), HasSubstr("heads"));
  EXPECT_THAT(error_of({"--image-size", "30"}), HasSubstr("30"));
  EXPECT_THAT(error_of({"--dtype", "fp8"}), HasSubstr("fp8"));
  EXPECT_THAT(error_of({"--last-block", "half"}),
              HasSubstr("--last-block: 'half' is not known; full and class-token are accepted"));
  EXPECT_THAT(error_of({"--last-block", "class-token", "--readout", "gap"}),
              HasSubstr("--last-block class-token: vit5-tiny reads the mean over its patches"));
  EXPECT_THAT(error_of({"--readout", "max"}), HasSubstr("--readout: readout 'max'"));
  EXPECT_THAT(error_of({"--registers", "5"}), HasSubstr("registers 5; a square number"));
}

/// A training that is benchmarked must be one that can be run, and the other way round.
TEST(TrainingFlags, TrainAndItsBenchmarkHaveThemAll) {
  CLI::App table;
  TrainingFlags flags;
  add_training_flags(table, flags);
  Context context;
  const auto app = make_app(context);
  const std::vector<std::vector<std::string>> commands{
      {"train"}, {"learn-model"}, {"bench", "training"}, {"benchmark-training"}};
  for (const auto& path : commands) {
    const CLI::App* command = app.get();
    for (const std::string& name : path)
      command = command->get_subcommand(name);
    for (const CLI::Option* option : table.get_options())
      EXPECT_NE(command->get_option_no_throw(option->get_name()), nullptr)
          << path.back() << " " << option->get_name();
  }
}

}  // namespace
}  // namespace sluice::cli::training_flags_test
