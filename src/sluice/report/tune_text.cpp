// sluice/report/tune_text.cpp - what `sluice tune` found, for people: evidence, recommendation, and
// how sure it is.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/tune_text.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <iterator>

namespace sluice::report {
namespace {

std::string name_of(const Json& setting) {
  return fmt::format("{} / {}", setting["workers"].get<std::int64_t>(),
                     setting["prefetch"].get<std::int64_t>());
}

std::string evidence_table(const Json& tune) {
  std::string text = fmt::format("{:<20} {:<10} {:>5}  {:>8}  {:<19} {}\n", "workers / prefetch",
                                 "against", "pairs", "ratio", "95 % interval", "outcome");
  for (const Json& one : tune["evidence"]) {
    std::string ratio = "-", interval = "-";
    if (one.contains("ratio")) {
      const Json& r = one["ratio"];
      ratio = fmt::format("{:.3f}", r["point"].get<double>());
      interval = fmt::format("{:.3f} to {:.3f}", r["low"].get<double>(), r["high"].get<double>());
    }
    std::string outcome = one["outcome"].get<std::string>();
    if (one.contains("reason")) outcome += ": " + printable(one["reason"].get<std::string>());
    fmt::format_to(std::back_inserter(text), "{:<20} {:<10} {:>5}  {:>8}  {:<19} {}\n",
                   name_of(one["setting"]), name_of(one["against"]),
                   one["pairs"].get<std::int64_t>(), ratio, interval, outcome);
  }
  return text;
}

std::string rates_line(const Json& tune) {
  std::string text;
  for (const Json& one : tune["rates"]) {
    if (!one.contains("rate")) continue;
    fmt::format_to(std::back_inserter(text), "{}{}: {:.0f}", text.empty() ? "" : ", ", name_of(one),
                   one["rate"].get<double>());
  }
  return "samples/s (workers / prefetch): " + text + "\n";
}

std::string scaling_line(const Json& scaling) {
  if (scaling.is_null()) return "";
  std::string text = fmt::format(
      "scaling at prefetch {}: X(N) = {:.0f} N / (1 + {:.4f} (N - 1) + {:.5f} N (N - 1)), off by "
      "{:.1f} %",
      scaling["prefetch"].get<std::int64_t>(), scaling["lambda"].get<double>(),
      scaling["sigma"].get<double>(), scaling["kappa"].get<double>(),
      100 * scaling["error"].get<double>());
  if (!scaling["peak_workers"].is_null())
    text += fmt::format("; highest at {:.1f} workers", scaling["peak_workers"].get<double>());
  return text + "\n";
}

/// How far the answer can be trusted, in words.
std::string certainty(const Json& tune) {
  const double worth = 100 * tune["worth"].get<double>();
  std::string text =
      tune["settled"].get<bool>()
          ? fmt::format(
                "settled after {} blocks, {:.0f} s: nothing compared can bring more than "
                "{:g} %",
                tune["blocks"].get<std::int64_t>(), tune["elapsed_s"].get<double>(), worth)
          : fmt::format(
                "not settled: {} blocks in {:.0f} of {:.0f} s could not rule out a gain of "
                "more than {:g} %; a longer --budget-s may",
                tune["blocks"].get<std::int64_t>(), tune["elapsed_s"].get<double>(),
                tune["budget_s"].get<double>(), worth);
  return text + fmt::format("; expected loss if wrong: {:.2f} %\n",
                            100 * tune["expected_loss"].get<double>());
}

}  // namespace

std::string tune_text(const results::ResultFile& file) {
  const Json& tune = file.extra["summary"]["tune"];
  std::string text = tune["evidence"].empty() ? "" : evidence_table(tune) + "\n";
  text += rates_line(tune) + scaling_line(tune["scaling"]);
  text +=
      fmt::format("fastest: workers {}, prefetch {}\n", tune["best"]["workers"].get<std::int64_t>(),
                  tune["best"]["prefetch"].get<std::int64_t>());
  text += fmt::format("recommended (cheapest within {:g} % of it): sluice bench dataloader {}\n",
                      100 * tune["worth"].get<double>(), tune["flags"].get<std::string>());
  return text + certainty(tune);
}

}  // namespace sluice::report
