// sluice/cli/bench/training_flags.h - what `sluice bench training` is asked to do: flags, checked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/flags/loader.h"
#include "sluice/cli/flags/training.h"
#include "sluice/visit/training/plan.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::cli {

/// As typed.
struct BenchTrainingFlags {
  LoaderFlags loader;                            // its input is the first of:
  std::vector<std::string> inputs, cold_inputs;  // local folders, read past the page cache
  TrainingFlags training;
  scenario::MixOptions mix;
  bool batch_given = false, steps_given = false;  // found out after the parse
  std::string mode;                               // empty: e2e with an input, else synthetic
  std::optional<std::string> estimator;           // shapes for a ViT, 6ND for a GPT
  std::string profile = "off";
  std::string libraries = "sluice";
  std::string sweep;
  bool sync_alone = false;
  int world_size = 1;  // -1: as many as cores, or as a launcher started
  double rank_timeout_s = 120;
  int warmup_steps = 200;
  int measure_steps = 100;
  int repeat = 1;
  std::optional<double> peak_tflops;
  bool print_memory = false;
  bool resume = false;
  double timeout_s = 3600;
};
/// `flags` holds the defaults and must outlive the parse.
void add_bench_training_flags(CLI::App& command, BenchTrainingFlags& flags);

/// Contradictions, unknown names and values out of range: one usage error each. Nothing is opened.
Result<visit::TrainingPlan> training_plan(const BenchTrainingFlags& flags, const Globals& globals);

}  // namespace sluice::cli
