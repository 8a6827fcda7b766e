// sluice/report/gate/compare_table.cpp - a comparison as aligned text.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gate/compare_table.h"

#include "sluice/core/text.h"
#include "sluice/report/format.h"
#include "sluice/report/paint.h"
#include "sluice/report/text_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

namespace sluice::report {
namespace {

using gate::GateStatus;
using gate::RowComparison;

constexpr std::size_t kCompareColumns = 8;
constexpr std::size_t kCaseFloor =
    20;  // a line may pass the width rather than clip a case name further
constexpr std::array<bool, kCompareColumns> kCompareRightAligned = {false, false, true, true,
                                                                    true,  true,  true, false};
/// Left out where the terminal is narrow, in this order: p, then the MDE; both are in the JSON.
constexpr std::size_t kDispensable[] = {5, 6};
using CompareCells = std::array<std::string, kCompareColumns>;

/// Compared, not merely listed.
bool is_judged(const RowComparison& row) {
  return row.verdict != GateStatus::skip && row.verdict != GateStatus::invalid && !row.missing;
}

std::string none() {
  return std::string(kNone);
}

std::string side_cell(const std::optional<gate::Side>& side) {
  return side && side->value ? significant(*side->value, 4) : none();
}

std::string ratio_cell(const RowComparison& row) {
  if (!row.ratio_point) return none();
  if (!row.ratio) return fmt::format("{:.3f}", *row.ratio_point);
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", row.ratio->point, row.ratio->low, row.ratio->high);
}

std::string p_cell(const std::optional<double>& p) {
  if (!p) return none();
  return *p < 1e-3 ? "<0.001" : fmt::format("{:.3f}", *p);
}

std::string mde_cell(const RowComparison& row) {
  return row.mde ? fmt::format("{:.1f} %", 100 * *row.mde) : none();
}

CompareCells titles(const gate::Comparison& comparison) {
  return {"case",
          "library",
          "base",
          "candidate",
          fmt::format("ratio [{:g} %]", 100 * comparison.options.confidence),
          "p Holm",
          "MDE",
          "verdict"};
}

CompareCells comparison_cells(const RowComparison& row) {
  return {printable(gate::label(row)),
          printable(row.library),
          side_cell(row.base) + " " + printable(row.unit),
          side_cell(row.candidate),
          ratio_cell(row),
          p_cell(row.p_holm),
          mde_cell(row),
          gate::to_string(row.verdict)};
}

/// What a reader of the table would otherwise ask: why nothing is decided, why a large change
/// passes.
std::string remark(const RowComparison& row, double threshold) {
  if (row.verdict == GateStatus::inconclusive) return row.reason;
  const double ratio = row.ratio_point.value_or(1);
  const bool large = 1 - std::min(ratio, 1 / ratio) > threshold;
  return row.verdict == GateStatus::pass && large ? row.reason : "";
}

std::string judged_table(const gate::Comparison& comparison, const TextOptions& options) {
  const Paint paint(options.colour);
  std::vector<const RowComparison*> rows;
  std::vector<CompareCells> lines{titles(comparison)};
  for (const RowComparison& row : comparison.rows) {
    if (!is_judged(row)) continue;
    rows.push_back(&row);
    lines.push_back(comparison_cells(row));
  }
  if (rows.empty()) return "no row was measured on both sides\n";
  std::array<std::size_t, kCompareColumns> width{};
  std::size_t total = (kCompareColumns - 1) * kColumnGap;
  for (std::size_t c = 0; c < kCompareColumns; ++c) {
    for (const CompareCells& cells : lines)
      width[c] = std::max(width[c], display_width(cells[c]));
    total += width[c];
  }
  if (total > options.width && width[0] > kCaseFloor) {
    const std::size_t clipped = std::min(width[0] - kCaseFloor, total - options.width);
    width[0] -= clipped;
    total -= clipped;
  }
  for (const std::size_t column : kDispensable) {
    if (total <= options.width) break;
    total -= width[column] + kColumnGap;
    width[column] = 0;  // left out
  }

  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string line;
    for (std::size_t c = 0; c + 1 < kCompareColumns; ++c) {
      if (width[c] == 0) continue;
      line += padded(clip(lines[i][c], width[c]), width[c], kCompareRightAligned[c]) +
              std::string(kColumnGap, ' ');
    }
    if (i == 0) {
      out += paint(kDim, line + lines[i].back()) + "\n";
      continue;
    }
    const RowComparison& row = *rows[i - 1];
    out += without_trailing_space(line + paint(colour_of(row.verdict), lines[i].back())) + "\n";
    const std::string why = remark(row, comparison.options.threshold);
    if (!why.empty()) out += paint(kDim, "    " + why) + "\n";
  }
  return out;
}

/// Name and reason, aligned; `ratio` for the canary, whose speed is the point.
std::string listing(const std::vector<const RowComparison*>& rows, bool ratio, const Paint& paint) {
  std::size_t name_width = 0;
  std::size_t ratio_width = 0;
  const auto name = [](const RowComparison& row) {
    return printable(gate::label(row)) + "  " + printable(row.library);
  };
  for (const RowComparison* row : rows) {
    name_width = std::max(name_width, display_width(name(*row)));
    ratio_width = std::max(ratio_width, display_width(ratio_cell(*row)));
  }
  std::string out;
  for (const RowComparison* row : rows) {
    std::string line = "  " + padded(name(*row), name_width, false) + std::string(kColumnGap, ' ');
    if (ratio) line += padded(ratio_cell(*row), ratio_width, false) + std::string(kColumnGap, ' ');
    const bool bad = row->verdict == GateStatus::invalid || row->verdict == GateStatus::fail;
    out += line + (bad ? paint(kRed, row->reason) : row->reason) + "\n";
  }
  return out;
}

/// Unsupported, or stopped early, on both sides: hundreds of lines in a comparison of two matrices.
bool says_nothing(const RowComparison& row) {
  return row.base && row.candidate && row.base->status == row.candidate->status &&
         (row.base->status == measure::RowStatus::unsupported ||
          row.base->status == measure::RowStatus::early_stopped);
}

}  // namespace

std::string compare_table(const gate::Comparison& comparison, const TextOptions& options) {
  const Paint paint(options.colour);
  std::string out = fmt::format("base       {}\ncandidate  {}\n", printable(comparison.base_name),
                                printable(comparison.candidate_name));
  for (const std::string& warning : comparison.warnings) {
    out += paint(kYellow, "warning: " + warning) + "\n";
  }
  out += "\n" + judged_table(comparison, options);
  if (std::any_of(comparison.rows.begin(), comparison.rows.end(), is_judged))
    out += paint(kDim, "base, candidate: geometric mean over runs") + "\n";

  std::vector<const RowComparison*> listed;
  std::map<measure::RowStatus, std::size_t> alike;  // has no number on either side, as expected
  for (const RowComparison& row : comparison.rows) {
    if (is_judged(row)) continue;
    if (says_nothing(row)) {
      ++alike[row.base->status];
    } else {
      listed.push_back(&row);
    }
  }
  if (!listed.empty() || !alike.empty()) out += "\n" + paint(kBold, "not comparable") + "\n";
  out += listing(listed, false, paint);
  for (const auto& [status, n] : alike) {
    out +=
        fmt::format("  {} row{} {} on both sides\n", n, n == 1 ? "" : "s",
                    status == measure::RowStatus::early_stopped ? "stopped early" : "unsupported");
  }

  std::vector<const RowComparison*> machine;
  for (const RowComparison& row : comparison.machine)
    machine.push_back(&row);
  if (!machine.empty()) {
    out += "\n" + paint(kBold, "machine") +
           " (canary: fixed work; if it moved, the machine did)\n" + listing(machine, true, paint);
  }
  out += "\n" + paint(colour_of(comparison.outcome), comparison.summary) + "\n";
  return out;
}

}  // namespace sluice::report
