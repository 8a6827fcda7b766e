// sluice/report/html/answer_matrix.cpp - the answer of matrix tables: which library leads, and by
// how much.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/versus.h"
#include "sluice/core/text.h"
#include "sluice/report/format.h"
#include "sluice/report/html/answer.h"
#include "sluice/report/matrix/answer.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::report {
namespace {

/// The comparable rows that stand in a table, each under the name of its column.
std::vector<measure::Row> rows_of(const MatrixTable& table) {
  std::vector<measure::Row> rows;
  for (const MatrixLine& line : table.lines)
    for (std::size_t c = 0; c < line.cells.size(); ++c) {
      const MatrixCell& cell = line.cells[c];
      if (!has_number(cell) || cell.note != 0 || cell.row->unit != table.unit) continue;
      rows.push_back(*cell.row);
      rows.back().library = table.columns[c].library;
    }
  return rows;
}

std::string slowest_words(const results::VersusSummary& sum) {
  const std::size_t slash = sum.slowest_case.rfind('/');
  return fmt::format(
      "closest in {}: {}×",
      printable(slash == std::string::npos ? sum.slowest_case : sum.slowest_case.substr(slash + 1)),
      significant(sum.slowest_ratio, 3));
}

/// Which library to take; where the file holds our rows alone, what it says of the others. Empty:
/// nothing is compared.
std::string headline_of(const MatrixTable& table, const std::optional<Leader>& leader) {
  if (answer_of(table).rows > 0) return answer_text(table);
  if (!leader) return "";
  std::string out = clip(printable(leader->library), kLongestName) +
                    " leads: " + standings_words(leader->sum, "transforms");
  if (leader->sum.geomean)
    out += fmt::format(", {}× in the geometric mean", significant(leader->sum.geomean->point, 3));
  return out;
}

/// What the ratios of the leading library come to.
void add_reasons(std::vector<std::string>& reasons, const Leader& leader) {
  const auto compared = leader.sum.rows - leader.sum.alone - leader.sum.different;
  if (leader.sum.geomean)
    reasons.push_back(fmt::format("geometric mean of {} ratios of {}: {} between rows", compared,
                                  clip(printable(leader.library), kLongestName),
                                  ratio_text(*leader.sum.geomean)));
  if (leader.sum.different > 0)
    reasons.push_back(fmt::format(
        "not counted: {} rows whose other libraries compute something else (see the notes)",
        leader.sum.different));
  if (compared > 1) reasons.push_back(slowest_words(leader.sum));
}

std::string coverage_words(const MatrixTable& table) {
  std::vector<std::string> parts;
  for (const MatrixColumn& column : table.columns)
    if (column.library != analysis::kYardstick)
      parts.push_back(fmt::format("{} in {}", coverage_text(table, column),
                                  clip(printable(column.library), kLongestName)));
  return "measured rows: " + join(parts);
}

std::vector<std::string> matrix_next(const MatrixTable& table, bool compared) {
  const bool failed = std::any_of(table.reasons.begin(), table.reasons.end(), [](const Reason& r) {
    return r.status == measure::RowStatus::failed;
  });
  std::vector<std::string> next;
  if (failed) next.emplace_back("Rows failed: the notes below the tables and the logs say why.");
  if (!compared)
    next.emplace_back("No row has a second library: `sluice peers` says which are installed.");
  if (next.empty())
    next.emplace_back("After a change, measure again: `sluice compare` tells which rows moved.");
  return next;
}

}  // namespace

std::optional<Leader> leader_of(const MatrixTable& table) {
  std::vector<std::size_t> wins(table.columns.size());
  for (const MatrixLine& line : table.lines)
    if (line.lead) ++wins[line.lead->first];
  const auto most = std::max_element(wins.begin(), wins.end());
  const bool compared = most != wins.end() && *most > 0;
  Leader leader;
  leader.library =
      compared ? table.columns[static_cast<std::size_t>(most - wins.begin())].library : kOurs;
  for (const results::ResultFile* file : table.files)
    if (leader.library == kOurs && file->versus && file->versus->rows > file->versus->alone) {
      leader.sum = *file->versus;
      return leader;
    }
  if (!compared) return std::nullopt;
  const std::vector<measure::Row> rows = rows_of(table);
  std::vector<results::Versus> list = analysis::versus_fastest(rows, leader.library);
  std::erase_if(list, [](const results::Versus& one) { return !one.ratio; });
  if (list.empty()) return std::nullopt;
  leader.sum = analysis::summarise(list, rows, leader.library);
  return leader;
}

Answer matrix_answer(const std::vector<MatrixTable>& tables) {
  Answer answer;
  constexpr std::size_t kMost = 4;
  const MatrixTable* first = nullptr;
  for (const MatrixTable& table : tables) {
    const auto leader = leader_of(table);
    const std::string headline = headline_of(table, leader);
    if (headline.empty()) continue;
    if (first != nullptr) {
      if (answer.reasons.size() < kMost)
        answer.reasons.push_back(printable(table.title()) + ": " + headline);
      continue;
    }
    first = &table;
    answer.headline = headline;
    answer.reasons.push_back(printable(table.title()));
    if (leader) add_reasons(answer.reasons, *leader);
    answer.reasons.push_back(coverage_words(table));
  }
  if (first == nullptr && !tables.empty()) {
    answer.headline = "Nothing is compared: no row was measured in two libraries";
    answer.reasons.push_back(printable(tables.front().title()));
    answer.reasons.push_back(coverage_words(tables.front()));
  }
  if (!tables.empty())
    answer.next = matrix_next(first != nullptr ? *first : tables.front(), first != nullptr);
  return answer;
}

}  // namespace sluice::report
