// sluice/report/html/card.cpp - what a page opens with: the answer, and how quiet the machine was.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/facts.h"
#include "sluice/report/format.h"
#include "sluice/report/html/answer.h"
#include "sluice/report/html/parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::report {
namespace {

/// `text` whose numbers stay on the line of their unit.
std::string unbroken(const std::string& text) {
  constexpr std::string_view kUnits[] = {"ms", "%", "samples/s", "img/s", "MB/s", "MiB", "GiB"};
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = std::string_view(text).substr(i + 1);
    const bool number = i > 0 && text[i - 1] >= '0' && text[i - 1] <= '9';
    const bool unit = std::any_of(std::begin(kUnits), std::end(kUnits),
                                  [&](std::string_view one) { return rest.starts_with(one); });
    if (text[i] == ' ' && number && unit)
      out += "\u00a0";
    else
      out += text[i];
  }
  return out;
}

std::string list_of(const std::vector<std::string>& items, const char* kind) {
  std::string out = fmt::format("<ul class=\"{}\">", kind);
  for (const std::string& item : items)
    out += "<li>" + prose_html(unbroken(item)) + "</li>";
  return out + "</ul>\n";
}

/// The largest spread of the fixed work between runs; nothing with a single run of it.
std::optional<double> canary_spread(const Section& section) {
  std::optional<double> most;
  for (const Line& line : section.canary)
    if (has_summary(*line.row) && line.row->summary->n_runs > 1)
      most = std::max(most.value_or(0), line.row->summary->cv);
  return most;
}

}  // namespace

std::string prose_html(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t open = text.find('`');
    const std::size_t close = open == std::string_view::npos ? open : text.find('`', open + 1);
    if (close == std::string_view::npos) return out + escape_html(text);
    out += escape_html(text.substr(0, open)) + "<code>" +
           escape_html(text.substr(open + 1, close - open - 1)) + "</code>";
    text.remove_prefix(close + 1);
  }
}

std::string answer_card(const Answer& answer) {
  constexpr std::size_t kLong = 110;  // columns: a longer sentence is set smaller
  std::string out = fmt::format("<div class=\"answer\"><p class=\"headline{}\">{}</p>\n",
                                display_width(answer.headline) > kLong ? " long" : "",
                                prose_html(unbroken(answer.headline)));
  if (!answer.reasons.empty()) out += list_of(answer.reasons, "why");
  if (!answer.next.empty())
    out += "<div class=\"next\"><strong>What to do next</strong>" + list_of(answer.next, "steps") +
           "</div>\n";
  return out + "</div>\n";
}

std::string noise_html(const Section& section) {
  const auto check = noise_check(section.head());
  const auto spread = canary_spread(section);
  std::string during = spread ? fmt::format(
                                    "During the rows the canary, work that never changes, "
                                    "varied by {} between runs.",
                                    percent(*spread))
                              : "";
  if (!check) return during.empty() ? "" : "<p class=\"note\">" + escape_html(during) + "</p>\n";
  std::string out = fmt::format(
      "<{0} class=\"{1}\"><strong>Noise:</strong> {2}. {3}", check->quiet ? "p" : "div",
      check->quiet ? "note" : "callout\" role=\"note", escape_html(check->text()), during);
  if (check->quiet) return out + "</p>\n";
  out += "<ul>\n";
  for (const auto& finding : check->findings)
    out += "<li>" + escape_html(finding) + "</li>\n";
  return out + "</ul></div>\n";
}

}  // namespace sluice::report
