// sluice/report/matrix/cells.cpp - what stands in the cells of a matrix table, and around them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/versus.h"
#include "sluice/core/text.h"
#include "sluice/report/matrix/matrix.h"
#include "sluice/report/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace sluice::report {
namespace {

using measure::RowStatus;

template <class Condition>
bool any_cell(const MatrixTable& table, Condition condition) {
  for (const auto& line : table.lines) {
    if (std::any_of(line.cells.begin(), line.cells.end(), condition)) return true;
  }
  return false;
}

/// "3", or "2 to 3" where rows differ.
std::string range_text(const std::set<std::int64_t>& values) {
  if (values.empty()) return {};
  const std::string low = integer(*values.begin());
  return values.size() == 1 ? low : fmt::format("{} to {}", low, integer(*values.rbegin()));
}

/// "decode and collate": what is timed beside the transform.
std::string included_text(const MatrixTable& table) {
  const auto any = [&](bool results::Timing::*flag) {
    return std::any_of(table.files.begin(), table.files.end(),
                       [&](const auto* file) { return file->timing.*flag; });
  };
  std::vector<std::string> parts;
  if (any(&results::Timing::includes_decode)) parts.emplace_back("decode");
  if (any(&results::Timing::includes_collate)) parts.emplace_back("collate");
  if (any(&results::Timing::includes_transfer)) parts.emplace_back("transfer");
  return join(parts, " and ");
}

std::string ratio_text(double ratio) {
  return ratio < 100 ? fmt::format("{:.2f}", ratio) : significant(ratio, 3);
}

}  // namespace

std::string median_text(const measure::Row& row) {
  return significant(row.summary->median, 4);
}

std::string spread_text(const measure::Row& row) {
  return row.summary->n_runs < 2 ? std::string() : significant(row.summary->sd, 2);
}

std::string lead_text(const Lead& lead) {
  std::string out = ratio_text(lead.ratio) + "×";
  if (lead.low && lead.high)
    out += fmt::format(" ({} to {})", ratio_text(*lead.low), ratio_text(*lead.high));
  return out;
}

std::string copy_text(const MatrixLine& line) {
  if (!line.of_copy) return std::string(kNone);
  const double percent = 100 * *line.of_copy;
  return fmt::format("{} %",
                     percent < 1 ? significant(percent, 1) : fmt::format("{:.0f}", percent));
}

std::string winner_text(const MatrixTable& table, const MatrixLine& line) {
  if (!line.lead) return std::string(kNone);
  const bool close = line.lead->low && *line.lead->low <= 1;
  return (close ? "too close:" : printable(table.columns[line.lead->first].library)) + " " +
         lead_text(*line.lead);
}

std::string superscript(std::size_t number) {
  static constexpr const char* kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out;
  for (const char digit : std::to_string(number))
    out += kDigits[digit - '0'];
  return out;
}

std::string cell_text(const MatrixCell& cell) {
  if (cell.row == nullptr) return kAbsent;
  switch (cell.row->status) {
    case RowStatus::ok:
      break;
    case RowStatus::early_stopped:
      return slow_marker(*cell.file, cell.row->unit);
    case RowStatus::unsupported:
      return kUnsupported;
    default:
      return to_string(cell.row->status);
  }
  if (!has_summary(*cell.row)) return std::string(kNone);
  const std::string spread = spread_text(*cell.row);
  const std::string rate = spread.empty() ? median_text(*cell.row)
                                          : fmt::format("{} ± {}", median_text(*cell.row), spread);
  return cell.note != 0 ? "(" + rate + ")" : rate;
}

std::string cell_marks(const MatrixCell& cell) {
  std::string marks;
  if (has_number(cell) && cell.row->summary->unstable) marks += kUnstable;
  if (cell.note != 0) marks += superscript(cell.note);
  return marks;
}

std::string coverage_text(const MatrixTable& table, const MatrixColumn& column) {
  return fmt::format("{}/{}", column.measured, table.expected);
}

std::string memory_text(const MatrixCell& cell) {
  if (cell.row == nullptr || !cell.row->gpu_memory) return std::string(kNone);
  constexpr double kMebibyte = 1 << 20;
  const auto mebibytes = [](std::int64_t count) {
    return integer(std::llround(std::max(1.0, static_cast<double>(count) / kMebibyte)));
  };
  return fmt::format("{} / {}", mebibytes(cell.row->gpu_memory->peak_allocated_bytes),
                     mebibytes(cell.row->gpu_memory->peak_reserved_bytes));
}

std::string caption(const MatrixTable& table) {
  std::set<std::int64_t> runs;
  std::set<std::int64_t> items;
  for (const auto* file : table.files) {
    if (file->dataset.count > 0) items.insert(file->dataset.count);
  }
  for (const auto& line : table.lines) {
    for (const auto& cell : line.cells) {
      if (has_number(cell)) runs.insert(cell.row->summary->n_runs);
    }
  }
  std::vector<std::string> parts;
  const bool spread = !runs.empty() && *runs.rbegin() > 1;
  parts.push_back(fmt::format("{}, median{}", printable(table.unit), spread ? " ± sd" : ""));
  if (!runs.empty()) {
    parts.back() += fmt::format(" over {} run{}", range_text(runs), *runs.rbegin() == 1 ? "" : "s");
  }
  parts.push_back("thread policy " + printable(table.regime.thread_policy));
  if (!items.empty()) parts.push_back(range_text(items) + " items");
  if (const std::string included = included_text(table); !included.empty())
    parts.push_back("timed with " + included);
  return join(parts, "; ");
}

std::string wins_text(const MatrixTable& table) {
  std::vector<std::size_t> wins(table.columns.size());
  std::size_t compared = 0;
  for (const auto& line : table.lines) {
    if (!line.lead) continue;
    ++compared;
    ++wins[line.lead->first];
  }
  if (compared == 0) return "No row compares two libraries.";
  std::vector<std::size_t> order;
  for (std::size_t c = 0; c < wins.size(); ++c) {
    if (wins[c] > 0) order.push_back(c);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return wins[a] > wins[b]; });
  std::vector<std::string> parts;
  for (const std::size_t c : order)
    parts.push_back(fmt::format("{} in {}", printable(table.columns[c].library), wins[c]));
  return fmt::format("Fastest: {} of {} rows that compare libraries.", join(parts), compared);
}

std::vector<std::string> legend(const MatrixTable& table) {
  std::vector<std::string> out;
  const auto add = [&](bool used, std::string text) {
    if (used) out.push_back(std::move(text));
  };
  const auto with = [&](RowStatus status) {
    return any_cell(
        table, [&](const MatrixCell& c) { return c.row != nullptr && c.row->status == status; });
  };
  add(any_cell(table, [](const MatrixCell& c) { return c.best; }),
      "bold: fastest of the comparable rows, and those its 95 % interval does not separate");
  add(std::any_of(table.columns.begin(), table.columns.end(),
                  [](const MatrixColumn& c) { return c.library == analysis::kYardstick; }),
      "memcpy: a yardstick, copying the bytes alone; it is never the fastest");
  add(with(RowStatus::early_stopped), "≤: stopped early, no faster than this");
  add(with(RowStatus::unsupported), "-: unsupported");
  add(any_cell(table, [](const MatrixCell& c) { return c.row == nullptr; }),
      "·: no row in these files");
  add(any_cell(table,
               [](const MatrixCell& c) { return has_number(c) && c.row->summary->unstable; }),
      "†: unstable, runs differ by more than the limit");
  add(!table.notes.empty(),
      "in brackets with a raised number: does not compute the same and is not ranked, see the "
      "notes");
  add(table.copies, fmt::format("{}: what the fastest comparable row reaches of only copying its "
                                "bytes (memcpy)",
                                kCopyShare));
  add(true, fmt::format("coverage: measured rows of {}; medians are over the rows a column has",
                        table.expected));
  return out;
}

std::string reason_text(const Reason& reason) {
  return fmt::format("{} in {}: {}: {}", to_string(reason.status), reason.library,
                     join(reason.lines), reason.text.empty() ? "no reason given" : reason.text);
}

}  // namespace sluice::report
