// sluice/eval/worker_model.cpp - questions to a worker, and what is believed of its answers.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/worker_model.h"

#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/measure/worker/messages.h"
#include "sluice/measure/worker/reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice::eval {
namespace {

using measure::Reply;

constexpr double kStartTimeout_s = 600;   // importing and loading a large model
constexpr double kScoreTimeout_s = 3600;  // the whole shard
constexpr double kAnswerTimeout_s = 600;  // one question
constexpr int kContextUnlessSaid = 2048;  // of a worker that does not say

}  // namespace

Result<std::unique_ptr<WorkerModel>> WorkerModel::start(const EvalConfig& config,
                                                        measure::Launcher& launcher) {
  measure::LaunchOptions options;
  options.command = config.worker;
  options.log_file = config.worker_log;
  options.cancel_fd = config.cancel_fd;
  SLUICE_TRY(auto worker, launcher.launch(options));
  std::unique_ptr<WorkerModel> model(new WorkerModel(std::move(worker), config.seed));
  SLUICE_CHECK(model->greet());
  return model;
}

WorkerModel::~WorkerModel() {
  worker_->finish();
}

Status WorkerModel::greet() {
  SLUICE_TRY(const auto hello, measure::ask(*worker_, measure::Hello{}, kStartTimeout_s));
  const std::string name = hello.library.empty() ? "worker" : hello.library;
  SLUICE_TRY(
      const auto configured,
      measure::ask(*worker_,
                   measure::Configure{.threads = static_cast<int>(usable_cores()), .seed = seed_},
                   kStartTimeout_s));
  const Reply reply("configure", configured.more);
  SLUICE_TRY(const std::int64_t context, reply.integer("context", 64, 1 << 24, kContextUnlessSaid));
  SLUICE_TRY(const std::string model, reply.text("model", name));
  context_ = static_cast<int>(context);
  description_ = {{"kind", "worker"},   {"name", model},
                  {"library", name},    {"version", hello.version},
                  {"context", context}, {"threads", configured.threads}};
  return ok;
}

Result<Score> WorkerModel::score(std::string_view text, int max_length, int stride,
                                 Progress& progress) {
  const Progress::Bar bar = progress.bar("perplexity", 0);
  SLUICE_TRY(const auto answer,
             measure::ask(*worker_, measure::Logprobs{to_utf8(text), max_length, stride},
                          kScoreTimeout_s));
  Score score;
  for (const double logprob : answer.logprobs) {
    score.nll -= logprob;
    ++score.tokens;
  }
  return score;
}

Result<std::vector<Answer>> WorkerModel::answer(const std::vector<Question>& questions,
                                                int max_new_tokens, Progress& progress) {
  std::vector<Answer> answers;
  Progress::Bar bar = progress.bar("answers", questions.size(), "items");
  for (const Question& question : questions) {
    const measure::Generate request{question.prompt, kLongestPrompt, max_new_tokens, question.stop,
                                    seed_};
    SLUICE_TRY(const auto answer, measure::ask(*worker_, request, kAnswerTimeout_s));
    if (answer.error) {
      answers.push_back({{}, *answer.error});
    } else {
      answers.push_back({std::string(until(answer.text, question.stop))});
    }
    bar.add();
  }
  return answers;
}

}  // namespace sluice::eval
