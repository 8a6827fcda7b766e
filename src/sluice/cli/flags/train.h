// sluice/cli/flags/train.h - the flags of `sluice train`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/flags/loader.h"
#include "sluice/cli/flags/training.h"

#include <filesystem>
#include <optional>
#include <string>

namespace sluice::cli {

/// As typed.
struct TrainFlags {
  LoaderFlags loader;
  TrainingFlags training;
  bool batch_given = false;  // found out after the parse
  bool skip_errors = false;
  int epochs = 1;
  double warmup_epochs = 0;
  int val_every = 4;
  std::string val_input;
  std::optional<double> val_split;
  scenario::MixOptions mix;
  std::filesystem::path checkpoint_dir;
  int checkpoint_every = 0;
  bool resume = false;
  std::filesystem::path validate, expect, record;
  int world_size = 1;  // -1: as many as cores, or as a launcher started
  double rank_timeout_s = 120;
  bool follows = false;  // visit::kFollowFlag
};

}  // namespace sluice::cli
