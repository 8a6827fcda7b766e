// tests/eval/small_gpt.h - a GPT of a few thousand weights with our vocabulary, for tests that need
// some model.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/eval/gpt_model.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace sluice::eval::testing {

inline train::ModelSpec small_spec(int vocabulary, int context = 64) {
  train::ModelSpec spec;
  spec.name = "gpt-test";
  spec.family = train::Family::gpt;
  spec.dim = 16;
  spec.layers = 1;
  spec.heads = 2;
  spec.vocabulary = vocabulary;
  spec.sequence = context;
  return spec;
}

/// Untrained; embeddings large enough that its answers depend on the question.
inline GptWeights small_weights(int vocabulary, std::uint64_t seed = 1) {
  train::EngineConfig config;
  config.model = small_spec(vocabulary);
  config.batch = 1;
  config.threads = 1;
  config.optimizer = false;
  config.seed = seed;
  auto engine = train::Engine::make(config);
  EXPECT_TRUE(engine) << engine.error().message;
  auto weights = weights_of(**engine);
  EXPECT_TRUE(weights);
  for (GptWeights::Tensor& tensor : weights->tensors) {
    if (tensor.name != "embed.weight") continue;
    for (float& value : tensor.values)
      value *= 50;
  }
  return *weights;
}

inline GptModel small_model(GptModelOptions options = {}, std::uint64_t seed = 1) {
  auto tokenizer = Tokenizer::built_in();
  EXPECT_TRUE(tokenizer);
  const int vocabulary = tokenizer->vocabulary();
  return {std::move(*tokenizer), small_weights(vocabulary, seed), std::move(options)};
}

}  // namespace sluice::eval::testing
