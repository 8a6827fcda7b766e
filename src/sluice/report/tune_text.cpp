// sluice/report/tune_text.cpp - what `sluice tune` found, for people: evidence, recommendation, and
// how sure it is.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/tune_text.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <iterator>

namespace sluice::report {
namespace {

std::string name_of(const results::TuneSetting& setting) {
  return fmt::format("{} / {}", setting.workers, setting.prefetch);
}

std::string evidence_table(const results::TuneSummary& tune) {
  std::string text = fmt::format("{:<20} {:<10} {:>5}  {:>8}  {:<19} {}\n", "workers / prefetch",
                                 "against", "pairs", "ratio", "95 % interval", "outcome");
  for (const results::TuneEvidence& one : tune.evidence) {
    std::string ratio = "-", interval = "-";
    if (one.ratio) {
      ratio = fmt::format("{:.3f}", one.ratio->point);
      interval = fmt::format("{:.3f} to {:.3f}", one.ratio->low, one.ratio->high);
    }
    fmt::format_to(std::back_inserter(text), "{:<20} {:<10} {:>5}  {:>8}  {:<19} {}{}\n",
                   name_of(one.setting), name_of(one.against), one.pairs, ratio, interval,
                   printable(one.outcome), one.reason.empty() ? "" : ": " + printable(one.reason));
  }
  return text;
}

std::string rates_line(const results::TuneSummary& tune) {
  std::string text;
  for (const results::TuneRate& one : tune.rates)
    if (one.rate)
      fmt::format_to(std::back_inserter(text), "{}{}: {:.0f}", text.empty() ? "" : ", ",
                     name_of(one.setting), *one.rate);
  return "samples/s (workers / prefetch): " + text + "\n";
}

std::string scaling_line(const results::TuneScaling& scaling) {
  std::string text = fmt::format(
      "scaling at prefetch {}: X(N) = {:.0f} N / (1 + {:.4f} (N - 1) + {:.5f} N (N - 1)), off by "
      "{:.1f} %",
      scaling.prefetch, scaling.lambda, scaling.sigma, scaling.kappa, 100 * scaling.error);
  if (scaling.peak_workers)
    text += fmt::format("; highest at {:.1f} workers", *scaling.peak_workers);
  return text + "\n";
}

/// How far the answer can be trusted, in words.
std::string certainty(const results::TuneSummary& tune) {
  const double worth = 100 * tune.worth;
  const std::string text =
      tune.settled ? fmt::format(
                         "settled after {} blocks, {:.0f} s: nothing compared can bring more than "
                         "{:g} %",
                         tune.blocks, tune.elapsed_s, worth)
                   : fmt::format(
                         "not settled: {} blocks in {:.0f} of {:.0f} s could not rule out a gain "
                         "of more than {:g} %; a longer --budget-s may",
                         tune.blocks, tune.elapsed_s, tune.budget_s, worth);
  return text + fmt::format("; expected loss if wrong: {:.2f} %\n", 100 * tune.expected_loss);
}

}  // namespace

std::string tune_text(const results::ResultFile& file) {
  if (!file.tune) return "";
  const results::TuneSummary& tune = *file.tune;
  std::string text = tune.evidence.empty() ? "" : evidence_table(tune) + "\n";
  text += rates_line(tune) + (tune.scaling ? scaling_line(*tune.scaling) : "");
  text += fmt::format("fastest: workers {}, prefetch {}\n", tune.best.workers, tune.best.prefetch);
  text += fmt::format("recommended (cheapest within {:g} % of it): sluice bench dataloader {}\n",
                      100 * tune.worth, printable(tune.flags));
  return text + certainty(tune);
}

}  // namespace sluice::report
