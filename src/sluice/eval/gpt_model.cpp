// sluice/eval/gpt_model.cpp - windows and answers in batches through the engine.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/gpt_model.h"

#include "sluice/eval/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <poll.h>
#include <span>
#include <utility>

namespace sluice::eval {
namespace {

constexpr int kBatchTokens = 2048;  // of one forward pass, about
constexpr int kSequenceGrain = 32;

int batch_of(int sequence, std::size_t wanted) {
  const auto most = static_cast<std::size_t>(std::max(1, kBatchTokens / sequence));
  return static_cast<int>(std::clamp<std::size_t>(wanted, 1, most));
}

/// One forward pass: rows of `sequence` ids, filled up on the right, where nothing looks.
class Pass {
 public:
  Pass(train::Engine& engine, std::int32_t filler)
      : engine_(engine),
        sequence_(static_cast<std::size_t>(engine.config().model.sequence)),
        vocabulary_(static_cast<std::size_t>(engine.config().model.vocabulary)),
        ids_(sequence_ * static_cast<std::size_t>(engine.config().batch), filler),
        labels_(ids_.size(), -1) {}

  [[nodiscard]] std::size_t rows() const { return ids_.size() / sequence_; }
  [[nodiscard]] std::size_t sequence() const { return sequence_; }
  void set(std::size_t row, std::span<const std::int32_t> ids) {
    std::copy(ids.begin(), ids.end(), ids_.begin() + static_cast<std::ptrdiff_t>(row * sequence_));
  }
  Status run() {
    train::BatchView batch;
    batch.ids = ids_;
    batch.labels = labels_;
    SLUICE_TRY(auto evaluation, engine_.evaluate(batch));
    logits_ = std::move(evaluation.logits);
    return ok;
  }
  [[nodiscard]] std::span<const float> logits(std::size_t row, std::size_t place) const {
    return std::span(logits_).subspan((row * sequence_ + place) * vocabulary_, vocabulary_);
  }

 private:
  train::Engine& engine_;
  std::size_t sequence_;
  std::size_t vocabulary_;
  std::vector<std::int32_t> ids_;
  std::vector<std::int32_t> labels_;
  std::vector<float> logits_;
};

/// -log of the probability of `target`, summed in double from the largest down in memory order.
double surprise(std::span<const float> logits, std::int32_t target) {
  const double most = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (const float logit : logits)
    sum += std::exp(static_cast<double>(logit) - most);
  return std::log(sum) + most - static_cast<double>(logits[static_cast<std::size_t>(target)]);
}

/// One answer in the making.
struct Draft {
  std::vector<std::int32_t> ids;  // prompt and answer
  std::size_t prompt = 0;         // how many of them are the prompt
  bool done = false;
};

}  // namespace

Status check_cancelled(int fd) {
  pollfd entry{fd, POLLIN, 0};
  if (fd >= 0 && ::poll(&entry, 1, 0) > 0)
    return Error{Errc::interrupted, "the evaluation was interrupted; nothing was written"};
  return ok;
}

std::vector<std::int32_t> prompt_ids(const Tokenizer& tokenizer, std::string_view prompt) {
  std::vector<std::int32_t> ids = tokenizer.encode(prompt);
  if (ids.size() > kLongestPrompt) ids.erase(ids.begin(), ids.end() - kLongestPrompt);
  ids.insert(ids.begin(), tokenizer.end());
  return ids;
}

GptModel::GptModel(Tokenizer tokenizer, GptWeights weights, GptModelOptions options)
    : tokenizer_(std::move(tokenizer)),
      weights_(std::move(weights)),
      options_(std::move(options)) {}

Json GptModel::describe() const {
  Json out = options_.description;
  const train::ModelSpec& spec = weights_.spec;
  out["architecture"] = {{"family", "gpt"},
                         {"dim", spec.dim},
                         {"layers", spec.layers},
                         {"heads", spec.heads},
                         {"vocabulary", spec.vocabulary},
                         {"norm_epsilon", spec.norm_epsilon},
                         {"tied_head", spec.tied_head}};
  out["context"] = spec.sequence;
  out["parameters"] = train::parameter_count(spec);
  out["weights_sha256"] = weights_.digest();
  out["threads"] = kThreads;
  return out;
}

Result<std::unique_ptr<train::Engine>> GptModel::engine_of(int sequence, int batch) const {
  train::EngineConfig config;
  config.model = weights_.spec;
  config.model.sequence = sequence;
  config.batch = batch;
  config.threads = kThreads;
  config.optimizer = false;
  SLUICE_TRY(auto engine, train::Engine::make(config));
  SLUICE_CHECK(put_weights(weights_, *engine));
  if (options_.prepare) SLUICE_CHECK(options_.prepare(*engine));
  return engine;
}

Result<Score> GptModel::score(std::string_view text, int max_length, int stride,
                              Progress& progress) {
  // The end of a document before the text: its first token is scored like the others.
  std::vector<std::int32_t> stream{tokenizer_.end()};
  const std::vector<std::int32_t> ids = tokenizer_.encode(text);
  stream.insert(stream.end(), ids.begin(), ids.end());
  const auto length = static_cast<std::int64_t>(ids.size());
  if (length == 0) return Error{Errc::invalid_input, "the shard is empty; some text is accepted"};
  const std::vector<Window> windows = sliding_windows(length, max_length, stride);
  const int sequence = static_cast<int>(std::min<std::int64_t>(max_length, length));
  SLUICE_TRY(const auto engine, engine_of(sequence, batch_of(sequence, windows.size())));
  Pass pass(*engine, tokenizer_.end());
  Progress::Bar bar = progress.bar("perplexity", windows.size(), "windows");
  Score score{0, length};
  for (std::size_t first = 0; first < windows.size(); first += pass.rows()) {
    SLUICE_CHECK(check_cancelled(options_.cancel_fd));
    const std::size_t count = std::min(pass.rows(), windows.size() - first);
    const auto at = [&](std::int64_t place) { return stream.data() + place; };
    for (std::size_t row = 0; row < count; ++row) {
      const Window& window = windows[first + row];
      pass.set(row, std::span(at(window.begin), at(window.end)));
    }
    SLUICE_CHECK(pass.run());
    for (std::size_t row = 0; row < count; ++row) {
      const Window& window = windows[first + row];
      for (std::int64_t i = window.scored; i < window.end; ++i)
        score.nll +=
            surprise(pass.logits(row, static_cast<std::size_t>(i - window.begin)), *at(i + 1));
    }
    bar.add(count);
  }
  return score;
}

Result<std::vector<Answer>> GptModel::answer(const std::vector<Question>& questions,
                                             int max_new_tokens, Progress& progress) {
  std::vector<Draft> drafts;
  std::size_t longest = 0;
  for (const Question& question : questions) {
    Draft draft;
    draft.ids = prompt_ids(tokenizer_, question.prompt);
    draft.prompt = draft.ids.size();
    longest = std::max(longest, draft.prompt + static_cast<std::size_t>(max_new_tokens));
    drafts.push_back(std::move(draft));
  }
  const int wanted =
      static_cast<int>((longest + kSequenceGrain - 1) / kSequenceGrain * kSequenceGrain);
  const int sequence = std::min(wanted, context());
  SLUICE_TRY(const auto engine, engine_of(sequence, batch_of(sequence, questions.size())));
  Pass pass(*engine, tokenizer_.end());
  Progress::Bar bar = progress.bar("answers", questions.size(), "items");
  const auto text_of = [&](const Draft& draft) {
    return tokenizer_.decode(std::span(draft.ids).subspan(draft.prompt));
  };
  std::vector<std::size_t> open(drafts.size());
  for (std::size_t i = 0; i < open.size(); ++i)
    open[i] = i;
  for (int made = 0; made < max_new_tokens && !open.empty(); ++made) {
    for (std::size_t first = 0; first < open.size(); first += pass.rows()) {
      SLUICE_CHECK(check_cancelled(options_.cancel_fd));
      const std::size_t count = std::min(pass.rows(), open.size() - first);
      std::vector<std::size_t> last(count);
      for (std::size_t row = 0; row < count; ++row) {
        const std::vector<std::int32_t>& ids = drafts[open[first + row]].ids;
        const std::size_t seen = std::min(ids.size(), pass.sequence());
        pass.set(row, std::span(ids).last(seen));
        last[row] = seen - 1;
      }
      SLUICE_CHECK(pass.run());
      for (std::size_t row = 0; row < count; ++row) {
        Draft& draft = drafts[open[first + row]];
        const auto logits = pass.logits(row, last[row]);
        const auto best = static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) -
                                                    logits.begin());
        draft.ids.push_back(best);
        const std::string& stop = questions[open[first + row]].stop;
        draft.done = best == tokenizer_.end() ||
                     (!stop.empty() && text_of(draft).find(stop) != std::string::npos);
      }
    }
    const std::size_t before = open.size();
    open.erase(
        std::remove_if(open.begin(), open.end(), [&](std::size_t i) { return drafts[i].done; }),
        open.end());
    bar.add(before - open.size());
  }
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < drafts.size(); ++i)
    answers.push_back({std::string(until(text_of(drafts[i]), questions[i].stop))});
  return answers;
}

}  // namespace sluice::eval
