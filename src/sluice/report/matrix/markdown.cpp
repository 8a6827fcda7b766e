// sluice/report/matrix/markdown.cpp - a matrix table for repositories and pull requests.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/format.h"
#include "sluice/report/markdown_parts.h"
#include "sluice/report/matrix/answer.h"

#include <fmt/format.h>

namespace sluice::report {
namespace {

std::string name_markdown(const std::string& text) {
  return escape_markdown(clip(printable(text), kLongestName));
}

std::string cell_markdown(const MatrixCell& cell) {
  const std::string text = escape_markdown(cell_text(cell));
  return (cell.best ? "**" + text + "**" : text) + cell_marks(cell);
}

std::string table_head(const MatrixTable& table) {
  std::string titles = "| transform |";
  std::string rule = "|---|";
  const auto add = [&](const std::string& title) {
    titles += " " + title + " |";
    rule += "--:|";
  };
  for (const auto& column : table.columns)
    add(name_markdown(column.library) +
        (column.version.empty() ? "" : " " + name_markdown(column.version)));
  add("fastest over next");
  if (table.copies) add(kCopyShare);
  if (table.gpu_memory) {
    for (const auto& column : table.columns)
      add(name_markdown(column.library) + " MiB peak: allocated / reserved");
  }
  return titles + "\n" + rule + "\n";
}

std::string line_text(const MatrixTable& table, const MatrixLine& line) {
  std::string out = "| " + name_markdown(line.name) + " |";
  for (const auto& one : line.cells)
    out += " " + cell_markdown(one) + " |";
  out += fmt::format(" {} |", escape_markdown(winner_text(table, line)));
  if (table.copies) out += " " + copy_text(line) + " |";
  if (table.gpu_memory) {
    for (const auto& one : line.cells)
      out += " " + memory_text(one) + " |";
  }
  return out + "\n";
}

std::string table_foot(const MatrixTable& table) {
  std::string coverage = "| *coverage* |";
  std::string median = "| *median* |";
  for (const auto& column : table.columns) {
    coverage += " " + coverage_text(table, column) + " |";
    median += " " + (column.median ? significant(*column.median, 4) : std::string(kNone)) + " |";
  }
  std::string rest = table.copies ? "  |  |" : "  |";
  for (std::size_t c = 0; table.gpu_memory && c < table.columns.size(); ++c)
    rest += "  |";
  return coverage + rest + "\n" + median + rest + "\n";
}

}  // namespace

std::string matrix_markdown(const MatrixTable& table) {
  std::string out = "## " + escape_markdown(table.title()) + "\n\n";
  out += escape_markdown(caption(table)) + ".\n\n";
  if (table.lines.empty()) {
    out += "No row was measured.\n";
  } else {
    out += table_head(table);
    for (const auto& line : table.lines)
      out += line_text(table, line);
    out += table_foot(table) + "\n" + escape_markdown(answer_text(table)) + "\n\n";
    out += escape_markdown(join(legend(table), " · ")) + "\n";
  }
  std::string items;
  for (std::size_t i = 0; i < table.notes.size(); ++i)
    items += fmt::format("- {} not comparable: {}\n", superscript(i + 1),
                         escape_markdown(table.notes[i]));
  for (const auto& reason : table.reasons)
    items += "- " + escape_markdown(reason_text(reason)) + "\n";
  for (const auto& remark : table.remarks)
    items += "- " + escape_markdown(remark) + "\n";
  return items.empty() ? out : out + "\n" + items;
}

}  // namespace sluice::report
