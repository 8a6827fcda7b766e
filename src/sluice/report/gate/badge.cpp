// sluice/report/gate/badge.cpp - two boxes with text of a fixed length.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gate/badge.h"

#include "sluice/report/format.h"
#include "sluice/report/gate/line_text.h"
#include "sluice/report/html/parts.h"

#include <fmt/format.h>

namespace sluice::report {
namespace {

constexpr const char* kBadgeLabel = "performance";
constexpr std::size_t kCharacterPx = 7, kMarginPx = 6;

const char* badge_colour(gate::GateStatus status) {
  switch (status) {
    case gate::GateStatus::pass:
    case gate::GateStatus::improved:
      return "#2e7d32";
    case gate::GateStatus::fail:
      return "#b3261e";
    case gate::GateStatus::warn:
      return "#8a6100";
    case gate::GateStatus::inconclusive:
    case gate::GateStatus::skip:
    case gate::GateStatus::invalid:
      break;
  }
  return "#5f6368";  // nothing is said
}

/// The worst line of all reports decides the words, the worst report the colour.
struct BadgeWords {
  gate::GateStatus status = gate::GateStatus::skip;
  std::string text;
};

BadgeWords badge_words(const std::vector<gate::GateReport>& reports) {
  std::vector<gate::GateLine> whole;  // a line for each report, so that they are ordered as lines
  for (const gate::GateReport& report : reports) {
    gate::GateLine line;
    line.status = report.status;
    for (const gate::GateLine* one : worst_first(report.lines)) {
      if (one->status != gate::GateStatus::fail || one->delta_unit != "%" || !one->delta) break;
      line.reason = gate_delta(*one);
      break;
    }
    whole.push_back(std::move(line));
  }
  if (whole.empty()) return {gate::GateStatus::skip, "SKIP"};
  const gate::GateLine& worst = *worst_first(whole).front();
  std::string text = gate::to_string(worst.status);
  if (!worst.reason.empty()) text += " " + worst.reason;
  return {worst.status, std::move(text)};
}

}  // namespace

std::string badge_svg(const std::vector<gate::GateReport>& reports) {
  const BadgeWords words = badge_words(reports);
  const auto width_of = [](std::string_view text) { return kCharacterPx * display_width(text); };
  const std::size_t left_text = width_of(kBadgeLabel), right_text = width_of(words.text);
  const std::size_t left = left_text + 2 * kMarginPx, right = right_text + 2 * kMarginPx;
  const std::string text = escape_html(words.text);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"20\" role=\"img\" "
      "aria-label=\"{1}: {2}\"><title>{1}: {2}</title>"
      "<rect width=\"{0}\" height=\"20\" rx=\"3\" fill=\"#3c4043\"/>"
      "<path d=\"M{3} 0h{4}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{4}z\" fill=\"{5}\"/>"
      "<g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">"
      "<text x=\"{6}\" y=\"14\" textLength=\"{7}\">{1}</text>"
      "<text x=\"{8}\" y=\"14\" textLength=\"{9}\">{2}</text></g></svg>\n",
      left + right, kBadgeLabel, text, left, right - 3, badge_colour(words.status), kMarginPx,
      left_text, left + kMarginPx, right_text);
}

}  // namespace sluice::report
