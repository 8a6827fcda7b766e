// sluice/report/html/checks.cpp - targets and indicators as lanes: what was found beside what was
// wanted.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/format.h"
#include "sluice/report/html/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sluice::report {
namespace {

struct CheckNumber {
  double value = 0;
  std::string unit;
};

/// The number of "> 1000 samples/s" or "1250 samples/s"; nothing where the text is none.
std::optional<CheckNumber> number_of(std::string_view text) {
  const std::size_t start = text.find_first_not_of("<>=≤≥ ");
  if (start == std::string_view::npos) return std::nullopt;
  text.remove_prefix(start);
  CheckNumber found;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), found.value);
  if (error != std::errc() || !std::isfinite(found.value) || found.value < 0) return std::nullopt;
  found.unit = std::string(trimmed(text.substr(static_cast<std::size_t>(end - text.data()))));
  return found;
}

const char* mark_class(results::Mark mark) {
  return mark == results::Mark::good ? "met" : mark == results::Mark::bad ? "missed" : "unknown";
}

const char* mark_sign(results::Mark mark) {
  return mark == results::Mark::good ? "✓" : mark == results::Mark::bad ? "✗" : "–";
}

/// The bar is what was found, the dashed line what was wanted; nothing where either is no number.
std::string check_svg(const results::Check& check) {
  const auto wanted = number_of(check.target), found = number_of(check.found);
  std::string out =
      "<svg class=\"bars\" height=\"18\" aria-hidden=\"true\"><rect class=\"track\" "
      "x=\"0\" y=\"3\" width=\"100%\" height=\"12\" rx=\"2\"/>";
  if (wanted && found && wanted->unit == found->unit && wanted->value + found->value > 0) {
    const double edge = 1.08 * std::max({wanted->value, std::min(found->value, 4 * wanted->value)});
    if (edge > 0)
      out += fmt::format(
          "<rect class=\"{0}\" x=\"0\" y=\"3\" width=\"{1:.2f}%\" height=\"12\" rx=\"2\"/><line "
          "class=\"mark\" x1=\"{2:.2f}%\" x2=\"{2:.2f}%\" y1=\"-1\" y2=\"19\"/>",
          mark_class(check.mark), 100 * std::min(found->value / edge, 1.0),
          100 * wanted->value / edge);
  }
  return out + "</svg>";
}

}  // namespace

std::string check_lanes(const std::string& title, const std::vector<results::Check>& checks) {
  if (checks.empty()) return {};
  std::string out =
      fmt::format("<figure class=\"picture checks\"><h3>{}</h3>\n<div class=\"chart four\">\n",
                  escape_html(title));
  std::string missing;
  for (const results::Check& one : checks) {
    const std::string name = printable(one.name), found = printable(one.found);
    if (one.mark == results::Mark::unknown && !number_of(one.found)) {
      missing += fmt::format("<li>{} {}: {}</li>\n", escape_html(name),
                             escape_html(printable(one.target)), escape_html(clip(found, 160)));
      continue;
    }
    out += fmt::format(
        "<div class=\"pair\"><span><span class=\"sign {}\">{}</span> {}</span>{}<span "
        "class=\"value\">{}</span><span class=\"ceiling\">{}</span></div>\n",
        mark_class(one.mark), mark_sign(one.mark), escape_html(clip(name, 60)), check_svg(one),
        escape_html(clip(found, 60)), escape_html(clip(printable(one.target), 40)));
  }
  out += "</div>\n";
  if (!missing.empty())
    out += "<p class=\"note\">Not known here:</p>\n<ul class=\"notes\">\n" + missing + "</ul>\n";
  return out +
         "<figcaption class=\"note\">Bar: what was found; dashed line: what was wanted, "
         "✓ met, ✗ missed.</figcaption></figure>\n";
}

}  // namespace sluice::report
