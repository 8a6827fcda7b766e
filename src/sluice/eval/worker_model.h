// sluice/eval/worker_model.h - any model behind the worker protocol (docs/peer-protocol.md):
// `logprobs` and `generate`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/eval/eval.h"
#include "sluice/eval/language_model.h"
#include "sluice/measure/worker/worker.h"

#include <memory>

namespace sluice::eval {

class WorkerModel final : public LanguageModel {
 public:
  /// Starts the program of config.worker, says hello and configures it.
  static Result<std::unique_ptr<WorkerModel>> start(const EvalConfig& config,
                                                    measure::Launcher& launcher);
  ~WorkerModel() override;
  WorkerModel(const WorkerModel&) = delete;
  WorkerModel& operator=(const WorkerModel&) = delete;

  [[nodiscard]] Json describe() const override { return description_; }
  [[nodiscard]] int context() const override { return context_; }
  Result<Score> score(std::string_view text, int max_length, int stride,
                      Progress& progress) override;
  Result<std::vector<Answer>> answer(const std::vector<Question>& questions, int max_new_tokens,
                                     Progress& progress) override;

 private:
  WorkerModel(std::unique_ptr<measure::Worker> worker, std::uint64_t seed)
      : worker_(std::move(worker)), seed_(seed) {}
  Status greet();

  std::unique_ptr<measure::Worker> worker_;
  std::uint64_t seed_;
  Json description_;
  int context_ = 0;
};

}  // namespace sluice::eval
