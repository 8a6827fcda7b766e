// sluice/eval/language_model.h - what an evaluation asks of a model, wherever it runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/progress.h"
#include "sluice/core/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::eval {

inline constexpr int kLongestPrompt = 512;  // tokens; of a longer prompt the last ones count

struct Question {
  std::string prompt;
  std::string stop;  // the answer ends before it; empty: only where the model ends it
};

struct Answer {
  std::string text;
  std::string error{};  // why there is no text; empty otherwise
};

/// Surprise over a text, in nats.
struct Score {
  double nll = 0;           // the sum of -log p of every token, given those before it in its window
  std::int64_t tokens = 0;  // how many
};

class LanguageModel {
 public:
  virtual ~LanguageModel() = default;

  /// Computed by our engine: then sets that ask the engine say something about it.
  [[nodiscard]] virtual bool is_ours() const { return false; }
  /// kind, name, and what fixes its answers (sizes, digest of the weights).
  [[nodiscard]] virtual Json describe() const = 0;
  /// Tokens that it was made for.
  [[nodiscard]] virtual int context() const = 0;
  /// Every token of the text once, in windows of `max_length` that advance by `stride`.
  /// unsupported, with the reason: this model gives no probabilities.
  virtual Result<Score> score(std::string_view text, int max_length, int stride,
                              Progress& progress) = 0;
  /// Greedy. An answer for every question, in their order; an error of the model itself ends it.
  virtual Result<std::vector<Answer>> answer(const std::vector<Question>& questions,
                                             int max_new_tokens, Progress& progress) = 0;
};

/// Text up to `stop`; all of it when that is empty or not there.
inline std::string_view until(std::string_view text, std::string_view stop) {
  return stop.empty() ? text : text.substr(0, text.find(stop));
}

}  // namespace sluice::eval
