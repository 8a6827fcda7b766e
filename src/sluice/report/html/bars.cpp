// sluice/report/html/bars.cpp - bars from zero with intervals and a mark, and ratios on a strip.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/format.h"
#include "sluice/report/html/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::report {
namespace {

/// What the right edge of a chart stands for. An interval may reach beyond it: it gets an arrow,
/// so that one wild interval does not flatten the bars.
double edge_of(const std::vector<Bar>& bars, const std::optional<BarMark>& mark) {
  double most = mark ? mark->value : 0;
  for (const Bar& bar : bars)
    most = std::max(most, bar.value);
  double far = most;
  for (const Bar& bar : bars)
    if (bar.interval && std::isfinite(bar.interval->high)) far = std::max(far, bar.interval->high);
  return std::min(far, 1.6 * most);
}

std::string bar_svg(const Bar& bar, double edge, const std::optional<BarMark>& mark) {
  const auto at = [&](double value) { return 98 * std::clamp(value / edge, 0.0, 1.0); };
  const double width = at(bar.value);
  const double waiting = width * std::clamp(bar.waiting, 0.0, 1.0);
  std::string out = "<svg class=\"bars\" height=\"18\" aria-hidden=\"true\">";
  out += fmt::format(
      "<rect class=\"solid{}\" x=\"0\" y=\"3\" width=\"{:.2f}%\" height=\"12\" rx=\"2\"/>",
      bar.best ? "" : " other", width - waiting);
  if (waiting > 0)
    out += fmt::format(
        "<rect class=\"waiting\" x=\"{:.2f}%\" y=\"3\" width=\"{:.2f}%\" height=\"12\" rx=\"2\"/>",
        width - waiting, waiting);
  if (bar.interval && bar.interval->high > bar.interval->low) {
    out += fmt::format("<line class=\"whisker\" x1=\"{:.2f}%\" x2=\"{:.2f}%\" y1=\"9\" y2=\"9\"/>",
                       at(bar.interval->low), at(bar.interval->high));
    if (bar.interval->high > edge) out += "<text x=\"100%\" y=\"13\" text-anchor=\"end\">›</text>";
  }
  if (mark)
    out += fmt::format("<line class=\"mark\" x1=\"{0:.2f}%\" x2=\"{0:.2f}%\" y1=\"-3\" y2=\"21\"/>",
                       at(mark->value));
  return out + "</svg>";
}

constexpr double kStripTicks[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1,   2,
                                  5,    10,   20,   50,  100, 200, 500, 1000};

/// The logarithms that a strip covers, with 1 among them.
struct Strip {
  double low = 0;
  double high = 0;

  [[nodiscard]] std::string place(double ratio) const {
    const double share = (std::log(ratio) - low) / (high - low);
    return fmt::format("{:.2f}%", 2 + 96 * std::clamp(share, 0.0, 1.0));
  }
};

Strip strip_of(const std::vector<const results::Versus*>& list) {
  Strip strip;
  for (const results::Versus* one : list) {
    strip.low = std::min(strip.low, std::log(one->ratio->point));
    strip.high = std::max(strip.high, std::log(one->ratio->point));
  }
  const double margin = std::max(0.05 * (strip.high - strip.low), 0.02);
  return {strip.low - margin, strip.high + margin};
}

const char* dot_class(const results::Versus& one) {
  return one.standing == results::Standing::win    ? "dot"
         : one.standing == results::Standing::loss ? "dot throttled"
                                                   : "dot level";
}

}  // namespace

std::string bar_chart(const std::string& title, const std::string& note,
                      const std::vector<Bar>& bars, const std::optional<BarMark>& mark) {
  constexpr std::size_t kMostBeside = 12;  // bars; a longer chart has a row of the page for itself
  const double edge = bars.empty() ? 0 : edge_of(bars, mark);
  if (!(edge > 0) || !std::isfinite(edge)) return {};
  std::string out = fmt::format("<figure class=\"picture{}\"><h3>{}</h3>\n<div class=\"chart\">\n",
                                bars.size() > kMostBeside ? " wide" : "", escape_html(title));
  for (const Bar& bar : bars)
    out += fmt::format(
        "<div class=\"pair{}\"><span>{}</span>{}<span class=\"value\">{}</span></div>\n",
        bar.best ? " best" : "", escape_html(clip(bar.name, 40)), bar_svg(bar, edge, mark),
        escape_html(bar.label));
  if (mark) {
    const double at = 98 * std::clamp(mark->value / edge, 0.0, 1.0);
    out += fmt::format(
        "<div class=\"pair\"><span></span><svg class=\"bars\" height=\"16\"><text x=\"{:.2f}%\" "
        "y=\"12\" text-anchor=\"{}\">{}</text></svg><span class=\"value\"></span></div>\n",
        at,
        at > 70   ? "end"
        : at < 20 ? "start"
                  : "middle",
        escape_html(mark->label));
  }
  return out + fmt::format("</div>\n<figcaption class=\"note\">{}</figcaption></figure>\n",
                           prose_html(note));
}

std::string ratio_strip(const std::string& title, const std::vector<results::Versus>& list) {
  std::vector<const results::Versus*> shown;
  for (const results::Versus& one : list)
    if (one.ratio && one.ratio->point > 0 && std::isfinite(one.ratio->point)) shown.push_back(&one);
  if (shown.size() < 2) return {};
  std::sort(shown.begin(), shown.end(), [](const results::Versus* a, const results::Versus* b) {
    return a->ratio->point < b->ratio->point;
  });
  const Strip strip = strip_of(shown);
  std::string body = fmt::format("<line class=\"mark\" x1=\"{0}\" x2=\"{0}\" y1=\"0\" y2=\"46\"/>",
                                 strip.place(1));
  body += "<line class=\"axis\" x1=\"2%\" x2=\"98%\" y1=\"46\" y2=\"46\"/>";
  for (const double tick : kStripTicks)
    if (std::log(tick) >= strip.low && std::log(tick) <= strip.high)
      body += fmt::format("<text x=\"{}\" y=\"60\" text-anchor=\"middle\">{:g}×</text>",
                          strip.place(tick), tick);
  std::size_t index = 0;
  for (const results::Versus* one : shown)  // four rows, so that near dots do not hide each other
    body += fmt::format(
        "<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"4\"><title>{}</title></circle>",
        dot_class(*one), strip.place(one->ratio->point), 8 + 9 * (index++ % 4),
        escape_html(fmt::format("{} over {}: {}", clip(printable(one->case_name), 80),
                                clip(printable(one->peer), 40), ratio_text(*one->ratio))));
  return fmt::format(
      "<figure class=\"picture\"><h3>{}</h3>\n<svg class=\"strip\" height=\"64\" role=\"img\" "
      "aria-label=\"{}\">{}</svg>\n<figcaption class=\"note\">A dot is a case, right of the dashed "
      "line faster than the fastest other library; grey: level, red: slower. The height says "
      "nothing.</figcaption></figure>\n",
      escape_html(title),
      escape_html(fmt::format("{} ratios from {} to {}", shown.size(),
                              significant(shown.front()->ratio->point, 3),
                              significant(shown.back()->ratio->point, 3))),
      body);
}

}  // namespace sluice::report
