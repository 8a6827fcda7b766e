// sluice/scenario/training/evaluation.cpp - batches through the engine, logits to loss and
// accuracy.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/training/evaluation.h"

#include "sluice/core/thread_pool.h"
#include "sluice/scenario/training/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace sluice::scenario {
namespace {

/// An engine that trains on soft targets wants some; what it makes of them is not used.
void make_targets(std::vector<float>& targets, std::span<const std::int32_t> labels, int classes) {
  const auto width = static_cast<std::size_t>(classes);
  targets.assign(labels.size() * width, 0.0F);
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] >= 0) targets[i * width + static_cast<std::size_t>(labels[i])] = 1.0F;
}

struct Scored {
  double loss = 0;
  bool correct = false;
};
Scored score_row(std::span<const float> row, std::size_t label) {
  const auto highest = std::max_element(row.begin(), row.end());
  double exponentials = 0;
  for (const float logit : row)
    exponentials += std::exp(static_cast<double>(logit) - static_cast<double>(*highest));
  return {std::log(exponentials) + static_cast<double>(*highest) - static_cast<double>(row[label]),
          highest - row.begin() == static_cast<std::ptrdiff_t>(label)};
}

}  // namespace

double Accuracy::top1() const {
  return samples == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(samples);
}

double Accuracy::loss() const {
  return samples == 0 ? 0 : loss_sum / static_cast<double>(samples);
}

Json to_json(const Accuracy& accuracy) {
  return Json{
      {"samples", accuracy.samples}, {"loss", accuracy.loss()}, {"accuracy", accuracy.top1()}};
}

void add_logits(Accuracy& sum, std::span<const float> logits,
                std::span<const std::int32_t> labels) {
  if (labels.empty()) return;
  const std::size_t classes = logits.size() / labels.size();
  std::vector<Scored> scored(labels.size());
  const auto score = [&](std::size_t i) {
    if (labels[i] >= 0)
      scored[i] =
          score_row(logits.subspan(i * classes, classes), static_cast<std::size_t>(labels[i]));
  };
  constexpr std::size_t kWorthThreads = 1 << 22;  // logits: a GPT has hundreds of millions a batch
  constexpr std::size_t kRows = 32;               // for a thread at a time
  ThreadPool threads(logits.size() < kWorthThreads ? 1 : usable_cores());
  threads.parallel_for((labels.size() + kRows - 1) / kRows, [&](std::size_t part, unsigned) {
    for (std::size_t i = part * kRows; i < std::min(labels.size(), (part + 1) * kRows); ++i)
      score(i);
  });
  for (std::size_t i = 0; i < labels.size(); ++i) {  // in order: the same sum every time
    if (labels[i] < 0) continue;
    sum.loss_sum += scored[i].loss;
    sum.correct += scored[i].correct ? 1 : 0;
    ++sum.samples;
  }
}

Result<Accuracy> evaluate(train::Engine& engine, TrainingFeed& feed, bool with_average,
                          const Stop& stop) {
  SLUICE_CHECK(feed.start_epoch(0));
  Accuracy mine;
  std::vector<float> targets;
  bool stopped = false;
  while (true) {
    stopped = stop && stop();
    if (stopped) break;
    auto next = feed.next();
    stopped = !next && next.error().code == Errc::interrupted;
    if (stopped) break;
    SLUICE_TRY(auto batch, std::move(next));
    if (!batch) break;
    if (engine.config().soft_targets) {
      make_targets(targets, batch->view.labels, engine.config().model.classes);
      batch->view.soft_targets = targets;
    }
    SLUICE_TRY(const auto evaluation, engine.evaluate(batch->view, with_average));
    add_logits(mine, evaluation.logits, batch->view.labels);
  }
  SLUICE_TRY(const Accuracy sum, Ranks(engine.config().world).total(mine, stopped));
  if (!std::isfinite(sum.loss_sum))
    return Error{Errc::measurement, fmt::format("validation after {} steps: the loss is {}",
                                                engine.steps(), sum.loss_sum)};
  return sum;
}

}  // namespace sluice::scenario
