// sluice/eval/builtin_model.h - the small GPT that is evaluated when no model is given: trained
// here, the same bits every time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/progress.h"
#include "sluice/eval/gpt_weights.h"
#include "sluice/eval/tokenizer.h"

#include <cstdint>

namespace sluice::eval {

/// Worked examples; the other file of the training part is prose.
inline constexpr const char* kTrainingExamples = "training_examples_2.txt";

/// How it is made. The defaults are fixed: another recipe is another model.
struct BuiltinRecipe {
  train::ModelSpec spec;
  int steps = 0;
  int batch = 0;
  float embedding_gain = 1;  // on the first values of the embedding: small models start faster
  train::OptimizerConfig update;
};
BuiltinRecipe builtin_recipe(int vocabulary);

/// Trains on the embedded training part (prose and worked examples, never the shard or a probe).
/// Documents are shuffled anew in every epoch, keyed by the seed.
Result<GptWeights> train_builtin(const Tokenizer& tokenizer, const BuiltinRecipe& recipe,
                                 std::uint64_t seed, Progress& progress, int cancel_fd = -1);

}  // namespace sluice::eval
