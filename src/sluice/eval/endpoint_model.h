// sluice/eval/endpoint_model.h - a model behind an OpenAI-compatible HTTP address: answers only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/eval/eval.h"
#include "sluice/eval/language_model.h"
#include "sluice/storage/remote/http.h"

#include <memory>
#include <string>

namespace sluice::eval {

/// `POST <address>/completions` with temperature 0. The key of the variable OPENAI_API_KEY, where
/// it is set, goes into the Authorization header and nowhere else.
class EndpointModel final : public LanguageModel {
 public:
  /// Without a name the first model that `GET <address>/models` lists.
  static Result<std::unique_ptr<EndpointModel>> open(const EvalConfig& config);

  [[nodiscard]] Json describe() const override;
  [[nodiscard]] int context() const override { return 2048; }
  /// unsupported: the interface gives no probabilities of a given text.
  Result<Score> score(std::string_view text, int max_length, int stride,
                      Progress& progress) override;
  Result<std::vector<Answer>> answer(const std::vector<Question>& questions, int max_new_tokens,
                                     Progress& progress) override;

 private:
  EndpointModel() = default;
  [[nodiscard]] storage::HttpRequest request(const char* method, const char* path,
                                             std::string body) const;
  Result<Json> call(storage::HttpRequest request) const;

  std::shared_ptr<storage::HttpClient> client_;
  std::string address_;
  std::string model_;
  std::uint64_t seed_ = 0;
  int cancel_fd_ = -1;
};

}  // namespace sluice::eval
