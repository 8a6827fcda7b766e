// sluice/report/gate/history_text.cpp - the trend of a figure for a terminal and for a browser.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gate/history_text.h"

#include "sluice/core/text.h"
#include "sluice/report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sluice::report {
namespace {

constexpr std::size_t kSparkVisits = 60;
constexpr double kTrendWidth = 900, kTrendHeight = 320, kTrendLeft = 90, kTrendRight = 20,
                 kTrendTop = 40, kTrendBottom = 40;

std::string commit_text(const std::string& commit) {
  return printable(commit).substr(0, 12);
}

double value_of(const gate::Trend& trend, std::size_t i) {
  return trend.visits[i].figures.at(trend.figure);
}

struct ValueRange {
  double low = 0, high = 0;
};
ValueRange range_of(const gate::Trend& trend, std::size_t first) {
  ValueRange range{value_of(trend, first), value_of(trend, first)};
  for (std::size_t i = first; i < trend.visits.size(); ++i) {
    range.low = std::min(range.low, value_of(trend, i));
    range.high = std::max(range.high, value_of(trend, i));
  }
  return range;
}

std::string spark(const gate::Trend& trend) {
  static constexpr std::array kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t n = trend.visits.size();
  const std::size_t first = n > kSparkVisits ? n - kSparkVisits : 0;
  const ValueRange range = range_of(trend, first);
  std::string line;
  for (std::size_t i = first; i < n; ++i) {
    const double share =
        range.high > range.low ? (value_of(trend, i) - range.low) / (range.high - range.low) : 0.5;
    line += kBlocks[std::min<std::size_t>(static_cast<std::size_t>(share * kBlocks.size()),
                                          kBlocks.size() - 1)];
  }
  return line;
}

std::string change_line(const gate::Trend& trend, const gate::TrendChange& change) {
  return fmt::format("  {}  {:+.1f} %  {} -> {}  p {:.2g}  in {}..{}{}\n",
                     printable(trend.visits[change.index].timestamp), change.change_pct,
                     significant(change.before, 4), significant(change.after, 4), change.p,
                     commit_text(change.last_commit), commit_text(change.first_commit),
                     change.went_away ? "  (went away again)" : "");
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    if (c == '<')
      result += "&lt;";
    else if (c == '&')
      result += "&amp;";
    else if (c == '>')
      result += "&gt;";
    else
      result += c;
  }
  return result;
}

}  // namespace

std::string history_text(const gate::Trend& trend, const std::string& machine_profile) {
  std::string text = fmt::format("{} on {}: {} stored run{}\n", printable(trend.figure),
                                 printable(machine_profile), trend.visits.size(),
                                 trend.visits.size() == 1 ? "" : "s");
  if (trend.visits.empty()) return text;
  const ValueRange range = range_of(trend, 0);
  text += fmt::format("{}\nlowest {}, highest {}, newest {}\n", spark(trend),
                      significant(range.low, 4), significant(range.high, 4),
                      significant(value_of(trend, trend.visits.size() - 1), 4));
  if (trend.changes.empty()) return text + "no change of level\n";
  text += "changes of level:\n";
  for (const gate::TrendChange& change : trend.changes)
    text += change_line(trend, change);
  return text;
}

std::string history_svg(const gate::Trend& trend, const std::string& machine_profile) {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n<text x=\"{2}\" y=\"22\" font-size=\"14\">{3} on {4}</text>\n",
      kTrendWidth, kTrendHeight, kTrendLeft, escaped(trend.figure), escaped(machine_profile));
  if (trend.visits.empty()) return svg + "</svg>\n";
  const std::size_t n = trend.visits.size();
  const ValueRange range = range_of(trend, 0);
  const double pad = range.high > range.low ? (range.high - range.low) * 0.08 : range.high * 0.05;
  const double low = range.low - pad;
  const double high = range.high + pad;
  const auto x_of = [&](double i) {
    return kTrendLeft + (kTrendWidth - kTrendLeft - kTrendRight) *
                            (n > 1 ? i / static_cast<double>(n - 1) : 0.5);
  };
  const auto y_of = [&](double value) {
    return kTrendTop + (kTrendHeight - kTrendTop - kTrendBottom) * (high - value) / (high - low);
  };
  for (const double value : {range.low, (range.low + range.high) / 2, range.high})
    svg += fmt::format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        kTrendLeft, kTrendWidth - kTrendRight, y_of(value), y_of(value), kTrendLeft - 6,
        y_of(value) + 4, significant(value, 4));
  std::size_t begin = 0;
  for (std::size_t k = 0; k <= trend.changes.size() && !trend.changes.empty(); ++k) {
    const bool last = k == trend.changes.size();
    const std::size_t end = last ? n : trend.changes[k].index;
    const double level = k == 0 ? trend.changes[0].before : trend.changes[k - 1].after;
    svg += fmt::format(
        "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" "
        "stroke=\"#c60\" stroke-width=\"2\"/>\n",
        x_of(static_cast<double>(begin)), x_of(static_cast<double>(end - 1)), y_of(level),
        y_of(level));
    begin = end;
  }
  for (std::size_t i = 0; i < n; ++i)
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"#06c\"><title>{} {} "
        "{}</title></circle>\n",
        x_of(static_cast<double>(i)), y_of(value_of(trend, i)), escaped(trend.visits[i].timestamp),
        escaped(commit_text(trend.visits[i].commit)), significant(value_of(trend, i), 5));
  for (const gate::TrendChange& change : trend.changes)
    svg += fmt::format(
        "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" fill=\"#c60\">{:+.1f} "
        "%</text>\n",
        x_of(static_cast<double>(change.index)), kTrendHeight - 14, change.change_pct);
  return svg + "</svg>\n";
}

}  // namespace sluice::report
