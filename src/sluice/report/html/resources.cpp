// sluice/report/html/resources.cpp - cores, memory and GPU over time as small plots.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/format.h"
#include "sluice/report/gain/resource_lines.h"
#include "sluice/report/html/parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::report {
namespace {

std::string small_plot(const ResourceLine& line) {
  constexpr double kHeight = 54;
  const double first = line.at_s.front();
  const double last = line.at_s.back();
  const auto x = [&](std::size_t i) {
    return last > first ? 2 + 96 * (line.at_s[i] - first) / (last - first) : 50.0;
  };
  const auto y = [&](double value) {
    return kHeight - (kHeight - 14) * std::clamp(value / line.most, 0.0, 1.0);
  };
  std::string body = fmt::format(
      "<line class=\"axis\" x1=\"2%\" x2=\"98%\" y1=\"{0}\" y2=\"{0}\"/><line class=\"zero\" "
      "x1=\"2%\" x2=\"98%\" y1=\"14\" y2=\"14\"/><text x=\"2%\" y=\"10\">{1}</text><text "
      "x=\"98%\" y=\"10\" text-anchor=\"end\">{2}</text><text x=\"2%\" y=\"{3}\">{4:.0f} s</text>"
      "<text x=\"98%\" y=\"{3}\" text-anchor=\"end\">{5:.0f} s</text>",
      kHeight, escape_html(line.name), escape_html(line.summary()), kHeight + 13, first, last);
  if (line.values.size() == 1)
    body += fmt::format("<circle class=\"dot\" cx=\"50%\" cy=\"{:.1f}\" r=\"3\"/>",
                        y(line.values.front()));
  for (std::size_t i = 1; i < line.values.size(); ++i)
    body += fmt::format(
        "<line class=\"edge\" x1=\"{:.2f}%\" x2=\"{:.2f}%\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>",
        x(i - 1), x(i), y(line.values[i - 1]), y(line.values[i]));
  return fmt::format(
      "<svg class=\"memory-line\" height=\"{:.0f}\" role=\"img\" aria-label=\"{} over time: "
      "{}\">{}</svg>\n",
      kHeight + 24, escape_html(line.name), escape_html(line.summary()), body);
}

}  // namespace

std::string resources_html(const std::string& title, const results::ResourceUse& use) {
  std::string plots;
  for (const ResourceLine& line : resource_lines(use))
    plots += small_plot(line);
  if (plots.empty()) return {};
  return fmt::format(
      "<figure class=\"picture\"><h3>{}</h3>\n{}<figcaption class=\"note\">Of the whole machine "
      "while rows were measured; dashed: all there is.{}</figcaption></figure>\n",
      escape_html(title), plots,
      use.no_gpu.empty() ? "" : " GPU: n/a (" + escape_html(use.no_gpu) + ").");
}

}  // namespace sluice::report
