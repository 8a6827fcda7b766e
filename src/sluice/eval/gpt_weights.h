// sluice/eval/gpt_weights.h - the weights of one of our GPTs, apart from any engine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/train/engine.h"
#include "sluice/train/model/model_spec.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::eval {

struct GptWeights {
  train::ModelSpec spec;  // its sequence is the context
  struct Tensor {
    std::string name;
    std::vector<float> values;
  };
  std::vector<Tensor> tensors;  // in the order of the program's parameters

  /// SHA-256 over names and values.
  [[nodiscard]] std::string digest() const;
};

/// What an engine holds.
Result<GptWeights> weights_of(const train::Engine& engine);
/// Into an engine of the same model.
Status put_weights(const GptWeights& weights, train::Engine& engine);

/// A checkpoint of ours (train/checkpoint.h). invalid_input: no GPT, another vocabulary, or a file
/// without the description of its model. Without a context in it: 2048.
Result<GptWeights> read_weights(const std::filesystem::path& path, int vocabulary);
/// A file that read_weights() gives back bit for bit.
Status write_weights(const std::filesystem::path& path, const GptWeights& weights);

}  // namespace sluice::eval
