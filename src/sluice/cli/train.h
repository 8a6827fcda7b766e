// sluice/cli/train.h - the parts of `sluice train`: what is asked for, its data, its run, its check
// against recorded figures.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/loader_flags.h"
#include "sluice/cli/training_flags.h"
#include "sluice/scenario/training_run.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::cli {

/// As typed.
struct TrainFlags {
  LoaderFlags loader;
  TrainingFlags training;
  bool skip_errors = false;
  int epochs = 1;
  double warmup_epochs = 0;
  int val_every = 4;
  std::string val_input;
  std::optional<double> val_split;
  double mixup = 0, cutmix = 0;
  std::filesystem::path checkpoint_dir;
  int checkpoint_every = 0;
  bool resume = false;
  std::filesystem::path validate, expect, record;
};

/// What the flags come to.
struct TrainRequest {
  LoaderRequest loader;
  train::EngineConfig engine;
  scenario::TrainingPlan plan;
  bool skip_errors = false;
  std::string val_input;
  double val_split = 0.1;  // with no other validation data; 0: none
  bool resume = false;
};
Result<TrainRequest> train_request(const TrainFlags& flags, std::uint64_t seed);

/// Where the samples come from, opened and checked.
struct TrainData {
  std::unique_ptr<scenario::TrainingFeed> train;       // null for --validate
  std::unique_ptr<scenario::TrainingFeed> validation;  // null: none
  scenario::DatasetClasses classes;
  std::string validation_from;  // a folder, "10 % of the input", or why there is none
};
/// A folder with the folders train and val is both; else --val-input, else --val-split is held
/// back.
Result<TrainData> open_train_data(const TrainRequest& request);
/// All of the input, as validation data.
Result<TrainData> open_validation_data(const TrainRequest& request);

/// `--validate`: exit 1 when a figure lies outside of what `--expect` names.
Result<ExitCode> run_validate(Context& context, const TrainFlags& flags);
Result<ExitCode> run_train(Context& context, const TrainFlags& flags);

Json engine_json(const train::Engine& engine);

}  // namespace sluice::cli
