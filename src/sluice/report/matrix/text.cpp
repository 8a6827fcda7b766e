// sluice/report/matrix/text.cpp - a matrix table as a terminal shows it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"

#include "sluice/report/format.h"
#include "sluice/report/matrix/answer.h"
#include "sluice/report/paint.h"
#include "sluice/report/sections.h"
#include "sluice/report/text_parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::report {
namespace {

constexpr std::size_t kLongestTextName = 24;
constexpr std::size_t kLongestLibrary = 14;

/// How much a cell says; the first that fits the width is taken.
enum class Detail { spaced, tight, median_only };

/// Names that would be wider than any number below them.
struct Short {
  const char* library;
  const char* shown;
};
constexpr Short kShort[] = {{"albumentationsx", "albx"}, {"albumentationsx-latest", "albx-latest"}};

std::string title_of(const std::string& library) {
  for (const Short& one : kShort) {
    if (library == one.library) return one.shown;
  }
  return clip(printable(library), kLongestLibrary);
}

std::string grid_value(const MatrixCell& cell, Detail detail) {
  if (cell.row != nullptr && cell.row->status == measure::RowStatus::early_stopped) {
    const std::string marker = slow_marker(*cell.file, "");
    return marker.substr(0, marker.find(' '));
  }
  if (!has_number(cell) || detail == Detail::spaced) return cell_text(cell);
  const std::string spread = spread_text(*cell.row);
  std::string out = median_text(*cell.row);
  if (detail == Detail::tight && !spread.empty()) out += "±" + spread;
  out.erase(std::remove(out.begin(), out.end(), ','), out.end());
  return cell.note != 0 ? "(" + out + ")" : out;
}

/// Without the columns of libraries that have no number and say why, such as those that are not
/// installed: the reasons below name them.
MatrixTable without_absent(const MatrixTable& whole) {
  MatrixTable table = whole;
  for (std::size_t c = table.columns.size(); c-- > 0;) {
    const bool absent = std::all_of(table.lines.begin(), table.lines.end(), [&](const auto& line) {
      const MatrixCell& cell = line.cells[c];
      return cell.row != nullptr && cell.row->status == measure::RowStatus::unsupported;
    });
    if (!absent || table.lines.empty()) continue;
    const auto at = static_cast<std::ptrdiff_t>(c);
    table.columns.erase(table.columns.begin() + at);
    for (MatrixLine& line : table.lines) {
      line.cells.erase(line.cells.begin() + at);
      if (!line.lead) continue;
      if (line.lead->first > c) --line.lead->first;
      if (line.lead->second > c) --line.lead->second;
    }
  }
  return table;
}

struct Grid {
  std::vector<std::string> titles;              // the first is the transform
  std::vector<std::vector<std::string>> lines;  // texts by column
  std::vector<std::size_t> width;
  std::size_t body = 0;  // lines before coverage and median
};

std::size_t total(const Grid& grid) {
  std::size_t sum = (grid.width.size() - 1) * kColumnGap;
  for (const std::size_t width : grid.width)
    sum += width;
  return sum;
}

Grid make_grid(const MatrixTable& table, Detail detail, bool colour) {
  Grid grid;
  grid.titles.emplace_back("transform");
  for (const auto& column : table.columns)
    grid.titles.push_back(title_of(column.library));
  grid.titles.emplace_back("fastest over next");
  if (table.copies) grid.titles.emplace_back(kCopyShare);
  for (const auto& line : table.lines) {
    auto& cells = grid.lines.emplace_back();
    cells.push_back(clip(printable(line.name), kLongestTextName));
    for (const auto& cell : line.cells)
      cells.push_back(grid_value(cell, detail) + (cell.best && !colour ? "*" : "") +
                      cell_marks(cell));
    cells.push_back(winner_text(table, line));
    if (table.copies) cells.push_back(copy_text(line));
  }
  grid.body = grid.lines.size();
  auto& coverage = grid.lines.emplace_back(1, "coverage");
  for (const auto& column : table.columns)
    coverage.push_back(coverage_text(table, column));
  coverage.resize(grid.titles.size());
  auto& median = grid.lines.emplace_back(1, "median");
  for (const auto& column : table.columns)
    median.push_back(column.median ? significant(*column.median, 4) : std::string(kNone));
  median.resize(grid.titles.size());
  for (std::size_t c = 0; c < grid.titles.size(); ++c) {
    std::size_t width = display_width(grid.titles[c]);
    for (const auto& line : grid.lines)
      width = std::max(width, display_width(line[c]));
    grid.width.push_back(width);
  }
  return grid;
}

Grid fitting_grid(const MatrixTable& table, const TextOptions& options, std::size_t limit) {
  for (const Detail detail : {Detail::spaced, Detail::tight}) {
    Grid grid = make_grid(table, detail, options.colour);
    if (total(grid) <= limit) return grid;
  }
  return make_grid(table, Detail::median_only, options.colour);
}

/// Columns `first` to before `end`, after the names.
std::string grid_block(const MatrixTable& table, const Grid& grid, std::size_t first,
                       std::size_t end, const Paint& paint) {
  std::string head = padded(grid.titles[0], grid.width[0], false);
  for (std::size_t c = first; c < end; ++c)
    head += std::string(kColumnGap, ' ') + padded(grid.titles[c], grid.width[c], true);
  std::string out = paint(kDim, without_trailing_space(head)) + "\n";
  const bool foot = first <= table.columns.size();  // coverage and median are of libraries
  for (std::size_t i = 0; i < (foot ? grid.lines.size() : grid.body); ++i) {
    std::string line = padded(grid.lines[i][0], grid.width[0], false);
    for (std::size_t c = first; c < end; ++c) {
      std::string text = padded(grid.lines[i][c], grid.width[c], true);
      const bool cell = i < grid.body && c <= table.columns.size();
      if (cell && table.lines[i].cells[c - 1].best) text = paint(kBold, text);
      line += std::string(kColumnGap, ' ') + text;
    }
    line = without_trailing_space(line);
    out += (i < grid.body ? line : paint(kDim, line)) + "\n";
  }
  return out;
}

std::string blocks(const MatrixTable& table, const Grid& grid, std::size_t limit,
                   const Paint& paint) {
  std::string out;
  for (std::size_t first = 1; first < grid.titles.size();) {
    std::size_t end = first;
    std::size_t used = grid.width[0];
    while (end < grid.titles.size() &&
           (end == first || used + kColumnGap + grid.width[end] <= limit)) {
      used += kColumnGap + grid.width[end];
      ++end;
    }
    out += (first > 1 ? "\n" : "") + grid_block(table, grid, first, end, paint);
    first = end;
  }
  return out;
}

std::string memory_lines(const MatrixTable& table, std::size_t limit) {
  std::string out;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::vector<std::string> parts;
    for (const auto& line : table.lines) {
      const MatrixCell& cell = line.cells[c];
      if (cell.row != nullptr && cell.row->gpu_memory)
        parts.push_back(fmt::format("{} {}", printable(line.name), memory_text(cell)));
    }
    if (parts.empty()) continue;
    out += wrapped(fmt::format("GPU peak MiB (allocated / reserved), {}: {}",
                               printable(table.columns[c].library), join(parts)),
                   limit, 2);
  }
  return out;
}

std::string below(const MatrixTable& table, bool colour, std::size_t limit) {
  std::string out;
  if (table.gpu_memory) out += memory_lines(table, limit);
  std::vector<std::string> signs = legend(table);
  for (auto& sign : signs) {
    if (sign.starts_with("bold:") && !colour) sign.replace(0, 5, "*:");
  }
  out += wrapped(join(signs, " · "), limit, 2);
  for (std::size_t i = 0; i < table.notes.size(); ++i)
    out +=
        wrapped(fmt::format("{} not comparable: {}", superscript(i + 1), table.notes[i]), limit, 2);
  for (const auto& reason : table.reasons)
    out += wrapped(reason_text(reason), limit, 2);
  for (const auto& remark : table.remarks)
    out += wrapped(remark, limit, 2);
  return out;
}

}  // namespace

std::string matrix_text(const MatrixTable& whole, const TextOptions& options) {
  const MatrixTable table = without_absent(whole);
  const Paint paint(options.colour);
  const std::size_t limit = std::max(options.width, 60U);
  std::string out = paint(kBold, without_trailing_space(wrapped(table.title(), limit, 0)));
  out += wrapped(caption(table), limit, 0) + "\n";
  if (table.lines.empty()) return out + "no row was measured\n";
  out += blocks(table, fitting_grid(table, options, limit), limit, paint);
  out += "\n" + below(table, options.colour, limit);
  return out + "\n" + paint(kBold, without_trailing_space(wrapped(answer_text(whole), limit, 0)));
}

}  // namespace sluice::report
