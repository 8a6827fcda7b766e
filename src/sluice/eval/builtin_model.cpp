// sluice/eval/builtin_model.cpp - the recipe, the stream of documents, the steps.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/builtin_model.h"

#include "sluice/core/rng.h"
#include "sluice/eval/data.h"
#include "sluice/eval/gpt_model.h"

#include <fmt/format.h>

#include <span>
#include <utility>

namespace sluice::eval {
namespace {

constexpr std::string_view kSeparator = "%%\n";  // a line of its own between documents

constexpr std::string_view kQuestion = "Q:";
constexpr std::string_view kAnswer = "\nA:";
constexpr std::uint64_t kProseTurns = 4;
constexpr const char* kEmbedding = "embed.weight";

using Ids = std::vector<std::int32_t>;

struct Document {
  Ids ids;                  // its end included
  std::size_t learned = 0;  // tokens from here on are learned; those before are only read
  std::uint64_t turn = 0;   // seen in epochs where epoch % every is this
  std::uint64_t every = 1;
};

/// What is asked in a worked example is chance; only the answer can be learned.
Document document_of(const Tokenizer& tokenizer, std::string_view text) {
  Document out;
  if (text.starts_with(kQuestion)) {
    const std::size_t answer = text.find(kAnswer) + kAnswer.size();
    out.ids = tokenizer.encode(text.substr(0, answer));
    out.learned = out.ids.size();
    text.remove_prefix(answer);
  }
  const Ids rest = tokenizer.encode(text);
  out.ids.insert(out.ids.end(), rest.begin(), rest.end());
  out.ids.push_back(tokenizer.end());
  return out;
}

std::vector<Document> documents_of(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<Document> out;
  while (!text.empty()) {
    const std::size_t cut = text.find(kSeparator);
    out.push_back(document_of(tokenizer, text.substr(0, cut)));
    if (cut == std::string_view::npos) break;
    text.remove_prefix(cut + kSeparator.size());
  }
  return out;
}

/// Prose takes turns: of all its tokens an epoch sees a quarter, so that they are not learned by
/// heart while the examples are practised.
Result<std::vector<Document>> training_part(const Tokenizer& tokenizer) {
  SLUICE_TRY(const std::string_view examples, data_file(kTrainingExamples));
  SLUICE_TRY(const std::string_view prose, data_file("training_prose.txt"));
  std::vector<Document> out = documents_of(tokenizer, prose);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].every = kProseTurns;
    out[i].turn = i % kProseTurns;
  }
  for (Document& example : documents_of(tokenizer, examples))
    out.push_back(std::move(example));
  return out;
}

/// Epoch after epoch without an end, the documents of each in an order of its own.
class Stream {
 public:
  Stream(std::vector<Document> documents, std::uint64_t seed)
      : documents_(std::move(documents)), seed_(seed) {}

  /// The next `count` tokens and the one after each.
  void take(std::span<std::int32_t> ids, std::span<std::int32_t> labels) {
    while (ids_.size() < place_ + ids.size() + 1)
      add_epoch();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ids[i] = ids_[place_ + i];
      labels[i] = targets_[place_ + i + 1];
    }
    place_ += ids.size();
  }

 private:
  void add_epoch() {
    ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(place_));
    targets_.erase(targets_.begin(), targets_.begin() + static_cast<std::ptrdiff_t>(place_));
    place_ = 0;
    const std::uint64_t epoch = epoch_++;
    Rng rng({.seed = seed_, .epoch = epoch});
    rng.shuffle(std::span(documents_));
    for (const Document& document : documents_) {
      if (epoch % document.every != document.turn) continue;
      ids_.insert(ids_.end(), document.ids.begin(), document.ids.end());
      for (std::size_t i = 0; i < document.ids.size(); ++i)
        targets_.push_back(i < document.learned ? -1 : document.ids[i]);
    }
  }

  std::vector<Document> documents_;
  std::uint64_t seed_;
  std::uint64_t epoch_ = 0;
  Ids ids_;
  Ids targets_;  // the ids, -1 where they are not learned
  std::size_t place_ = 0;
};

}  // namespace

BuiltinRecipe builtin_recipe(int vocabulary) {
  BuiltinRecipe out;
  out.spec.name = "gpt-eval";
  out.spec.family = train::Family::gpt;
  out.spec.dim = 64;
  out.spec.layers = 2;
  out.spec.heads = 4;
  // Far larger than usual (1e-6), so that a wrong one shows in the figures.
  out.spec.norm_epsilon = 1e-3F;
  out.spec.vocabulary = vocabulary;
  out.spec.sequence = 64;
  out.steps = 2000;
  out.batch = 8;
  out.embedding_gain = 8;
  out.update.kind = train::OptimizerKind::adamw;
  out.update.learning_rate = 1.5e-2;
  out.update.weight_decay = 0.05;
  out.update.beta2 = 0.98;
  out.update.epsilon = 1e-8;
  out.update.warmup_steps = 100;
  out.update.total_steps = static_cast<std::uint64_t>(out.steps);
  return out;
}

Result<GptWeights> train_builtin(const Tokenizer& tokenizer, const BuiltinRecipe& recipe,
                                 std::uint64_t seed, Progress& progress, int cancel_fd) {
  SLUICE_TRY(std::vector<Document> documents, training_part(tokenizer));
  train::EngineConfig config;
  config.model = recipe.spec;
  config.batch = recipe.batch;
  config.threads = kThreads;
  config.update = recipe.update;
  config.seed = seed;
  SLUICE_TRY(const auto engine, train::Engine::make(config));
  SLUICE_TRY(std::vector<float> embeddings, engine->read(kEmbedding));
  for (float& value : embeddings)
    value *= recipe.embedding_gain;
  SLUICE_CHECK(engine->write(kEmbedding, embeddings));
  Stream stream(std::move(documents), seed);
  const auto tokens = static_cast<std::size_t>(recipe.batch * recipe.spec.sequence);
  Ids ids(tokens);
  Ids labels(tokens);
  train::BatchView batch;
  batch.ids = ids;
  batch.labels = labels;
  Progress::Bar bar = progress.bar("training", static_cast<std::uint64_t>(recipe.steps), "steps");
  for (int step = 0; step < recipe.steps; ++step) {
    SLUICE_CHECK(check_cancelled(cancel_fd));
    stream.take(ids, labels);
    SLUICE_CHECK(engine->micro_step(batch));
    SLUICE_TRY(const train::StepResult result, engine->update());
    bar.add(1, fmt::format("loss {:.3f}", result.loss));
  }
  return weights_of(*engine);
}

}  // namespace sluice::eval
