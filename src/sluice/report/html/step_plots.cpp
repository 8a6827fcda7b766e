// sluice/report/html/step_plots.cpp - a training step: its phases in one bar, its longest kernels,
// and the loader and the step alone and together.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/format.h"
#include "sluice/report/html/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::report {
namespace {

constexpr std::size_t kPhaseColours = 7;  // .p0 to .p6 of the style sheet

struct Segment {
  std::string name;
  double seconds = 0;
  std::size_t colour = 0;
};

std::vector<Segment> segments_of(const results::TrainingPhases& phases) {
  std::vector<Segment> out;
  for (std::size_t i = 0; i < phases.per_step.size(); ++i)
    out.push_back(
        {printable(phases.per_step[i].first), phases.per_step[i].second, i % kPhaseColours});
  out.push_back({"residual", phases.residual_s, kPhaseColours});
  return out;
}

Bar time_bar(const char* name, const stats::Estimate& ms) {
  Bar bar;
  bar.name = name;
  bar.value = std::max(ms.point, 0.0);
  bar.label = fmt::format("{:.3f} ms", ms.point);
  if (ms.confidence > 0) {
    bar.interval = ms;
    bar.label += fmt::format(" ({:.3f} to {:.3f})", ms.low, ms.high);
  }
  return bar;
}

}  // namespace

std::string phase_stack(const results::TrainingPhases& phases) {
  constexpr double kSeen = 0.0005;    // less reads as 0.0 %; the table has it
  constexpr double kLabelled = 0.14;  // of the width: room for a name
  const std::vector<Segment> segments = segments_of(phases);
  double sum = 0;
  for (const Segment& one : segments)
    sum += std::max(one.seconds, 0.0);
  const double step = phases.natural_step_s;
  if (!(step > 0) || !std::isfinite(sum)) return {};
  const double whole = std::max(sum, step);
  std::string bar, legend;
  double start = 0;
  for (const Segment& one : segments) {
    const double share = std::max(one.seconds, 0.0) / whole;
    if (share < kSeen) continue;
    bar +=
        fmt::format("<rect class=\"p{}\" x=\"{:.2f}%\" y=\"0\" width=\"{:.2f}%\" height=\"30\"/>",
                    one.colour, 100 * start, 100 * share);
    if (share > kLabelled)
      bar +=
          fmt::format("<text class=\"on\" x=\"{:.2f}%\" y=\"19\" text-anchor=\"middle\">{}</text>",
                      100 * (start + share / 2), escape_html(clip(one.name, 14)));
    legend += fmt::format(
        "<li><svg class=\"swatch\" width=\"12\" height=\"12\" aria-hidden=\"true\"><rect "
        "class=\"p{}\" width=\"12\" height=\"12\" rx=\"2\"/></svg><span>{}</span><span "
        "class=\"value\">{:.3f} ms</span><span class=\"value\">{:.1f} %</span></li>\n",
        one.colour, escape_html(clip(one.name, 40)), one.seconds * 1e3, one.seconds / step * 100);
    start += share;
  }
  return fmt::format(
      "<figure class=\"picture\"><h3>Phases of a step of {:.3f} ms</h3>\n<svg class=\"stack\" "
      "height=\"30\" role=\"img\" aria-label=\"phases of a step\">{}</svg>\n<ul "
      "class=\"legend\">\n{}</ul>\n<figcaption class=\"note\">Mean of {} instrumented steps; "
      "residual: what the step takes beyond its phases.{}</figcaption></figure>\n",
      step * 1e3, bar, legend, phases.steps,
      phases.reconciled ? "" : " The phases do not add up to the step.");
}

std::string work_bars(const results::TrainingSummary& summary) {
  constexpr std::size_t kMost = 12, kLongestWork = 60;  // bars; letters of a name
  const bool kernels = !summary.top_kernels.empty();
  const auto& list = kernels ? summary.top_kernels : summary.top_ops;
  std::vector<Bar> bars;
  for (const results::ProfiledWork& one : list) {
    if (bars.size() == kMost || !(one.ms > 0)) break;
    Bar bar;
    bar.name = clip(printable(one.name), kLongestWork);
    bar.value = one.ms;
    bar.label = fmt::format("{:.3f} ms, {:.1f} %, {}", one.ms, one.share * 100,
                            clip(printable(one.category), kLongestWork));
    bars.push_back(std::move(bar));
  }
  return bar_chart(kernels ? "Kernels of a profiled step" : "Ops of a profiled step",
                   fmt::format("Milliseconds per step of the {} longest, from a pass that was "
                               "observed: shares, no measurement.",
                               bars.size()),
                   bars);
}

std::string step_bars(const results::Attribution& found) {
  const results::StepTimes& times = found.times;
  std::vector<Bar> bars;
  const auto add = [&](const char* name, const stats::Estimate& ms) {
    if (std::isfinite(ms.point)) bars.push_back(time_bar(name, ms));
  };
  add("loader alone", times.loader);
  add("step alone", times.model);
  if (times.transfer) add("transfer alone", *times.transfer);
  add("together", times.together);
  if (bars.size() < 2) return {};
  bars.back().best = true;
  std::string note =
      "Milliseconds per batch; line: 95 % interval. Ideal: the slower of both alone.";
  const double share = times.wait_share.point;
  if (std::isfinite(share) && share > 0.0005) {
    bars.back().waiting = share;
    note += fmt::format(" Light end of the last bar: waiting for data, {:.1f} % of a step.",
                        share * 100);
  }
  return bar_chart("The loader and the step, alone and together", note, bars,
                   BarMark{found.ideal_ms, fmt::format("ideal {:.3f} ms", found.ideal_ms)});
}

}  // namespace sluice::report
