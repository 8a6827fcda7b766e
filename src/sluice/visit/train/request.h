// sluice/visit/train/request.h - the parts of `sluice train`: what is asked for, its data, its run,
// its check against recorded figures.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/scenario/training/run.h"
#include "sluice/visit/caller.h"
#include "sluice/visit/loader/request.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::visit {

class TrainWorld;

struct TrainRequest {
  LoaderRequest loader;
  train::EngineConfig engine;
  scenario::TrainingSchedule plan;
  bool skip_errors = false;
  std::string val_input;
  double val_split = 0.1;  // with no other validation data; 0: none
  bool resume = false;
  TrainWorld* world = nullptr;  // engine.batch samples of a micro-step for each rank; null: alone
};
/// Where the samples come from, opened and checked.
struct TrainData {
  std::unique_ptr<scenario::TrainingFeed> train;       // null for --validate
  std::unique_ptr<scenario::TrainingFeed> validation;  // null: none
  std::optional<scenario::DatasetClasses> classes;     // nothing: tokens
  std::string validation_from;  // a folder, "10 % of the input", or why there is none
};
/// A folder with the folders train and val is both; else --val-input, else --val-split is held
/// back.
Result<TrainData> open_train_data(const TrainRequest& request);
/// All of the input, as validation data.
Result<TrainData> open_validation_data(const TrainRequest& request);

struct TrainResult {
  Json document;                 // train.json
  std::filesystem::path folder;  // of the run
  std::filesystem::path checkpoints;
  bool interrupted = false;
};
/// Nothing is written before input, checkpoints and device were looked at. An interruption is no
/// Error: the last checkpoint goes on.
Result<TrainResult> run_train(const Caller& caller, TrainRequest request);
/// The same as one of the ranks of `world`. `asked` may be an error of this rank: the others learn
/// of it. Only rank 0 writes and has a document; the error of another rank is one of its world.
Result<TrainResult> run_train(const Caller& caller, Result<TrainRequest> asked, TrainWorld& world);
/// "epoch 1/8  loss ...": one of `epochs` in train.json, for people.
std::string epoch_line(const Json& epoch, std::uint64_t epochs);

/// `--validate`: a checkpoint evaluated on the input.
struct ValidateRequest {
  TrainRequest train;
  std::filesystem::path checkpoint;
  std::filesystem::path expect;  // figures it must give; empty: none
  std::filesystem::path record;  // where its figures are written; empty: nowhere
};
struct ValidateResult {
  Json document;
  bool inside = true;  // of what `expect` names
};
Result<ValidateResult> run_validate(ValidateRequest request);

Json engine_json(const train::Engine& engine);

}  // namespace sluice::visit
