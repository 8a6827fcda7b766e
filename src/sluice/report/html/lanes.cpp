// sluice/report/html/lanes.cpp - stages of a loader as lanes; memory over epochs or steps as lines.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/report/findings.h"
#include "sluice/report/format.h"
#include "sluice/report/html/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

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

using Points = std::vector<std::pair<double, double>>;  // x, bytes
constexpr std::size_t kMostSeries = 20;

/// Bytes after each epoch, a series per timed sample: each of them opens the loader anew.
std::vector<Points> epochs_of(const measure::Row& row) {
  std::vector<Points> all;
  for (const measure::Run& run : row.runs) {
    for (const Json& details : run.details) {
      Points series;
      for (const Json& one : at(details, "anonymous_by_epoch"))
        if (one.is_number())
          series.emplace_back(static_cast<double>(series.size() + 1), one.get<double>());
      if (series.size() > 1 && all.size() < kMostSeries) all.push_back(std::move(series));
    }
  }
  return all;
}

/// Bytes after steps that were not timed, a series per process: its last turn has them all.
std::vector<Points> steps_of(const measure::Row& row) {
  std::vector<Points> all;
  for (const measure::Run& run : row.runs) {
    Points series;
    if (run.details.is_array() && !run.details.empty())
      for (const Json& point : at(run.details.back(), "memory_by_step"))
        if (point.is_array() && point.size() == 2 && point[0].is_number() && point[1].is_number())
          series.emplace_back(point[0].get<double>(), point[1].get<double>());
    if (series.size() > 1 && all.size() < kMostSeries) all.push_back(std::move(series));
  }
  return all;
}

/// `unit`: of x; `note`: plain text below.
std::string memory_svg(const std::vector<Points>& all, const char* unit, const std::string& note) {
  constexpr double kHeight = 70;
  double most = 0, first = 0, last = 0;
  for (const Points& series : all) {
    for (const auto& point : series)
      most = std::max(most, point.second);
    first = &series == &all.front() ? series.front().first : std::min(first, series.front().first);
    last = std::max(last, series.back().first);
  }
  if (!(most > 0) || !std::isfinite(most) || !(last > first)) return {};
  std::string body = fmt::format(
      "<line class=\"axis\" x1=\"2%\" x2=\"98%\" y1=\"{0}\" y2=\"{0}\"/><text x=\"2%\" y=\"10\" "
      "text-anchor=\"start\">{1}</text><text x=\"2%\" y=\"{2}\">{5} {3:.0f}</text><text x=\"98%\" "
      "y=\"{2}\" text-anchor=\"end\">{5} {4:.0f}</text>",
      kHeight, escape_html(bytes(most)), kHeight + 13, first, last, unit);
  const auto x = [&](double step) { return 2 + 96 * (step - first) / (last - first); };
  const auto y = [&](double value) { return kHeight - (kHeight - 16) * value / most; };
  for (const Points& series : all)
    for (std::size_t i = 1; i < series.size(); ++i)
      body += fmt::format(
          "<line class=\"edge\" x1=\"{:.2f}%\" x2=\"{:.2f}%\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>",
          x(series[i - 1].first), x(series[i].first), y(series[i - 1].second), y(series[i].second));
  return fmt::format(
      "<figure class=\"picture\"><h3>Memory</h3>\n<svg class=\"memory-line\" height=\"{:.0f}\" "
      "role=\"img\" aria-label=\"memory after each {}\">{}</svg>\n<figcaption class=\"note\">"
      "{}</figcaption></figure>\n",
      kHeight + 18, unit, body, escape_html(note));
}

/// Of the first row of ours that has any.
std::vector<Points> first_of_ours(const results::ResultFile& file,
                                  std::vector<Points> (*points_of)(const measure::Row&)) {
  for (const measure::Row& row : file.rows)
    if (row.library == kOurs)
      if (auto all = points_of(row); !all.empty()) return all;
  return {};
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
  const std::string slope =
      file.loader ? shown(file.loader->memory_slope_mb_per_epoch, "{:.2f} MB/epoch") : "";
  return memory_svg(first_of_ours(file, epochs_of), "epoch",
                    "Anonymous memory of the process after each epoch, a line per sample, from 0." +
                        (slope.empty() ? "" : " Growth: " + slope + "."));
}

std::string step_memory_lines(const results::ResultFile& file) {
  bool device = false;
  for (const measure::Row& row : file.rows)
    if (row.library == kOurs && !row.runs.empty() && row.runs.front().details.is_array() &&
        !row.runs.front().details.empty())
      device = device || string_at(row.runs.front().details.back(), "memory_of") == "device";
  return memory_svg(
      first_of_ours(file, steps_of), "step",
      fmt::format("Memory of the {} after steps that were not timed (warm-up and phases), a line "
                  "per process, from 0.",
                  device ? "device, as its driver counts it," : "process"));
}

}  // namespace sluice::report
