// sluice/report/text_table.cpp - the table a terminal shows.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/facts.h"
#include "sluice/report/format.h"
#include "sluice/report/paint.h"
#include "sluice/report/report.h"
#include "sluice/report/sections.h"
#include "sluice/report/text_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

namespace sluice::report {
namespace {

constexpr std::size_t kTextColumns = 7;
enum Column : std::size_t {
  case_column,
  library_column,
  median_column,
  interval_column,
  cv_column,
  runs_column,
  status_column
};
constexpr std::array<const char*, kTextColumns> kTextTitles = {
    "case", "library", "median ± sd", "95 % interval", "cv", "runs", "status"};
constexpr std::array<bool, kTextColumns> kTextRightAligned = {false, false, true, true,
                                                              true,  true,  false};

using TextCells = std::array<std::string, kTextColumns>;

struct Entry {
  TextCells cells;
  std::string status;  // without the mark
  std::string reason;
  bool best = false;
};

const char* status_colour(const std::string& status) {
  if (status == "ok") return kGreen;
  if (status == "failed") return kRed;
  return status == "unstable" || status == "early stopped" ? kYellow : kDim;
}

Entry entry(const Line& line, bool mark_best) {
  const measure::Row& row = *line.row;
  Entry out;
  out.cells = {case_cell(row), library_cell(row), median_cell(row), interval_cell(row),
               cv_cell(row),   runs_cell(row),    status_cell(row)};
  out.reason = reason_cell(row);
  out.status = out.cells[status_column];
  out.best = line.best;
  if (mark_best && line.best) out.cells[status_column] += " *";
  return out;
}

/// Widest cell of each column, then the columns of names give way until the line fits.
std::array<std::size_t, kTextColumns> widths(const std::vector<Entry>& entries, std::size_t limit) {
  std::array<std::size_t, kTextColumns> width{};
  for (std::size_t c = 0; c < kTextColumns; ++c) {
    width[c] = display_width(kTextTitles[c]);
    for (const auto& e : entries)
      width[c] = std::max(width[c], display_width(e.cells[c]));
  }
  constexpr std::pair<Column, std::size_t> kFloors[] = {{case_column, 24},
                                                        {library_column, 8},
                                                        {median_column, 14},
                                                        {interval_column, 12},
                                                        {case_column, 8}};
  for (const auto& [column, floor] : kFloors) {
    const std::size_t total =
        std::accumulate(width.begin(), width.end(), (kTextColumns - 1) * kColumnGap);
    if (total <= limit) break;
    const std::size_t excess = total - limit;
    if (width[column] > floor)
      width[column] = std::max(floor, width[column] - std::min(excess, width[column]));
  }
  return width;
}

std::string text_table_of(const std::vector<Line>& lines, const TextOptions& options) {
  const Paint paint(options.colour);
  const std::size_t limit = std::max(options.width, 60U);
  std::vector<Entry> entries;
  for (const auto& line : lines)
    entries.push_back(entry(line, !options.colour));
  const auto width = widths(entries, limit);

  std::string head;
  for (std::size_t c = 0; c < kTextColumns; ++c) {
    head += (c > 0 ? std::string(kColumnGap, ' ') : "") +
            padded(clip(kTextTitles[c], width[c]), width[c], kTextRightAligned[c]);
  }
  std::string out = paint(kDim, without_trailing_space(head)) + "\n";
  for (const auto& e : entries) {
    std::string line;
    for (std::size_t c = 0; c < kTextColumns; ++c) {
      std::string cell = padded(clip(e.cells[c], width[c]), width[c], kTextRightAligned[c]);
      if (c == median_column && e.best) cell = paint(kBold, cell);
      if (c == status_column) cell = paint(status_colour(e.status), without_trailing_space(cell));
      line += (c > 0 ? std::string(kColumnGap, ' ') : "") + cell;
    }
    out += without_trailing_space(line) + "\n";
    if (!e.reason.empty()) out += paint(kDim, wrapped(e.reason, limit, 4));
  }
  return out;
}

std::string head_text(const Section& section, const TextOptions& options) {
  const Paint paint(options.colour);
  const std::size_t limit = std::max(options.width, 60U);
  std::string out = paint(kBold, title(section)) + "\n";
  out += clip(fmt::format("{} on {}", tool_text(section.head()),
                          printable(section.head().machine_profile)),
              limit) +
         "\n";
  for (const auto& warning : noise_warnings(section.head())) {
    out += paint("33", wrapped("noise: " + warning, limit, 0));
  }
  return out + "\n";
}

/// The canary and the command: what every section ends with.
std::string end_text(const Section& section, const TextOptions& options) {
  const Paint paint(options.colour);
  std::string out;
  if (!section.canary.empty()) {
    out += "\n" + paint(kBold, "canary") + " (fixed work: if it moved, the machine did)\n" +
           text_table_of(section.canary, options);
  }
  out += "\n";
  for (const auto& command : commands(section))
    out += "repeat: " + command + "\n";
  return out;
}

/// Rows of the cases in which some library was measured in pairs with ours, or (`wanted` false) the
/// other rows.
std::vector<Line> compared(const std::vector<Line>& lines, bool wanted) {
  std::set<std::string> cases;
  for (const Line& line : lines)
    if (line.behind) cases.insert(line.row->case_name);
  std::vector<Line> found;
  for (const Line& line : lines)
    if (cases.contains(line.row->case_name) == wanted) found.push_back(line);
  return found;
}

std::string text_section(const Section& section, const TextOptions& options) {
  std::string out = head_text(section, options);
  if (section.rows.empty()) out += "no row was measured\n";
  const std::string beside = beside_text(compared(section.rows, true), options);
  const std::vector<Line> rows = options.brief ? compared(section.rows, false) : section.rows;
  out += beside + (beside.empty() || rows.empty() ? "" : "\n");
  if (!rows.empty()) out += text_table_of(rows, options);
  const bool any_best = std::any_of(rows.begin(), rows.end(), [](const Line& l) { return l.best; });
  if (any_best && !options.colour) {
    out += wrapped("* best of its case, or not separated from it by the intervals",
                   std::max(options.width, 60U), 0);
  }
  return out + end_text(section, options);
}

/// The tables of the matrix between the heads and the ends of the sessions they come from.
std::string all_matrix_text(const std::vector<const results::ResultFile*>& files,
                            const TextOptions& options) {
  const auto parts = sections(files);
  std::string out;
  for (const auto& section : parts)
    out += head_text(section, options);
  std::string between;
  for (const auto& one : matrix_tables(files)) {
    out += between + matrix_text(one, options);
    between = "\n";
  }
  for (const auto& section : parts)
    out += end_text(section, options);
  return out;
}

}  // namespace

std::string aligned(const std::vector<std::vector<std::string>>& rows,
                    const std::vector<bool>& right) {
  std::vector<std::size_t> widths(right.size(), 0);
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], display_width(row[c]));
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c)
      line += (c == 0 ? "" : "  ") + padded(row[c], widths[c], right[c]);
    text += without_trailing_space(line) + "\n";
  }
  return text;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t used = display_width(text);
  const std::string space(width > used ? width - used : 0, ' ');
  return right ? space + text : text + space;
}

std::string wrapped(const std::string& text, std::size_t width, std::size_t indent) {
  std::string out;
  std::string line;
  const std::size_t room = width > indent + 10 ? width - indent : 10;
  const auto flush = [&] {
    if (!line.empty()) out += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  for (std::string word : split(text, ' ')) {
    if (display_width(word) > room) word = clip(word, room);
    if (!line.empty() && display_width(line) + 1 + display_width(word) > room) flush();
    line += (line.empty() ? "" : " ") + word;
  }
  flush();
  return out;
}

std::string without_trailing_space(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string text_table(const std::vector<results::ResultFile>& files, const TextOptions& options) {
  const Split split = split_files(files);
  std::string out = split.matrix.empty() ? std::string() : all_matrix_text(split.matrix, options);
  for (const auto& section : sections(split.plain)) {
    if (!out.empty()) out += "\n";
    out += text_section(section, options);
  }
  return out.empty() ? "no result file was given\n" : out;
}

}  // namespace sluice::report
