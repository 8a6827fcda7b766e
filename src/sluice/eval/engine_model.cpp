// sluice/eval/engine_model.cpp - fixed weights, fixed prompts, one forward pass.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/engine_model.h"

#include "sluice/core/rng.h"
#include "sluice/core/text.h"
#include "sluice/eval/gpt_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

namespace sluice::eval {
namespace engine_model {
namespace {

constexpr std::uint64_t kSeed = 14;
constexpr std::uint32_t kWeightStage = 1, kPromptStage = 2;
constexpr int kSteps = 1 << 15;  // of a weight between its least and its largest

/// Exact in float, so the same everywhere: middle ± spread in equal steps.
struct Range {
  float middle = 0, spread = 0;
};

/// Products keep the size of what goes in. Norms of queries and keys make attention decided, that
/// of the MLP puts GELU where its forms differ most.
Range range_of(const std::string& name) {
  if (name == "embed.weight") return {0, 1};
  if (name.ends_with("q_norm.weight") || name.ends_with("k_norm.weight")) return {1.5F, 0.5F};
  if (name.ends_with("norm2.weight")) return {1.5F, 0.5F};
  if (name.ends_with("weight") && name.find("norm") != std::string::npos) return {1, 0.5F};
  return {0, 0.25F};
}

}  // namespace

train::ModelSpec spec() {
  train::ModelSpec spec;
  spec.name = "gpt-known";
  spec.family = train::Family::gpt;
  spec.dim = 64;
  spec.layers = 3;
  spec.heads = 4;
  spec.norm_epsilon = 1e-3F;
  spec.vocabulary = 256;
  spec.sequence = kPromptTokens;
  return spec;
}

Result<GptWeights> weights() {
  train::EngineConfig config;
  config.model = spec();
  config.batch = 1;
  config.threads = kThreads;
  config.optimizer = false;
  SLUICE_TRY(const auto engine, train::Engine::make(config));
  SLUICE_TRY(GptWeights made, weights_of(*engine));
  for (std::size_t i = 0; i < made.tensors.size(); ++i) {
    Rng rng({.seed = kSeed, .index = i, .stage = kWeightStage});
    const Range range = range_of(made.tensors[i].name);
    for (float& value : made.tensors[i].values) {
      const int step = rng.between(-kSteps, kSteps);
      value = range.middle + range.spread * (static_cast<float>(step) / float{kSteps});
    }
  }
  return made;
}

std::vector<std::int32_t> prompt(std::uint64_t number) {
  Rng rng({.seed = kSeed, .index = number, .stage = kPromptStage});
  std::vector<std::int32_t> ids(kPromptTokens);
  for (std::int32_t& id : ids)
    id = rng.between(0, spec().vocabulary - 1);
  return ids;
}

}  // namespace engine_model

Json EngineModel::describe() const {
  return Json{{"kind", "engine"}, {"name", engine_model::spec().name}};
}

Result<Score> EngineModel::score(std::string_view /*text*/, int /*max_length*/, int /*stride*/,
                                 Progress& /*progress*/) {
  return Error{Errc::unsupported, "a model of fixed numbers has no language"};
}

Result<std::vector<Answer>> EngineModel::answer(const std::vector<Question>& questions,
                                                int /*max_new_tokens*/, Progress& progress) {
  std::vector<std::int32_t> ids;
  for (const Question& question : questions) {
    std::uint64_t number = 0;
    const char* end = question.prompt.data() + question.prompt.size();
    const auto read = std::from_chars(question.prompt.data(), end, number);
    if (read.ec != std::errc() || read.ptr != end)
      return Error{Errc::invalid_input, fmt::format("prompt '{}': the number of one is accepted",
                                                    printable(question.prompt))};
    const std::vector<std::int32_t> prompt = engine_model::prompt(number);
    ids.insert(ids.end(), prompt.begin(), prompt.end());
  }
  train::EngineConfig config;
  config.model = engine_model::spec();
  config.batch = static_cast<int>(questions.size());
  config.threads = kThreads;
  config.optimizer = false;
  SLUICE_TRY(const auto engine, train::Engine::make(config));
  SLUICE_TRY(const GptWeights weights, engine_model::weights());
  SLUICE_CHECK(put_weights(weights, *engine));
  if (prepare_) SLUICE_CHECK(prepare_(*engine));
  const std::vector<std::int32_t> labels(ids.size(), -1);
  train::BatchView batch;
  batch.ids = ids;
  batch.labels = labels;
  Progress::Bar bar = progress.bar("answers of the engine", questions.size(), "items");
  SLUICE_TRY(const auto evaluated, engine->evaluate(batch));
  const auto vocabulary = static_cast<std::size_t>(config.model.vocabulary);
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const std::size_t row = i * engine_model::kPromptTokens + engine_model::kAskedAfter - 1;
    const auto logits = std::span(evaluated.logits).subspan(row * vocabulary, vocabulary);
    answers.push_back({fmt::to_string(std::ranges::max_element(logits) - logits.begin())});
  }
  bar.add(questions.size());
  return answers;
}

}  // namespace sluice::eval
