// sluice/report/html/answer_runs.cpp - the answers of diagnose, bench dataloader, bench training
// and watch.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/findings.h"
#include "sluice/report/format.h"
#include "sluice/report/html/answer.h"
#include "sluice/report/loader_text.h"
#include "sluice/report/training_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::report {
namespace {

/// What to do after a diagnosis. The one place that knows where a diagnosis keeps its advice.
std::vector<std::string> next_of(const results::Diagnosis& diagnosis) {
  return first_advice(diagnosis.findings);
}

std::string ms_words(const char* name, const stats::Estimate& ms) {
  return fmt::format("{} {:.3f} ms{}", name, ms.point,
                     ms.confidence > 0 ? fmt::format(" ({:.3f} to {:.3f})", ms.low, ms.high) : "");
}

std::string could_be_words(const results::Attribution& found) {
  std::vector<std::string> names;
  for (const results::Bottleneck one : found.could_also_be)
    names.emplace_back(results::to_string(one));
  return names.empty() ? "" : "within the intervals it could also be " + join(names, " or ");
}

std::vector<std::string> times_words(const results::Attribution& found) {
  const results::StepTimes& times = found.times;
  std::vector<std::string> reasons;
  if (std::isfinite(times.together.point))
    reasons.push_back(fmt::format(
        "per batch: {}, {}, {}; ideal {:.3f} ms", ms_words("loader alone", times.loader),
        ms_words("step alone", times.model), ms_words("together", times.together), found.ideal_ms));
  const stats::Estimate& wait = times.wait_share;
  if (std::isfinite(wait.point))
    reasons.push_back(
        fmt::format("waiting for data {:.1f} % of a step{}", wait.point * 100,
                    wait.confidence > 0 && std::isfinite(wait.low)
                        ? fmt::format(" ({:.1f} to {:.1f})", wait.low * 100, wait.high * 100)
                        : ""));
  if (std::string other = could_be_words(found); !other.empty())
    reasons.push_back(std::move(other));
  return reasons;
}

/// "decode takes 84.7 % of the workers' time; alone it would allow 2,537 samples/s".
std::string limit_words(const std::vector<results::StageShare>& stages, const std::string& limit) {
  const auto found =
      limit.empty()
          ? std::max_element(stages.begin(), stages.end(),
                             [](const auto& a, const auto& b) {
                               return (a.ceiling ? a.share : -1) < (b.ceiling ? b.share : -1);
                             })
          : std::find_if(stages.begin(), stages.end(),
                         [&](const auto& stage) { return stage.stage == limit; });
  if (found == stages.end()) return "";
  std::string out = fmt::format("{} takes {:.1f} % of the workers' time", printable(found->stage),
                                found->share * 100);
  if (found->ceiling)
    out += fmt::format("; alone it would allow {} samples/s", whole(*found->ceiling));
  return out;
}

/// The rows' own interval, with the number of runs behind it.
std::string runs_words(const measure::Row& row, const char* before = "over") {
  const std::string interval = interval_cell(row);
  return fmt::format("{} {} run{} median is {} {}{}", before, row.summary->n_runs,
                     row.summary->n_runs == 1 ? ": its" : "s: their",
                     scale_of(row).number(row.summary->median), scale_of(row).unit(),
                     interval == kNone ? "" : ", 95 % interval " + interval);
}

using results::TrainingMetrics;

/// The longest phase, as a clause of the headline and as a reason.
const std::pair<std::string, double>* longest_phase(const TrainingMetrics& metrics) {
  if (!metrics.phases.value || !(metrics.phases.value->natural_step_s > 0)) return nullptr;
  const auto& list = metrics.phases.value->per_step;
  const auto found = std::max_element(
      list.begin(), list.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return found == list.end() ? nullptr : &*found;
}

std::string phase_words(const TrainingMetrics& metrics) {
  const auto* longest = longest_phase(metrics);
  if (longest == nullptr) return "";
  return fmt::format("{} takes {:.3f} ms, {:.1f} % of a step", printable(longest->first),
                     longest->second * 1e3,
                     longest->second / metrics.phases.value->natural_step_s * 100);
}

std::string kept_words(const TrainingMetrics::Timing& timing) {
  std::string out = fmt::format("step p50 {} ms", figure(*timing.p50.value * 1e3));
  if (timing.p90.value) out += fmt::format(", p90 {} ms", figure(*timing.p90.value * 1e3));
  if (timing.run_p50 && timing.run_p50->size() > 1)
    out += fmt::format(", of run {} of {}, the one with the best median",
                       timing.kept_run.value_or(0) + 1, timing.run_p50->size());
  return out;
}

std::vector<std::string> training_reasons(const results::ResultFile& file) {
  const TrainingMetrics& metrics = *file.training;
  std::vector<std::string> reasons{kept_words(metrics.timing)};
  if (const measure::Row* row = only_row(file)) reasons.push_back(runs_words(*row));
  if (const std::string phase = phase_words(metrics); !phase.empty()) reasons.push_back(phase);
  if (metrics.amp.speedup)
    reasons.push_back(
        fmt::format("mixed precision is {:.2f} × as fast as fp32", metrics.amp.speedup->point));
  if (const auto peer = best_peer(file)) reasons.push_back(peer_words(file, *peer));
  const TrainingMetrics::Memory& memory = metrics.memory;
  if (memory.peak_allocated_bytes.value)
    reasons.push_back("peak memory " + bytes(*memory.peak_allocated_bytes.value));
  if (!metrics.mfu.p50.value && !metrics.mfu.p50.reason.empty() &&
      metrics.mfu.p50.reason != results::kMissingKey)
    reasons.push_back("MFU: not known: " + printable(metrics.mfu.p50.reason));
  return reasons;
}

std::vector<std::string> training_next(const results::ResultFile& file) {
  std::vector<std::string> next;
  constexpr std::size_t kMost = 3;
  if (file.training_summary)
    for (const std::string& one : file.training_summary->recommendations)
      if (next.size() < kMost) next.push_back(printable(one));
  const auto* longest = longest_phase(*file.training);
  if (next.empty() && longest != nullptr && longest->first == "data")
    next.emplace_back("The longest phase waits for data: `sluice diagnose` tells what limits it.");
  if (next.empty())
    next.emplace_back("After a change, measure again: `sluice compare` tells whether it paid.");
  return next;
}

/// Of a run without our own engine: the fastest of the libraries.
std::optional<Answer> libraries_answer(const results::TrainingSummary& summary) {
  const results::TrainingLibrary* best = nullptr;
  std::size_t measured = 0;
  for (const results::TrainingLibrary& one : summary.libraries) {
    if (one.status != "ok" || !one.samples_per_s) continue;
    ++measured;
    if (best == nullptr || *one.samples_per_s > *best->samples_per_s) best = &one;
  }
  if (best == nullptr) return std::nullopt;
  Answer answer;
  answer.headline = fmt::format("{} trains {} samples/s{}", printable(best->library),
                                figure(*best->samples_per_s),
                                measured > 1 ? fmt::format(", the fastest of {}", measured) : "");
  if (best->step_p50_ms)
    answer.reasons.push_back(fmt::format("step p50 {:.2f} ms", *best->step_p50_ms));
  answer.next.emplace_back("Our own engine was not asked for: `--libraries sluice,...` adds it.");
  return answer;
}

}  // namespace

std::optional<Answer> diagnosis_answer(const results::ResultFile& file) {
  if (!file.diagnosis) return std::nullopt;
  const results::Diagnosis& diagnosis = *file.diagnosis;
  Answer answer;
  answer.next = next_of(diagnosis);
  if (!diagnosis.attribution.value) {
    answer.headline = "What limits training is not known";
    if (!diagnosis.attribution.reason.empty())
      answer.headline += ": " + printable(diagnosis.attribution.reason);
    return answer;
  }
  answer.headline = printable(diagnosis.attribution.value->statement);
  answer.reasons = times_words(*diagnosis.attribution.value);
  if (diagnosis.outcome)
    answer.reasons.push_back(
        fmt::format("tried: {}; promised {:.2f} to {:.2f}×, measured {}",
                    printable(diagnosis.outcome->what), diagnosis.outcome->promised.low,
                    diagnosis.outcome->promised.high, ratio_text(diagnosis.outcome->gain)));
  if (std::string limit = limit_words(diagnosis.stages, ""); !limit.empty())
    answer.reasons.push_back("in the loader " + limit);
  return answer;
}

std::optional<Answer> loader_answer(const results::ResultFile& file) {
  if (!is_loader_file(file) || !file.loader->throughput.value) return std::nullopt;
  const results::LoaderMetrics& loader = *file.loader;
  Answer answer;
  answer.headline =
      fmt::format("The loader delivers {} samples/s", whole(*loader.throughput.value));
  const auto peer = best_peer(file);
  if (peer)
    answer.headline += fmt::format(", {}× as fast as {}", significant(peer->ratio.point, 3),
                                   printable(peer->peer));
  if (!loader.limit.empty()) answer.headline += "; " + printable(loader.limit) + " limits it";
  if (const measure::Row* row = only_row(file, string_at(file.run_config, "case")))
    answer.reasons.push_back(runs_words(*row, "the mean of"));
  if (std::string limit = limit_words(loader.stages, loader.limit); !limit.empty())
    answer.reasons.push_back(std::move(limit));
  if (peer) answer.reasons.push_back(peer_words(file, *peer));
  if (loader.step) {
    answer.reasons.push_back(printable(loader.step->statement));
    for (std::string& one : times_words(*loader.step))
      answer.reasons.push_back(std::move(one));
  }
  answer.next = first_advice(loader.findings);
  if (!loader.recommended.flags.empty())
    answer.next.push_back(fmt::format("Settings to use: `{}` ({})",
                                      printable(loader.recommended.flags),
                                      printable(loader.recommended.reason)));
  return answer;
}

std::optional<Answer> training_answer(const results::ResultFile& file) {
  if (!is_training_file(file))
    return file.training_summary ? libraries_answer(*file.training_summary) : std::nullopt;
  const TrainingMetrics& metrics = *file.training;
  Answer answer;
  answer.headline = fmt::format("A step takes {} ms", figure(*metrics.timing.p50.value * 1e3));
  if (metrics.throughput.samples_p50.value)
    answer.headline = fmt::format("{} samples/s: a step{} takes {} ms",
                                  figure(*metrics.throughput.samples_p50.value),
                                  metrics.throughput.samples_per_step
                                      ? fmt::format(" of {}", *metrics.throughput.samples_per_step)
                                      : "",
                                  figure(*metrics.timing.p50.value * 1e3));
  if (metrics.mfu.p50.value)
    answer.headline += fmt::format(", MFU {:.1f} % ({})", *metrics.mfu.p50.value * 100,
                                   printable(metrics.mfu.estimator));
  if (const auto peer = best_peer(file))
    answer.headline += fmt::format(", {}× as fast as {}", significant(peer->ratio.point, 3),
                                   printable(peer->peer));
  else if (const auto* longest = longest_phase(metrics))
    answer.headline += fmt::format("; its longest phase is {}", printable(longest->first));
  if (const std::string fed = feed_words(file); !fed.empty())
    answer.headline += fmt::format(" ({})", fed);
  answer.reasons = training_reasons(file);
  answer.next = training_next(file);
  return answer;
}

}  // namespace sluice::report
