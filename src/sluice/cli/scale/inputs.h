// sluice/cli/scale/inputs.h - what `sluice scale` predicts from: flags, and the files they name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/analysis/world/step_model.h"
#include "sluice/core/json.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::cli {

/// As typed.
struct ScaleFlags {
  std::string ranks = "8,64,512";
  std::string result;     // a run of `bench training`
  std::string allreduce;  // a run of `bench allreduce`: instead of a link
  std::string model;      // instead of a result
  int batch_size = 0;
  double step_ms = 0;
  std::string link, latency = "5us";
  int per_node = 1;
  std::string node_link, node_latency = "2us";
  std::string bucket;  // empty: what the engine of the device has
  std::optional<double> contention;
};

/// All that a prediction starts from, and where it is from.
struct ScaleInputs {
  std::string model, device;
  int batch = 0;  // samples of one rank and step
  analysis::MeasuredStep step;
  bool measured = false;  // false: the step was given, its parts are shares of FLOP
  double forward_s = 0;
  analysis::Cluster cluster;  // without ranks
  std::optional<analysis::FittedLink> fitted;
  std::vector<int> ranks;
};
Result<ScaleInputs> scale_inputs(const ScaleFlags& flags);

/// "400Gb/s", "450GB/s": bytes a second. Bits and bytes differ by their letter.
Result<double> parse_bandwidth(const std::string& text, const std::string& flag);

}  // namespace sluice::cli
