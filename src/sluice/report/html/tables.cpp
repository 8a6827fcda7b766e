// sluice/report/html/tables.cpp - the cards and tables of report.html.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/facts.h"
#include "sluice/report/format.h"
#include "sluice/report/html/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace sluice::report {
namespace {

using measure::Row;

std::string chip_class(const std::string& status) {
  return status == "early stopped" ? "early" : status;
}

std::string labelled_cell(const char* label, const std::string& content, const char* kind = "") {
  const bool none = content == kNone;
  return fmt::format("<td role=\"cell\" data-label=\"{}\" class=\"{}{}\"><span>{}</span></td>",
                     label, kind, none ? " empty" : "", content);
}

/// What all rows of a table share.
struct Columns {
  bool libraries = false;
  bool compared = false;  // how many times as fast ours is
  double range = 0;       // of the interval bars
};

std::string row_html(const Line& line, bool again, bool inside, const Columns& columns) {
  const Row& row = *line.row;
  const std::string status = status_cell(row);
  std::string out =
      fmt::format("<tr role=\"row\" class=\"{}{}{}\"><th role=\"rowheader\" scope=\"row\">{}</th>",
                  line.best ? "best " : "", again ? "again " : "", inside ? "inside" : "",
                  escape_html(clip(case_cell(row), 160)));
  if (columns.libraries) {
    std::string library = escape_html(clip(library_cell(row), 60));
    if (!row.library_version.empty()) {
      library = fmt::format("<span title=\"version {}\">{}</span>",
                            escape_html(printable(row.library_version)), library);
    }
    out += labelled_cell("Library", library, "library");
  }
  out += labelled_cell("Median ± sd", escape_html(median_cell(row)), "number median");
  std::string interval(kNone);
  if (has_summary(row) && row.summary->ci95) {
    interval = fmt::format("{}<span class=\"range\">{}</span>", interval_bar(row, columns.range),
                           escape_html(interval_cell(row)));
  }
  out += labelled_cell("95 % interval", interval, "bar");
  out += labelled_cell("CV", cv_cell(row), "number");
  out += labelled_cell("Runs × samples", runs_cell(row), "number");
  if (columns.compared) out += labelled_cell("Ours over it", behind_cell(line), "number");
  std::string state = fmt::format("<span class=\"chip {}\">{}</span>", chip_class(status), status);
  if (!row.reason.empty())
    state += fmt::format("<span class=\"reason\">{}</span>", escape_html(reason_cell(row)));
  return out + labelled_cell("Status", state) + "</tr>\n";
}

/// "decode/jpeg" of "decode/jpeg/threads=1": what is measured, without the axis values.
std::string scenario_of(const Row& row) {
  std::vector<std::string> parts;
  for (const auto& part : split(row.case_name, '/')) {
    if (part.find('=') == std::string::npos) parts.push_back(part);
  }
  return parts.empty() ? row.case_name : join(parts, "/");
}

std::string axes_of(const Row& row) {
  std::vector<std::string> parts;
  for (const auto& part : split(row.case_name, '/')) {
    if (part.find('=') != std::string::npos) parts.push_back(printable(part));
  }
  return join(parts);
}

std::string card(const std::string& name, const std::string& value, const std::string& unit,
                 const std::string& more) {
  return fmt::format(
      "<li class=\"card\"><div class=\"name\">{}</div><div class=\"value\">{} "
      "<small>{}</small></div>"
      "<div class=\"more\">{}</div></li>\n",
      escape_html(name), escape_html(value), escape_html(unit), escape_html(more));
}

/// One card per scenario with its best row; none when there are too many for a glance.
std::string scenario_cards(const Section& section) {
  constexpr std::size_t kMost = 6;
  std::vector<std::string> order;
  std::map<std::string, const Row*> best;
  for (const auto& line : section.rows) {
    const Row& row = *line.row;
    if (row.status != measure::RowStatus::ok || !has_summary(row)) continue;
    const std::string name = scenario_of(row);
    const auto [found, added] = best.emplace(name, &row);
    if (added) {
      order.push_back(name);
      continue;
    }
    const double difference = row.summary->median - found->second->summary->median;
    if (row.better == measure::Better::higher ? difference > 0 : difference < 0)
      found->second = &row;
  }
  std::string out;
  if (order.size() > kMost) return out;
  for (const auto& name : order) {
    const Row& row = *best[name];
    const Scale scale = scale_of(row);
    std::vector<std::string> more;
    if (section.several_libraries) more.push_back(library_cell(row));
    if (const std::string axes = axes_of(row); !axes.empty()) more.push_back(axes);
    if (row.summary->ci95) more.push_back(interval_cell(row));
    out += card(clip(printable(name), 48), scale.number(row.summary->median), scale.unit(),
                clip(join(more, " · "), 90));
  }
  return out;
}

std::string precision_card(const Section& section) {
  std::vector<std::pair<double, const Row*>> by_cv;
  for (const auto& line : section.rows) {
    const Row& row = *line.row;
    if (has_summary(row) && row.summary->n_runs > 1 && row.summary->cv >= 0)
      by_cv.emplace_back(row.summary->cv, &row);
  }
  if (by_cv.empty()) return {};
  std::sort(by_cv.begin(), by_cv.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<double> values;
  for (const auto& entry : by_cv)
    values.push_back(entry.first);
  return card("Typical variation between runs", percent(quantile(values, 0.5)), "cv",
              fmt::format("largest {} in {}", percent(values.back()),
                          clip(case_cell(*by_cv.back().second), 48)));
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string results_table(const Section& section, const std::vector<Line>& lines,
                          const std::string& caption) {
  const Columns columns{section.several_libraries, any_behind(lines), interval_range(lines)};
  std::string out = fmt::format(
      "<div class=\"fit\"><table role=\"table\" class=\"rows\"><caption>{}</caption>\n<thead "
      "role=\"rowgroup\"><tr "
      "role=\"row\">"
      "<th role=\"columnheader\" scope=\"col\">Case</th>{}"
      "<th role=\"columnheader\" scope=\"col\" class=\"number\">Median ± sd</th>"
      "<th role=\"columnheader\" scope=\"col\" class=\"bar\">95 % interval<br>± {} of the "
      "median</th>"
      "<th role=\"columnheader\" scope=\"col\" class=\"number\">CV</th>"
      "<th role=\"columnheader\" scope=\"col\" class=\"number\">Runs ×<br>samples</th>{}"
      "<th role=\"columnheader\" scope=\"col\">Status</th></tr></thead>\n<tbody "
      "role=\"rowgroup\">\n",
      escape_html(caption),
      columns.libraries ? "<th role=\"columnheader\" scope=\"col\">Library</th>" : "",
      fmt::format("{:g} %", 100 * columns.range),
      columns.compared
          ? "<th role=\"columnheader\" scope=\"col\" class=\"number\">Ours<br>over it</th>"
          : "");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto same = [&](std::size_t other) {
      return lines[i].row->case_name == lines[other].row->case_name;
    };
    const bool again = i > 0 && same(i - 1);
    const bool inside = i + 1 < lines.size() && same(i + 1);
    out += row_html(lines[i], again, inside, columns);
  }
  return out + "</tbody></table></div>\n";
}

std::string summary_cards(const Section& section) {
  const auto measured =
      std::count_if(section.rows.begin(), section.rows.end(),
                    [](const Line& line) { return line.row->status == measure::RowStatus::ok; });
  std::string out = "<ul class=\"cards\">\n" + scenario_cards(section);
  out += card("Rows measured", fmt::format("{}", measured),
              fmt::format("of {}", section.rows.size()), status_counts(section));
  return out + precision_card(section) + "</ul>\n";
}

}  // namespace sluice::report
