// sluice/eval/gpt_model.h - our GPT as a language model: forward passes of the CPU engine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/eval/gpt_weights.h"
#include "sluice/eval/language_model.h"
#include "sluice/eval/tokenizer.h"

#include <functional>
#include <memory>

namespace sluice::eval {

/// Threads of every engine here, whatever the machine has: the split of a product decides its bits,
/// and a small model gains little from a second one.
inline constexpr int kThreads = 1;

struct GptModelOptions {
  Json description{};  // kind, name; the rest is added
  int cancel_fd = -1;
  /// Called with every engine before its first pass; tests change one here.
  std::function<Status(train::Engine&)> prepare{};
};

class GptModel final : public LanguageModel {
 public:
  GptModel(Tokenizer tokenizer, GptWeights weights, GptModelOptions options);

  [[nodiscard]] bool is_ours() const override { return true; }
  [[nodiscard]] Json describe() const override;
  [[nodiscard]] int context() const override { return weights_.spec.sequence; }
  Result<Score> score(std::string_view text, int max_length, int stride,
                      Progress& progress) override;
  Result<std::vector<Answer>> answer(const std::vector<Question>& questions, int max_new_tokens,
                                     Progress& progress) override;

 private:
  Result<std::unique_ptr<train::Engine>> engine_of(int sequence, int batch) const;

  Tokenizer tokenizer_;
  GptWeights weights_;
  GptModelOptions options_;
};

/// What an answer goes on from: the end of a document, then the prompt, of which the last
/// kLongestPrompt tokens count.
std::vector<std::int32_t> prompt_ids(const Tokenizer& tokenizer, std::string_view prompt);

/// interrupted when `fd` is readable; -1: never.
Status check_cancelled(int fd);

}  // namespace sluice::eval
