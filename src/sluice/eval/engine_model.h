// sluice/eval/engine_model.h - a GPT of fixed numbers whose answers are known beforehand: what it
// gets wrong, the engine got wrong.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/eval/gpt_weights.h"
#include "sluice/eval/language_model.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace sluice::eval {

/// Nothing of it is trained, so it is the same model on every machine, and so are its answers: the
/// stored ones come from a plain computation in double, and lie apart from the second best by far
/// more than rounding. Weights are large, so that norms, attention and GELU all matter.
namespace engine_model {
inline constexpr int kPromptTokens = 48;
/// Asked is what follows this many tokens; those after it must not be seen.
inline constexpr int kAskedAfter = 32;

train::ModelSpec spec();
Result<GptWeights> weights();
/// Token ids of prompt `number`.
std::vector<std::int32_t> prompt(std::uint64_t number);
}  // namespace engine_model

class EngineModel final : public LanguageModel {
 public:
  /// `prepare` is called with the engine before its first pass; tests change it there.
  explicit EngineModel(std::function<Status(train::Engine&)> prepare = {})
      : prepare_(std::move(prepare)) {}

  [[nodiscard]] Json describe() const override;
  [[nodiscard]] int context() const override { return engine_model::kPromptTokens; }
  /// Errc::unsupported: it has no language.
  Result<Score> score(std::string_view text, int max_length, int stride,
                      Progress& progress) override;
  /// A prompt is the number of one; the answer is one token, as a number.
  Result<std::vector<Answer>> answer(const std::vector<Question>& questions, int max_new_tokens,
                                     Progress& progress) override;

 private:
  std::function<Status(train::Engine&)> prepare_;
};

}  // namespace sluice::eval
