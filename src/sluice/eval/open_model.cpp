// sluice/eval/open_model.cpp - from a config to a language model.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/open_model.h"

#include "sluice/eval/builtin_model.h"
#include "sluice/eval/data.h"
#include "sluice/eval/endpoint_model.h"
#include "sluice/eval/gpt_model.h"
#include "sluice/eval/worker_model.h"

#include <utility>

namespace sluice::eval {
namespace {

Result<std::unique_ptr<LanguageModel>> open_gpt(const EvalConfig& config, Progress& progress) {
  SLUICE_TRY(Tokenizer tokenizer, Tokenizer::built_in());
  GptModelOptions options;
  options.cancel_fd = config.cancel_fd;
  GptWeights weights;
  if (!config.checkpoint.empty()) {
    SLUICE_TRY(weights, read_weights(config.checkpoint, tokenizer.vocabulary()));
    options.description = {{"kind", "checkpoint"},
                           {"name", weights.spec.name},
                           {"file", config.checkpoint.filename().string()}};
  } else {
    const BuiltinRecipe recipe = builtin_recipe(tokenizer.vocabulary());
    SLUICE_TRY(weights, train_builtin(tokenizer, recipe, config.seed, progress, config.cancel_fd));
    if (!config.save_model.empty()) SLUICE_CHECK(write_weights(config.save_model, weights));
    options.description = {{"kind", "built-in"},
                           {"name", recipe.spec.name},
                           {"training_steps", recipe.steps},
                           {"training_sha256", data_digest(kTrainingExamples)}};
  }
  options.description["tokenizer_sha256"] = data_digest("merges.txt");
  return std::unique_ptr<LanguageModel>(
      std::make_unique<GptModel>(std::move(tokenizer), std::move(weights), std::move(options)));
}

}  // namespace

Result<std::unique_ptr<LanguageModel>> open_model(const EvalConfig& config, Progress& progress) {
  if (!config.worker.empty()) {
    measure::ProcessLauncher launcher;
    SLUICE_TRY(auto model, WorkerModel::start(config, launcher));
    return std::unique_ptr<LanguageModel>(std::move(model));
  }
  if (!config.endpoint.empty()) {
    SLUICE_TRY(auto model, EndpointModel::open(config));
    return std::unique_ptr<LanguageModel>(std::move(model));
  }
  return open_gpt(config, progress);
}

}  // namespace sluice::eval
