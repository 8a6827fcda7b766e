// sluice/report/mixture/svg.cpp - stacked shares of data sets as SVG, over time and in windows.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/mixture/svg.h"

#include "sluice/analysis/mixture/shares.h"
#include "sluice/core/text.h"
#include "sluice/report/format.h"
#include "sluice/report/html/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sluice::report {
namespace {

constexpr double kMixtureWidth = 1700;  // pixels, as all below
constexpr double kMixtureHeight = 520;
constexpr double kMixtureLeft = 70, kMixtureRight = 270, kMixtureTop = 40, kMixtureBottom = 55;
constexpr double kWindowsLeft = 110;  // "b19900-19904" fits
constexpr double kWindowsTop = 50, kRowHeight = 90, kRowGap = 22;
constexpr double kBarShare = 0.75;  // of the width a bar of a window could take
constexpr std::size_t kLegendColumns = 34;

constexpr std::array kPalette{"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1",
                              "#76b7b2", "#edc948", "#9c755f", "#ff9da7", "#2f4b7c"};
constexpr const char* kOther = "#adb5bd";

const char* colour(const analysis::MixtureShares& shares, std::size_t i) {
  const bool other = shares.has_other && i + 1 == shares.names.size();
  return other ? kOther : kPalette[i % kPalette.size()];
}

std::string words(double x, double y, const char* anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escape_html(text));
}

std::string svg_line(double x1, double y1, double x2, double y2, const char* stroke) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2,
      y2, stroke);
}

std::string open_svg(double height, const std::string& title) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\" "
      "role=\"img\" aria-label=\"{2}\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
      "<text x=\"{3}\" y=\"25\" font-size=\"17\" font-weight=\"bold\">{2}</text>\n",
      kMixtureWidth, height, escape_html(title), kMixtureLeft);
}

std::string svg_legend(const analysis::MixtureShares& shares, double top, double bottom) {
  const double step = std::min(
      20.0, (bottom - top) / static_cast<double>(std::max<std::size_t>(shares.names.size(), 1)));
  const double box = std::min(12.0, step - 2);
  std::string out;
  for (std::size_t i = 0; i < shares.names.size(); ++i) {
    const double y = top + step * static_cast<double>(i);
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"{:.1f}\" fill=\"{}\"/>\n",
        kMixtureWidth - kMixtureRight + 18, y, box, colour(shares, i));
    out += words(kMixtureWidth - kMixtureRight + 37, y + box / 2 + 4, "start",
                 fmt::format("{} {:.1f} %", clip(printable(shares.names[i]), kLegendColumns - 7),
                             100 * shares.mean[i]));
  }
  return out;
}

/// One bar, its parts from the bottom up.
void stack(std::vector<std::string>& groups, const std::vector<std::vector<double>>& series,
           std::size_t bar, double x, double width, double bottom, double height) {
  double below = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const double share = series[i][bar];
    if (share * height >= 0.005) {
      groups[i] +=
          fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"/>\n", x,
                      bottom - (below + share) * height, width, share * height);
    }
    below += share;
  }
}

std::string grouped(const analysis::MixtureShares& shares, const std::vector<std::string>& groups) {
  std::string out = "<g shape-rendering=\"crispEdges\">\n";
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].empty()) continue;
    out += fmt::format("<g fill=\"{}\"><title>{}</title>\n{}</g>\n", colour(shares, i),
                       escape_html(printable(shares.names[i])), groups[i]);
  }
  return out + "</g>\n";
}

/// `values` in at most `columns` means of neighbours.
std::vector<double> in_columns(const std::vector<double>& values, std::size_t columns) {
  if (values.size() <= columns) return values;
  std::vector<double> out;
  for (std::size_t i = 0; i < columns; ++i) {
    const std::size_t from = values.size() * i / columns;
    const std::size_t end = values.size() * (i + 1) / columns;
    double sum = 0;
    for (std::size_t k = from; k < end; ++k)
      sum += values[k];
    out.push_back(sum / static_cast<double>(end - from));
  }
  return out;
}

Status check(const MixtureDrawing& drawing) {
  const std::pair<const char*, int> numbers[] = {{"window", drawing.window},
                                                 {"stride", drawing.stride},
                                                 {"top-k", drawing.top_k},
                                                 {"rolling", drawing.rolling}};
  for (const auto& one : numbers)
    if (one.second < 1)
      return Error{Errc::usage,
                   fmt::format("--{} {}: at least 1 is accepted", one.first, one.second)};
  return ok;
}

std::string axes(std::size_t batches) {
  const double right = kMixtureWidth - kMixtureRight;
  const double bottom = kMixtureHeight - kMixtureBottom;
  std::string out;
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    const double y = bottom - share * (bottom - kMixtureTop);
    out += svg_line(kMixtureLeft - 5, y, kMixtureLeft, y, "#555");
    out += words(kMixtureLeft - 9, y + 4, "end", fmt::format("{:.2f}", share));
  }
  std::size_t last = batches;  // none yet
  for (const double part : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    const auto index =
        static_cast<std::size_t>(std::lround(part * static_cast<double>(batches - 1)));
    if (index == last) continue;  // fewer than 5 batches
    last = index;
    const double slot = (right - kMixtureLeft) / static_cast<double>(batches);
    const double x = kMixtureLeft + slot * (static_cast<double>(index) + 0.5);
    out += svg_line(x, bottom, x, bottom + 5, "#555");
    out += words(x, bottom + 19, "middle", fmt::format("{}", index));
  }
  out += svg_line(kMixtureLeft, bottom, right, bottom, "#555");
  out += svg_line(kMixtureLeft, kMixtureTop, kMixtureLeft, bottom, "#555");
  out += words((kMixtureLeft + right) / 2, kMixtureHeight - 14, "middle", "measured batch");
  return out + fmt::format(
                   "<text transform=\"translate(18 {:.1f}) rotate(-90)\" "
                   "text-anchor=\"middle\">share of samples</text>\n",
                   (kMixtureTop + bottom) / 2);
}

}  // namespace

Result<std::string> mixture_over_time_svg(std::span<const results::BatchTime> batches,
                                          const MixtureDrawing& drawing) {
  SLUICE_CHECK(check(drawing));
  SLUICE_TRY(const analysis::MixtureShares shares,
             analysis::mixture_shares(batches, static_cast<std::size_t>(drawing.top_k)));
  const double plot = kMixtureWidth - kMixtureLeft - kMixtureRight;
  std::vector<std::vector<double>> series;
  for (const auto& raw : shares.series)
    series.push_back(
        in_columns(analysis::rolling_mean(raw, static_cast<std::size_t>(drawing.rolling)),
                   static_cast<std::size_t>(plot)));
  const std::size_t columns = series.front().size();
  std::vector<std::string> groups(series.size());
  for (std::size_t i = 0; i < columns; ++i) {
    const auto edge = [&](std::size_t at) {
      return kMixtureLeft + plot * static_cast<double>(at) / static_cast<double>(columns);
    };
    stack(groups, series, i, edge(i), edge(i + 1) - edge(i), kMixtureHeight - kMixtureBottom,
          kMixtureHeight - kMixtureBottom - kMixtureTop);
  }
  return open_svg(kMixtureHeight, "Dataset Mixture Over Time") + grouped(shares, groups) +
         axes(shares.batches) + svg_legend(shares, kMixtureTop, kMixtureHeight - 15) + "</svg>\n";
}

Result<std::string> mixture_windows_svg(std::span<const results::BatchTime> batches,
                                        const MixtureDrawing& drawing) {
  SLUICE_CHECK(check(drawing));
  SLUICE_TRY(const analysis::MixtureShares shares,
             analysis::mixture_shares(batches, static_cast<std::size_t>(drawing.top_k)));
  const auto window = static_cast<std::size_t>(drawing.window);
  if (shares.batches < window) {
    return Error{
        Errc::invalid_input,
        fmt::format("Not enough measured batches: {}, a window takes {}", shares.batches, window)};
  }
  std::vector<std::size_t> starts;
  for (std::size_t at = 0; at + window <= shares.batches;
       at += static_cast<std::size_t>(drawing.stride))
    starts.push_back(at);
  const double height = 80 + kRowHeight * static_cast<double>(starts.size());
  const double slot = (kMixtureWidth - kWindowsLeft - kMixtureRight) / static_cast<double>(window);
  std::vector<std::string> groups(shares.series.size());
  std::string labels;
  for (std::size_t row = 0; row < starts.size(); ++row) {
    const double bottom = kWindowsTop + kRowHeight * static_cast<double>(row + 1) - kRowGap;
    const double tall = kRowHeight - kRowGap;
    for (std::size_t i = 0; i < window; ++i) {
      const double x = kWindowsLeft + slot * (static_cast<double>(i) + (1 - kBarShare) / 2);
      stack(groups, shares.series, starts[row] + i, x, slot * kBarShare, bottom, tall);
    }
    labels += words(kWindowsLeft - 10, bottom - tall / 2 + 4, "end",
                    fmt::format("b{}-{}", starts[row], starts[row] + window - 1));
    labels += svg_line(kWindowsLeft, bottom, kMixtureWidth - kMixtureRight, bottom, "#555");
  }
  const std::string title = fmt::format("{}-Batch Windows of the Dataset Mixture, Every {} Batches",
                                        window, drawing.stride);
  return open_svg(height, title) + grouped(shares, groups) + labels +
         svg_legend(shares, kMixtureTop, height - 10) + "</svg>\n";
}

}  // namespace sluice::report
