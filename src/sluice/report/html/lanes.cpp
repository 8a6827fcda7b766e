// sluice/report/html/lanes.cpp - stages of a loader as lanes, and its memory as lines.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/report/findings.h"
#include "sluice/report/format.h"
#include "sluice/report/html/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::report {
namespace {

/// A part of a whole that begins where the one before ends.
struct Share {
  std::string name;
  double share = 0;
  std::string more;  // beside it
};

std::string shares_html(const std::string& title, const std::string& note,
                        const std::vector<Share>& shares) {
  double most = 0, sum = 0;
  for (const Share& one : shares) {
    most = std::max(most, one.share);
    sum += std::max(one.share, 0.0);
  }
  if (!(most > 0) || !std::isfinite(sum)) return {};
  const double all = std::max(sum, 1.0);  // above 1 where what is not accounted for is below 0
  std::string out = fmt::format(
      "<figure class=\"picture\"><h3>{}</h3>\n<div class=\"chart four\">\n", escape_html(title));
  double start = 0;
  for (const Share& one : shares) {
    out += fmt::format(
        "<div class=\"pair{}\"><span>{}</span><svg class=\"bars\" height=\"18\" "
        "aria-hidden=\"true\"><rect class=\"track\" x=\"0\" y=\"3\" width=\"100%\" height=\"12\" "
        "rx=\"2\"/><rect class=\"solid{}\" x=\"{:.2f}%\" y=\"3\" width=\"{:.2f}%\" height=\"12\" "
        "rx=\"2\"/></svg><span class=\"value\">{:.1f} %</span><span class=\"ceiling\">{}</span>"
        "</div>\n",
        one.share == most ? " best" : "", escape_html(clip(one.name, 40)),
        one.share == most ? "" : " other", 100 * start, 100 * std::max(one.share, 0.0) / all,
        one.share * 100, escape_html(one.more));
    start += std::max(one.share, 0.0) / all;
  }
  return out + fmt::format("</div>\n<figcaption class=\"note\">{}</figcaption></figure>\n",
                           escape_html(note));
}

/// Bytes after each epoch, a series per timed sample: each of them opens the loader anew.
std::vector<std::vector<double>> memory_of(const measure::Row& row) {
  constexpr std::size_t kMostSeries = 20;
  std::vector<std::vector<double>> all;
  for (const measure::Run& run : row.runs) {
    for (const Json& details : run.details) {
      std::vector<double> series;
      for (const Json& one : at(details, "anonymous_by_epoch"))
        if (one.is_number()) series.push_back(one.get<double>());
      if (series.size() > 1 && all.size() < kMostSeries) all.push_back(std::move(series));
    }
  }
  return all;
}

}  // namespace

std::string stage_lanes(const std::vector<results::StageShare>& stages) {
  constexpr double kSeen = 0.0005;  // less reads as 0.0 %; the table has it
  std::vector<Share> shares;
  for (const results::StageShare& stage : stages) {
    if (!stage.ceiling && std::fabs(stage.share) < kSeen) continue;
    shares.push_back({printable(stage.stage), stage.share,
                      stage.ceiling ? "max " + whole(*stage.ceiling) + " samples/s" : ""});
  }
  return shares_html("Where the time of the workers goes",
                     "Share of worker time, one stage after the other; max: what the workers would "
                     "deliver if this stage were all they did.",
                     shares);
}

std::string cpu_lanes(const std::vector<results::StageCpu>& stages) {
  std::vector<Share> shares;
  for (const results::StageCpu& stage : stages)
    shares.push_back({printable(stage.name), stage.share, significant(stage.cpu_s, 4) + " s"});
  return shares_html("Where the CPU time goes", "Share of the CPU time of the process, by stage.",
                     shares);
}

std::string memory_lines(const results::ResultFile& file) {
  constexpr double kHeight = 70;
  std::vector<std::vector<double>> all;
  for (const measure::Row& row : file.rows)
    if (row.library == kOurs && all.empty()) all = memory_of(row);
  double most = 0;
  std::size_t longest = 0;
  for (const auto& series : all) {
    most = std::max(most, *std::max_element(series.begin(), series.end()));
    longest = std::max(longest, series.size());
  }
  if (!(most > 0) || !std::isfinite(most)) return {};
  std::string body = fmt::format(
      "<line class=\"axis\" x1=\"2%\" x2=\"98%\" y1=\"{0}\" y2=\"{0}\"/><text x=\"2%\" y=\"10\" "
      "text-anchor=\"start\">{1}</text><text x=\"2%\" y=\"{2}\">epoch 1</text><text x=\"98%\" "
      "y=\"{2}\" text-anchor=\"end\">epoch {3}</text>",
      kHeight, escape_html(bytes(most)), kHeight + 13, longest);
  const auto x = [&](std::size_t i) {
    return 2 + 96 * static_cast<double>(i) / static_cast<double>(longest - 1);
  };
  const auto y = [&](double value) { return kHeight - (kHeight - 16) * value / most; };
  for (const auto& values : all)
    for (std::size_t i = 1; i < values.size(); ++i)
      body += fmt::format(
          "<line class=\"edge\" x1=\"{:.2f}%\" x2=\"{:.2f}%\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>",
          x(i - 1), x(i), y(values[i - 1]), y(values[i]));
  const std::string slope =
      file.loader ? shown(file.loader->memory_slope_mb_per_epoch, "{:.2f} MB/epoch") : "";
  return fmt::format(
      "<figure class=\"picture\"><h3>Memory</h3>\n<svg class=\"memory-line\" height=\"{:.0f}\" "
      "role=\"img\" aria-label=\"memory after each epoch\">{}</svg>\n<figcaption class=\"note\">"
      "Anonymous memory of the process after each epoch, a line per sample, from 0.{}</figcaption>"
      "</figure>\n",
      kHeight + 18, body, slope.empty() ? "" : escape_html(" Growth: " + slope + "."));
}

}  // namespace sluice::report
