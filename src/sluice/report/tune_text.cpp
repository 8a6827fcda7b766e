// sluice/report/tune_text.cpp - what `sluice tune` found, for people: one ranking, what to use and
// why, and how sure that is.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/tune_text.h"

#include "sluice/core/text.h"
#include "sluice/report/figures.h"
#include "sluice/report/torch_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace sluice::report {
namespace {

constexpr double kLongest_s = 48 * 3600;  // beyond it, a time to wait is no advice

std::string name_of(const results::TuneSetting& setting) {
  if (setting.workers == 0) return "0 / -";  // nothing is made ahead
  return fmt::format("{} / {}{}", setting.workers, setting.prefetch,
                     setting.loader ? " / " + printable(*setting.loader) : "");
}

/// What the names are made of.
std::string title_of(const results::TuneSetting& setting) {
  return setting.loader ? "workers / prefetch / loader" : "workers / prefetch";
}

std::string words_of(const results::TuneSetting& setting) {
  if (setting.workers == 0) return "no workers";
  std::string words = fmt::format("{} worker{}, prefetch {}", setting.workers,
                                  setting.workers == 1 ? "" : "s", setting.prefetch);
  if (setting.loader) words += ", loader " + printable(*setting.loader);
  if (setting.pinned_slots) words += fmt::format(" ({} pinned slots)", *setting.pinned_slots);
  return words;
}

/// "+3.1 %", of a ratio.
std::string change(double ratio) {
  return fmt::format("{:+.1f} %", 100 * (ratio - 1));
}

std::string change_interval(const stats::Estimate& ratio) {
  if (!(ratio.high < 20 * ratio.low)) return "wide";
  return fmt::format("{:+.1f} to {:+.1f} %", 100 * (ratio.low - 1), 100 * (ratio.high - 1));
}

std::string ranking_table(const results::TuneSummary& tune) {
  const std::string title = title_of(tune.recommended);
  const std::size_t wide = std::max<std::size_t>(title.size(), 20);
  std::string text = fmt::format("{:<{}} {:>10} {:>13}  {:<20} {:>8}\n", title, wide, "samples/s",
                                 "to the first", "95 % interval", "measured");
  bool first = true;
  for (const results::TunePlace& one : tune.ranking) {
    const std::string ratio = first ? "" : one.ratio ? change(one.ratio->point) : "?";
    const std::string interval = first       ? ""
                                 : one.ratio ? change_interval(*one.ratio)
                                             : "too few blocks";
    fmt::format_to(std::back_inserter(text), "{:<{}} {:>10.0f} {:>13}  {:<20} {:>7}x\n",
                   name_of(one.setting), wide, one.rate, ratio, interval, one.n);
    first = false;
  }
  return text;
}

/// Rates of a file without a ranking; fastest first, no intervals.
std::string rates_table(std::vector<results::TuneRate> rates) {
  std::stable_sort(rates.begin(), rates.end(), [](const auto& a, const auto& b) {
    return a.rate.value_or(0) > b.rate.value_or(0);
  });
  std::string text =
      fmt::format("{:<20} {:>10} {:>8}\n", "workers / prefetch", "samples/s", "measured");
  for (const results::TuneRate& one : rates)
    if (one.rate)
      fmt::format_to(std::back_inserter(text), "{:<20} {:>10.0f} {:>7}x\n", name_of(one.setting),
                     *one.rate, one.n);
  return text +
         "An earlier version wrote this file: its rates come from different blocks and have "
         "no intervals.\n";
}

std::string failures(const results::TuneSummary& tune) {
  std::string text;
  for (const results::TuneEvidence& one : tune.evidence)
    if (!one.reason.empty())
      fmt::format_to(std::back_inserter(text), "{:<20} {}: {}\n", name_of(one.setting),
                     printable(one.outcome), printable(one.reason));
  return text;
}

std::string scaling_line(const results::TuneScaling& scaling) {
  std::string text = fmt::format(
      "scaling at prefetch {}{}: X(N) = {:.0f} N / (1 + {:.4f} (N - 1) + {:.5f} N (N - 1)), off by "
      "{:.1f} %",
      scaling.prefetch, scaling.loader ? ", loader " + printable(*scaling.loader) : "",
      scaling.lambda, scaling.sigma, scaling.kappa, 100 * scaling.error);
  if (scaling.peak_workers)
    text += fmt::format("; highest at {:.1f} workers", *scaling.peak_workers);
  return text + "\n";
}

/// Which of the two it is: the first, or the cheapest that is as good.
std::string why(const results::TuneSummary& tune) {
  const double worth = 100 * tune.worth;
  if (tune.recommended != tune.best)
    return fmt::format("It is the cheapest setting that loses no more than {:g} % to the first.",
                       worth);
  if (tune.choice.empty()) return "It is the fastest that the search knew.";
  if (tune.ranking.size() < 2) return "It is the only setting that was measured.";
  return fmt::format(
      "It is the first of the ranking; no cheaper setting is known to lose less than {:g} % to it.",
      worth);
}

std::string gain_line(const results::TuneSummary& tune) {
  if (!tune.gain || !tune.reference) return "";
  std::string over = words_of(*tune.reference);
  if (tune.library != "sluice") {
    over = torch_loader_line(*tune.reference);
    if (tune.reference->workers == 0) over += ", PyTorch's default";
  }
  const bool told = tune.gain->low > 1 || tune.gain->high < 1;
  return fmt::format("Gain over {}: {} (95 % interval {}){}\n", over, change(tune.gain->point),
                     change_interval(*tune.gain), told ? "" : "; that may be chance");
}

/// The one place that says what may be lost.
std::string loss_line(const results::TuneSummary& tune) {
  if (!tune.loss) return "";
  return fmt::format(
      "Loss to the fastest setting of the ranking: {:.1f} % (95 % interval {:.1f} to {:.1f} %)\n",
      100 * tune.loss->point, 100 * tune.loss->low, 100 * tune.loss->high);
}

std::string settings_text(int count) {
  return count == 1 ? "1 other setting" : fmt::format("{} other settings", count);
}

/// How much more data would answer, from the noise and the time of a measurement so far.
std::string missing_data(const results::TuneSummary& tune) {
  std::string text = "Not enough data: ";
  if (!tune.noise)
    text += "too few blocks were measured to know the noise.";
  else if (tune.open > 0)
    text +=
        fmt::format("{} may be faster by more than {:g} %, and a measurement varies by {:.1f} %.",
                    settings_text(tune.open), 100 * tune.worth, 100 * *tune.noise);
  else
    text += "the search ended before all settings near it were tried.";
  if (!tune.more_s)
    return text + fmt::format(" Give it a larger --budget-s than {:.0f}.\n", tune.budget_s);
  if (*tune.more_s > kLongest_s)
    return text +
           " To tell them apart would take days: make the machine quieter, or --worth "
           "larger.\n";
  const double budget_s = std::ceil((tune.budget_s + *tune.more_s) / 10) * 10;
  return text + fmt::format(" {} {} more: --budget-s {:.0f}.\n",
                            tune.noise ? "It takes about" : "A first look takes about",
                            minutes_text(*tune.more_s), budget_s);
}

std::string certainty(const results::TuneSummary& tune) {
  if (tune.choice.empty())
    return tune.settled ? "Settled.\n" : "Not settled: measure again for an interval.\n";
  if (!tune.settled) return missing_data(tune);
  return fmt::format(
      "Settled after {} blocks in {:.0f} s: no setting near it is faster by more than {:g} %.\n",
      tune.blocks, tune.elapsed_s, 100 * tune.worth);
}

}  // namespace

std::string minutes_text(double seconds) {
  const double minutes = std::max(1.0, std::ceil(seconds / 60));
  if (minutes >= 120) return fmt::format("{:.0f} hours", std::ceil(minutes / 60));
  return minutes == 1 ? "1 minute" : fmt::format("{:.0f} minutes", minutes);
}

std::vector<std::string> tune_sentences(const results::TuneSummary& tune) {
  const std::string text =
      failures(tune) + (tune.scaling ? scaling_line(*tune.scaling) : "") +
      fmt::format("Recommended: {}. {} `{}`\n", words_of(tune.recommended), why(tune),
                  tune.paste.empty() ? "sluice bench dataloader " + printable(tune.flags)
                                     : printable(tune.paste)) +
      gain_line(tune) + loss_line(tune) + certainty(tune);
  std::vector<std::string> lines = split(text, '\n');
  std::erase(lines, "");
  return lines;
}

std::string tune_text(const results::ResultFile& file) {
  if (!file.tune) return "";
  const results::TuneSummary& tune = *file.tune;
  std::string text = tune.ranking.empty() ? rates_table(tune.rates) : ranking_table(tune);
  text += failures(tune) + (tune.scaling ? scaling_line(*tune.scaling) : "");
  text += fmt::format("\nRecommended: {}. {}\n", words_of(tune.recommended), why(tune));
  text += tune.paste.empty() ? fmt::format("  sluice bench dataloader {}\n", printable(tune.flags))
                             : fmt::format("  {}\n", printable(tune.paste));
  return text + gain_line(tune) + loss_line(tune) + certainty(tune);
}

}  // namespace sluice::report
