// sluice/report/html/plots.cpp - the drawings of report.html, as inline SVG.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/measure/summary.h"
#include "sluice/report/format.h"
#include "sluice/report/html/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice::report {
namespace {

using measure::Row;

/// A position in per cent of the width, kept off the edges so that dots are not cut.
std::string place_of(double fraction) {
  return fmt::format("{:.2f}%", 2 + 96 * std::clamp(fraction, 0.0, 1.0));
}
std::string wide(double fraction) {
  return fmt::format("{:.2f}%", 96 * std::clamp(fraction, 0.0, 1.0));
}

/// The values of the runs, in the unit of the row.
std::vector<double> run_values(const Row& row) {
  const SampleValues values(row);
  std::vector<double> out;
  for (const auto& run : row.runs) {
    double total = 0;
    for (const auto ns : run.samples_ns)
      total += static_cast<double>(ns);
    if (run.samples_ns.empty() || total <= 0) continue;
    const double mean_ns = std::min(total / static_cast<double>(run.samples_ns.size()), 9e18);
    const double value = values.of(std::llround(mean_ns));
    if (std::isfinite(value)) out.push_back(value);
  }
  return out;
}

/// The furthest that the interval reaches from the median, as a fraction of it.
double reach(const Row& row) {
  if (!has_summary(row) || !row.summary->ci95 || row.summary->median == 0) return 0;
  const double median = row.summary->median;
  const double far = std::max(std::fabs(row.summary->ci95->low / median - 1),
                              std::fabs(row.summary->ci95->high / median - 1));
  return std::isfinite(far) ? far : 0;
}

std::string signed_percent(double fraction) {
  return (fraction < 0 ? "−" : "+") + percent(std::fabs(fraction));
}

struct Domain {
  double low = 0;
  double high = 1;
  [[nodiscard]] double place(double value) const { return (value - low) / (high - low); }
};

struct Lane {
  std::vector<double> values;  // sorted
  double mean = 0;             // NaN without values
  bool throttled = false;
};

constexpr int kMostLanes = 40;
constexpr std::size_t kMostDots = 120;  // per lane; more become a histogram

std::vector<Lane> lanes_of(const Row& row) {
  const SampleValues sample(row);
  std::vector<Lane> lanes;
  for (const auto& run : row.runs) {
    if (lanes.size() == kMostLanes) break;
    Lane lane;
    lane.throttled = run.throttled;
    double total = 0;
    for (const auto ns : run.samples_ns) {
      const double value = sample.of(ns);
      if (!std::isfinite(value)) continue;
      lane.values.push_back(value);
      total += value;
    }
    std::sort(lane.values.begin(), lane.values.end());
    lane.mean = lane.values.empty() ? std::numeric_limits<double>::quiet_NaN()
                                    : total / static_cast<double>(lane.values.size());
    lanes.push_back(std::move(lane));
  }
  return lanes;
}

Domain domain_of(const std::vector<Lane>& lanes) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const auto& lane : lanes) {
    if (lane.values.empty()) continue;
    low = std::min(low, lane.values.front());
    high = std::max(high, lane.values.back());
  }
  if (!(low <= high)) return {};
  const double least =
      std::max(std::fabs(high) * 0.002, 1e-300);  // equal samples still need a width
  if (high - low < least) {
    low -= least / 2;
    high += least / 2;
  }
  return std::isfinite(high - low) ? Domain{low, high} : Domain{};
}

std::string dots(const Lane& lane, const Domain& domain, double y) {
  std::string out;
  for (const double value : lane.values) {
    out += fmt::format("<circle class=\"dot{}\" cx=\"{}\" cy=\"{:.1f}\" r=\"3\"/>",
                       lane.throttled ? " throttled" : "", place_of(domain.place(value)), y);
  }
  return out;
}

std::string histogram(const Lane& lane, const Domain& domain, double bottom, double height) {
  constexpr std::size_t kBins = 72;
  std::vector<std::size_t> bins(kBins);
  for (const double value : lane.values) {
    const double place = std::clamp(domain.place(value), 0.0, 1.0);
    ++bins[std::min(static_cast<std::size_t>(place * kBins), kBins - 1)];
  }
  const auto most = static_cast<double>(*std::max_element(bins.begin(), bins.end()));
  std::string out;
  for (std::size_t i = 0; i < kBins; ++i) {
    if (bins[i] == 0) continue;
    const double tall = std::max(height * static_cast<double>(bins[i]) / most,
                                 1.0);  // a lone outlier stays visible
    out +=
        fmt::format("<rect class=\"bin{}\" x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\"/>",
                    lane.throttled ? " throttled" : "", place_of(static_cast<double>(i) / kBins),
                    bottom - tall, wide(0.92 / kBins), tall);
  }
  return out;
}

std::string axis(const Row& row, const Domain& domain, double y) {
  const Scale scale = has_summary(row) ? scale_of(row) : Scale(domain.high, "");
  std::string out =
      fmt::format("<line class=\"axis\" x1=\"2%\" x2=\"98%\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>", y);
  constexpr std::pair<double, const char*> kLabels[] = {{0, "start"}, {0.5, "middle"}, {1, "end"}};
  for (const auto& [fraction, anchor] : kLabels) {
    const double value = domain.low + fraction * (domain.high - domain.low);
    out += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>",
                       place_of(fraction), y + 13, anchor, escape_html(scale.number(value)));
  }
  return out;
}

/// The interval behind all lanes, as far as it lies in the picture.
std::string band(const Row& row, const Domain& domain, double height) {
  if (!has_summary(row) || !row.summary->ci95) return {};
  const double low = std::clamp(domain.place(row.summary->ci95->low), 0.0, 1.0);
  const double high = std::clamp(domain.place(row.summary->ci95->high), 0.0, 1.0);
  if (!(high > low)) return {};
  return fmt::format("<rect class=\"band\" x=\"{}\" y=\"0\" width=\"{}\" height=\"{:.1f}\"/>",
                     place_of(low), wide(high - low), height);
}

}  // namespace

double interval_range(const std::vector<Line>& lines) {
  std::vector<double> reaches;
  for (const auto& line : lines) {
    if (const double far = reach(*line.row); far > 0) reaches.push_back(far);
  }
  std::sort(reaches.begin(), reaches.end());
  // Wide enough for most rows; one wild row must not flatten the others, it gets arrows instead.
  const double wanted = reaches.empty() ? 0 : 1.3 * quantile(reaches, 0.8);
  for (const double nice : {0.005, 0.01, 0.02, 0.05, 0.1, 0.2}) {
    if (wanted <= nice) return nice;
  }
  return 0.5;
}

std::string interval_bar(const Row& row, double range) {
  const double median = row.summary->median;
  const auto place = [&](double value) { return 0.5 + (value / median - 1) / (2 * range); };
  const double low = row.summary->ci95->low;
  const double high = row.summary->ci95->high;
  const std::string words =
      fmt::format("95 % interval: from {} to {} around the median; one dot per run",
                  signed_percent(low / median - 1), signed_percent(high / median - 1));
  std::string out = fmt::format(
      "<svg class=\"interval\" height=\"18\" role=\"img\" aria-label=\"{0}\"><title>{0}</title>",
      escape_html(words));
  out += "<line class=\"axis\" x1=\"2%\" x2=\"98%\" y1=\"9\" y2=\"9\"/>";
  const double left = std::clamp(place(low), 0.0, 1.0);
  const double right = std::clamp(place(high), 0.0, 1.0);
  if (left < right) {
    out +=
        fmt::format("<rect class=\"band\" x=\"{}\" y=\"3\" width=\"{}\" height=\"12\" rx=\"2\"/>",
                    place_of(left), wide(right - left));
  }
  out += "<line class=\"tick\" x1=\"50%\" x2=\"50%\" y1=\"1\" y2=\"17\"/>";
  std::size_t shown = 0;
  for (const double value : run_values(row)) {
    const double x = place(value);
    if (x < 0 || x > 1 || ++shown > 60) continue;
    out += fmt::format("<circle class=\"dot\" cx=\"{}\" cy=\"9\" r=\"2.5\"/>", place_of(x));
  }
  if (place(low) < 0) out += "<text x=\"0\" y=\"13\" text-anchor=\"start\">‹</text>";
  if (place(high) > 1) out += "<text x=\"100%\" y=\"13\" text-anchor=\"end\">›</text>";
  return out + "</svg>";
}

std::string comparison(const Section& section) {
  std::string out;
  for (std::size_t first = 0; first < section.rows.size();) {
    const Row& head = *section.rows[first].row;
    std::vector<Bar> bars;
    for (; first < section.rows.size() && section.rows[first].row->case_name == head.case_name;
         ++first) {
      const Line& line = section.rows[first];
      const Row& row = *line.row;
      if (!has_summary(row) || row.unit != head.unit || row.summary->median <= 0) continue;
      const Scale scale = scale_of(row);
      Bar bar;
      bar.name = library_cell(row);
      bar.value = row.summary->median;
      bar.label = scale.number(row.summary->median) + " " + scale.unit();
      if (const auto& interval = row.summary->ci95)
        bar.interval = stats::Estimate{bar.value, interval->low, interval->high, 0.95};
      bar.best = line.best;
      bars.push_back(std::move(bar));
    }
    if (bars.size() < 2) continue;
    out += bar_chart(clip(case_cell(head), 80),
                     std::string(head.better == measure::Better::higher ? "longer" : "shorter") +
                         " is better; line: 95 % interval",
                     bars);
  }
  return out;
}

std::string distribution(const Row& row) {
  const std::vector<Lane> lanes = lanes_of(row);
  std::size_t most = 0;
  std::size_t samples = 0;
  for (const auto& lane : lanes) {
    most = std::max(most, lane.values.size());
    samples += lane.values.size();
  }
  if (samples == 0) return {};
  const bool dense = most > kMostDots;
  const double lane_height = dense ? 34 : lanes.size() > 12 ? 9 : 15;
  const double height = lane_height * static_cast<double>(lanes.size());
  const Domain domain = domain_of(lanes);

  std::string body = band(row, domain, height);
  std::string names;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const Lane& lane = lanes[i];
    const double bottom = lane_height * static_cast<double>(i + 1);
    const double middle = bottom - lane_height / 2;
    const bool label = lanes.size() <= 12 || (i + 1) % 5 == 0;
    names += fmt::format("<span style=\"height:{0}px;line-height:{0}px\">{1}</span>", lane_height,
                         label ? fmt::format("run {}", i + 1) : "");
    body += dense ? fmt::format(
                        "<line class=\"lane\" x1=\"2%\" x2=\"98%\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>",
                        bottom) +
                        histogram(lane, domain, bottom, lane_height - 6)
                  : dots(lane, domain, middle);
    if (std::isfinite(lane.mean)) {
      body +=
          fmt::format("<line class=\"tick\" x1=\"{0}\" x2=\"{0}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>",
                      place_of(domain.place(lane.mean)), bottom - lane_height + 2, bottom - 2);
    }
  }
  body += axis(row, domain, height + 2);

  const std::string unit = scale_of(row).unit();
  const std::string words =
      fmt::format("{} samples of {} in {} runs, {}", samples, case_cell(row), lanes.size(), unit);
  std::string note = fmt::format("{} · {} samples", unit, samples);
  if (row.runs.size() > lanes.size())
    note += fmt::format(", first {} of {} runs", lanes.size(), row.runs.size());
  if (std::any_of(lanes.begin(), lanes.end(), [](const Lane& lane) { return lane.throttled; }))
    note += " · red: throttled";
  return fmt::format(
      "<figure class=\"plot\"><figcaption><h3>{}</h3><span>{}{}</span></figcaption><div "
      "class=\"lanes\">"
      "<div class=\"names\" aria-hidden=\"true\">{}</div><svg class=\"distribution\" "
      "height=\"{:.0f}\" role=\"img\" "
      "aria-label=\"{}\">{}</svg></div></figure>\n",
      escape_html(clip(case_cell(row), 80)),
      row.library == "sluice" ? "" : escape_html(library_cell(row)) + " · ", escape_html(note),
      names, height + 18, escape_html(words), body);
}

}  // namespace sluice::report
