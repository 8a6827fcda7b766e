// sluice/report/html/answer_sweeps.cpp - the answers of tune, bench storage, bench mixture and the
// tour.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/allreduce_text.h"
#include "sluice/report/format.h"
#include "sluice/report/html/answer.h"
#include "sluice/report/storage_text.h"
#include "sluice/report/tour_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::report {
namespace {

std::optional<double> rate_of(const results::TuneSummary& tune,
                              const results::TuneSetting& setting) {
  for (const results::TuneRate& one : tune.rates)
    if (one.setting == setting) return one.rate;
  return std::nullopt;
}

/// ", loader hybrid" of a GPU.
std::string lane_words(const results::TuneSetting& setting) {
  return setting.loader ? ", loader " + printable(*setting.loader) : "";
}

constexpr std::string_view kNext = "Next: ";

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

/// The parts of "Next: a; b; c.".
std::vector<std::string> next_parts(const std::string& sentence) {
  std::string rest = sentence.substr(kNext.size());
  if (rest.ends_with('.')) rest.pop_back();
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= rest.size();) {
    const std::size_t end = std::min(rest.find("; ", from), rest.size());
    parts.push_back(rest.substr(from, end - from));
    from = end + 2;
  }
  return parts;
}

/// Files of earlier versions have an expected loss without an interval.
std::string loss_words(const results::TuneSummary& tune) {
  if (tune.loss)
    return fmt::format("; loss to the fastest {:.1f} % ({:.1f} to {:.1f} %)",
                       100 * tune.loss->point, 100 * tune.loss->low, 100 * tune.loss->high);
  if (tune.expected_loss)
    return fmt::format("; expected loss if wrong: {:.2f} %", 100 * *tune.expected_loss);
  return "";
}

}  // namespace

std::optional<Answer> tune_answer(const results::ResultFile& file) {
  if (!file.tune) return std::nullopt;
  const results::TuneSummary& tune = *file.tune;
  Answer answer;
  answer.headline = fmt::format("Use {} worker{} and prefetch {}{}", tune.recommended.workers,
                                tune.recommended.workers == 1 ? "" : "s", tune.recommended.prefetch,
                                lane_words(tune.recommended));
  if (const auto rate = rate_of(tune, tune.recommended))
    answer.headline += fmt::format(": {} samples/s", whole(*rate));
  answer.reasons.push_back(fmt::format(
      "it is the cheapest setting within {:g} % of the fastest, {} workers and prefetch {}{}",
      100 * tune.worth, tune.best.workers, tune.best.prefetch, lane_words(tune.best)));
  answer.reasons.push_back(
      tune.settled
          ? fmt::format("settled after {} blocks: nothing compared can bring more than {:g} %",
                        tune.blocks, 100 * tune.worth)
          : fmt::format("not settled: {} blocks in {:.0f} s could not rule out a gain of more than "
                        "{:g} %{}",
                        tune.blocks, tune.elapsed_s, 100 * tune.worth, loss_words(tune)));
  answer.next.push_back(tune.paste.empty()
                            ? fmt::format("`sluice bench dataloader {}`", printable(tune.flags))
                            : fmt::format("`{}`", printable(tune.paste)));
  if (!tune.settled) answer.next.emplace_back("A longer `--budget-s` may settle it.");
  return answer;
}

std::optional<Answer> storage_answer(const results::ResultFile& file) {
  if (!file.storage || file.storage->lines.empty()) return std::nullopt;
  Answer answer;
  for (const std::string& line : split(storage_conclusion(file.storage->lines), '\n'))
    if (!line.empty())
      (answer.headline.empty() ? answer.headline : answer.reasons.emplace_back()) =
          capitalised(printable(line));
  if (answer.headline.empty()) return std::nullopt;
  answer.next.emplace_back(
      "`sluice bench dataloader` tells how much of that the loader needs: MB/s of its stage read.");
  return answer;
}

std::optional<Answer> allreduce_answer(const results::ResultFile& file) {
  if (!file.allreduce || file.allreduce->lines.empty()) return std::nullopt;
  Answer answer;
  for (const std::string& line : split(allreduce_conclusion(*file.allreduce), '\n'))
    if (!line.empty())
      (answer.headline.empty() ? answer.headline : answer.reasons.emplace_back()) =
          capitalised(printable(line));
  answer.next.emplace_back(
      "`sluice scale --result RUN` tells what a training step of more ranks would take over it.");
  return answer;
}

std::optional<Answer> mixture_answer(const results::ResultFile& file) {
  if (!file.mixture) return std::nullopt;
  const results::MixtureMetrics& mixture = *file.mixture;
  Answer answer;
  answer.headline = fmt::format("The mixture delivers {} samples/s", figure(mixture.samples_per_s));
  const auto peer = best_peer(file);
  if (peer)
    answer.headline += fmt::format(", {}× as fast as {}", significant(peer->ratio.point, 3),
                                   printable(peer->peer));
  answer.reasons.push_back(fmt::format("a batch of {} takes {} ms, p99 {} ms, over {} batches",
                                       mixture.batch_size, figure(mixture.time.mean * 1e3),
                                       figure(mixture.time.p99 * 1e3), mixture.measured_batches));
  if (peer) answer.reasons.push_back(peer_words(file, *peer));
  const auto most = std::max_element(
      mixture.stages.begin(), mixture.stages.end(),
      [](const results::StageCpu& a, const results::StageCpu& b) { return a.share < b.share; });
  if (most != mixture.stages.end())
    answer.reasons.push_back(
        fmt::format("{} uses {:.1f} % of its CPU time", printable(most->name), most->share * 100));
  if (!file.mixture_summary) return answer;
  const results::MixtureSummary& summary = *file.mixture_summary;
  if (!summary.statement.empty()) answer.reasons.push_back(printable(summary.statement));
  constexpr std::size_t kMostRemarks = 3;
  const std::vector<std::string> remarks = summary.remarks.value_or(std::vector<std::string>());
  for (std::size_t i = 0; i < std::min(remarks.size(), kMostRemarks); ++i)
    answer.reasons.push_back(printable(remarks[i]));
  if (remarks.size() > kMostRemarks)
    answer.reasons.push_back(
        fmt::format("and {} more remarks in the result file", remarks.size() - kMostRemarks));
  answer.next.emplace_back(
      summary.short_run
          ? "Repeat it with more `--steps`: this run is too short to conclude from."
          : "`sluice bench mixture --study FILE` compares settings, each of them several times.");
  return answer;
}

std::optional<Answer> tour_answer(const results::ResultFile& file) {
  std::vector<std::string> found = found_sentences(file);
  if (found.empty()) return std::nullopt;
  Answer answer;
  if (found.back().starts_with(kNext)) {
    answer.next = next_parts(found.back());
    found.pop_back();
  }
  // Without others beside us the verdict of the diagnosis says more than that nobody was there.
  const bool alone = file.tour && !file.tour->peers_reason.empty();
  if (const bool known = file.diagnosis && file.diagnosis->attribution.value; alone && known) {
    const results::Diagnosis& diagnosis = *file.diagnosis;
    answer.headline = printable(diagnosis.attribution.value->statement);
    answer.reasons.push_back("this is of " + printable(diagnosis.step));
  } else if (!found.empty()) {
    answer.headline = found.front();
    found.erase(found.begin());
  }
  if (alone) std::reverse(found.begin(), found.end());
  answer.reasons.insert(answer.reasons.end(), found.begin(), found.end());
  return answer;
}

}  // namespace sluice::report
