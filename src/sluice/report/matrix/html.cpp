// sluice/report/matrix/html.cpp - the matrix tables of report.html.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/format.h"
#include "sluice/report/html/parts.h"
#include "sluice/report/matrix/answer.h"
#include "sluice/report/sections.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::report {
namespace {

using measure::RowStatus;

std::string name_html(const std::string& text) {
  return escape_html(clip(printable(text), kLongestName));
}

/// What a pointer resting on the cell shows: interval, runs, reason.
std::string tip(const MatrixCell& cell) {
  if (cell.row == nullptr) return "no row in these files";
  const measure::Row& row = *cell.row;
  std::vector<std::string> parts{printable(row.library)};
  if (has_number(cell)) {
    if (row.summary->ci95) parts.push_back("95 % interval " + interval_cell(row));
    parts.push_back(fmt::format("{} run{}, {} samples", row.summary->n_runs,
                                row.summary->n_runs == 1 ? "" : "s", row.summary->n_samples));
  }
  if (!row.reason.empty()) parts.push_back(printable(row.reason));
  if (!row.not_comparable.empty())
    parts.push_back("not comparable: " + printable(row.not_comparable));
  return join(parts, "; ");
}

std::string kind(const MatrixCell& cell) {
  if (cell.row == nullptr) return "absent";
  if (has_number(cell)) return cell.best ? "best" : cell.note != 0 ? "aside" : "plain";
  switch (cell.row->status) {
    case RowStatus::early_stopped:
      return "early";
    case RowStatus::failed:
      return "failed";
    case RowStatus::skipped:
      return "skipped";
    default:
      return "absent";
  }
}

std::string cell_html(const MatrixCell& cell) {
  std::string text;
  if (has_number(cell)) {
    const std::string spread = spread_text(*cell.row);
    text = fmt::format("<span class=\"median\">{}</span>", median_text(*cell.row));
    if (!spread.empty()) text += fmt::format(" <small>± {}</small>", spread);
  } else {
    text = escape_html(cell_text(cell));
  }
  text += fmt::format("<span class=\"marks\">{}</span>", cell_marks(cell));
  if (has_number(cell)) {
    text += fmt::format("<span class=\"share\"><span style=\"width:{:.1f}%\"></span></span>",
                        100 * cell.share);
  }
  return fmt::format("<td class=\"{}\" title=\"{}\">{}</td>", kind(cell), escape_html(tip(cell)),
                     text);
}

std::string matrix_head_html(const MatrixTable& table) {
  std::string out = "<thead><tr><th scope=\"col\">Transform</th>";
  for (const auto& column : table.columns) {
    out += fmt::format("<th scope=\"col\">{}<br><small>{}</small></th>", name_html(column.library),
                       name_html(column.version));
  }
  out += "<th scope=\"col\" class=\"lead\">Fastest<br><small>over next</small></th>";
  if (table.copies)
    out += fmt::format("<th scope=\"col\" class=\"lead\">{}</th>",
                       "Share<br><small>of memory copy speed</small>");
  for (std::size_t c = 0; table.gpu_memory && c < table.columns.size(); ++c) {
    out += fmt::format(
        "<th scope=\"col\" class=\"memory\">{}<br><small>peak MiB: allocated / reserved</small>"
        "</th>",
        name_html(table.columns[c].library));
  }
  return out + "</tr></thead>\n";
}

std::string line_html(const MatrixTable& table, const MatrixLine& line) {
  std::string out = fmt::format("<tr><th scope=\"row\">{}</th>", name_html(line.name));
  for (const auto& cell : line.cells)
    out += cell_html(cell);
  if (line.lead) {
    const Lead bare{0, 0, line.lead->ratio, {}, {}};
    const std::string who =
        fmt::format("{} over {}: {}", printable(table.columns[line.lead->first].library),
                    printable(table.columns[line.lead->second].library), lead_text(*line.lead));
    const std::string whole = lead_text(*line.lead);
    const std::string interval = whole.substr(lead_text(bare).size());
    const std::string name = winner_text(table, line);
    out += fmt::format("<td class=\"lead\" title=\"{}\">{}{}<small>{}</small></td>",
                       escape_html(who), escape_html(name.substr(0, name.size() - whole.size())),
                       lead_text(bare), interval);
  } else {
    out += fmt::format("<td class=\"lead absent\">{}</td>", kNone);
  }
  if (table.copies) out += fmt::format("<td class=\"lead\">{}</td>", copy_text(line));
  for (std::size_t c = 0; table.gpu_memory && c < line.cells.size(); ++c) {
    const std::string text = memory_text(line.cells[c]);
    out += fmt::format("<td class=\"memory{}\">{}</td>", text == kNone ? " absent" : "", text);
  }
  return out + "</tr>\n";
}

std::string foot_html(const MatrixTable& table) {
  std::string coverage = "<tr><th scope=\"row\">Coverage</th>";
  std::string median = "<tr><th scope=\"row\">Median</th>";
  for (const auto& column : table.columns) {
    coverage += "<td>" + coverage_text(table, column) + "</td>";
    median +=
        "<td>" + (column.median ? significant(*column.median, 4) : std::string(kNone)) + "</td>";
  }
  std::string rest = "<td class=\"lead\"></td>";
  if (table.copies) rest += rest;
  for (std::size_t c = 0; table.gpu_memory && c < table.columns.size(); ++c)
    rest += "<td class=\"memory\"></td>";
  return "<tfoot>" + coverage + rest + "</tr>\n" + median + rest + "</tr></tfoot>\n";
}

std::string list_html(const MatrixTable& table) {
  std::string items;
  for (std::size_t i = 0; i < table.notes.size(); ++i)
    items += fmt::format("<li>{} not comparable: {}</li>\n", superscript(i + 1),
                         escape_html(table.notes[i]));
  for (const auto& reason : table.reasons) {
    const bool failed = reason.status == RowStatus::failed;
    items += fmt::format("<li{}>{}</li>\n", failed ? " class=\"failed\"" : "",
                         escape_html(reason_text(reason)));
  }
  for (const auto& remark : table.remarks)
    items += "<li>" + escape_html(remark) + "</li>\n";
  return items.empty() ? std::string() : "<ul class=\"notes\">\n" + items + "</ul>\n";
}

}  // namespace

std::string matrix_html(const MatrixTable& table, const std::string& id) {
  std::string out = fmt::format("<h2 id=\"{}\">{}</h2>\n<p class=\"note\">{}.</p>\n", id,
                                escape_html(table.title()), escape_html(caption(table)));
  if (table.lines.empty()) return out + "<p class=\"soft\">No row was measured.</p>\n";
  out += fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"{}\"><table "
      "class=\"matrix\">\n",
      id);
  out += matrix_head_html(table) + "<tbody>\n";
  for (const auto& line : table.lines)
    out += line_html(table, line);
  out += "</tbody>\n" + foot_html(table) + "</table></div>\n";
  out += fmt::format(
      "<p class=\"note\"><strong>{}</strong> Bar: share of the best median of the "
      "line. {}.</p>\n",
      escape_html(answer_text(table)), escape_html(join(legend(table), " · ")));
  return out + list_html(table);
}

std::string matrix_cards(const std::vector<MatrixTable>& tables) {
  constexpr std::size_t kMost = 8;
  std::string out;
  std::size_t shown = 0;
  for (const auto& table : tables) {
    const MatrixAnswer answer = answer_of(table);
    if (!table.main || answer.rows == 0 || shown == kMost) continue;
    ++shown;
    out += fmt::format(
        "<li class=\"card\"><div class=\"name\">{}</div><div class=\"value\">{}</div><div "
        "class=\"more\">{}</div></li>\n",
        escape_html(table.title()),
        answer.take ? name_html(table.columns[*answer.take].library) : "no single library",
        escape_html(answer_text(table)));
  }
  // A single table says it itself, and the answer of the page does.
  return shown < 2 ? "" : "<ul class=\"cards wide\">\n" + out + "</ul>\n";
}

}  // namespace sluice::report
