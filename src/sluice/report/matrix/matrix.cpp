// sluice/report/matrix/matrix.cpp - arranges result files of the matrix as tables.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/matrix/matrix.h"

#include "sluice/analysis/peer_ratio.h"
#include "sluice/analysis/versus.h"
#include "sluice/core/text.h"
#include "sluice/report/matrix/remarks.h"
#include "sluice/report/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace sluice::report {
namespace {

using measure::Row;
using measure::RowStatus;

/// Libraries that are not named here follow in the order of the files.
constexpr const char* kColumnOrder[] = {"sluice",
                                        "albumentationsx",
                                        "albumentationsx-latest",
                                        "torchvision",
                                        "kornia",
                                        "pillow",
                                        "opencv",
                                        "dali"};

std::string line_name(const Row& row) {
  const auto named = row.params.find("transform");
  if (named != row.params.end() && !named->second.empty()) return named->second;
  const auto slash = row.case_name.rfind('/');
  return slash == std::string::npos ? row.case_name : row.case_name.substr(slash + 1);
}

/// A row and the file it stands in.
struct Source {
  const Row* row;
  const results::ResultFile* file;
};

/// The files of one table before it is laid out.
struct Draft {
  Regime regime;
  std::vector<const results::ResultFile*> files;
  std::set<std::pair<std::string, std::string>> rows;  // case, library

  [[nodiscard]] bool takes(const results::ResultFile& file, const Regime& its) const {
    return regime == its && std::none_of(file.rows.begin(), file.rows.end(), [&](const Row& row) {
             return rows.count({row.case_name, row.library}) > 0;
           });
  }
  [[nodiscard]] bool has_session(const std::string& id) const {
    return std::any_of(files.begin(), files.end(),
                       [&](const auto* file) { return file->session_id == id; });
  }
  void add(const results::ResultFile& file) {
    files.push_back(&file);
    for (const auto& row : file.rows)
      rows.emplace(row.case_name, row.library);
  }
};

std::vector<Draft> drafts(const std::vector<const results::ResultFile*>& files) {
  std::vector<Draft> all;
  for (const auto* file : files) {
    const Regime regime = regime_of(*file);
    Draft* place = nullptr;
    for (const bool own_session : {true, false}) {
      for (auto& draft : all) {
        if (place != nullptr || !draft.takes(*file, regime)) continue;
        if (draft.has_session(file->session_id) == own_session) place = &draft;
      }
    }
    if (place == nullptr) {
      place = &all.emplace_back();
      place->regime = regime;
    }
    place->add(*file);
  }
  std::stable_sort(all.begin(), all.end(), [](const Draft& a, const Draft& b) {
    return reading_order(a.regime) < reading_order(b.regime);
  });
  return all;
}

std::vector<std::string> column_names(const std::vector<const results::ResultFile*>& files) {
  std::vector<std::string> found;
  for (const auto* file : files) {
    for (const auto& row : file->rows) {
      const std::string name = column_of(row);
      if (name == analysis::kYardstick) continue;
      if (std::find(found.begin(), found.end(), name) == found.end()) found.push_back(name);
    }
  }
  const auto rank = [](const std::string& name) {
    return std::find(std::begin(kColumnOrder), std::end(kColumnOrder), name) -
           std::begin(kColumnOrder);
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
  return found;
}

int preference(RowStatus status) {
  switch (status) {
    case RowStatus::ok:
      return 4;
    case RowStatus::early_stopped:
      return 3;
    case RowStatus::failed:
      return 2;
    case RowStatus::skipped:
      return 1;
    case RowStatus::unsupported:
      break;
  }
  return 0;
}

bool faster(const Row& a, const Row& b) {
  return a.better == measure::Better::higher ? a.summary->median > b.summary->median
                                             : a.summary->median < b.summary->median;
}

/// Whether `row` speaks for the column rather than `other`. A comparable row goes before one that
/// is not: the reader came to compare.
bool speaks_before(const Row& row, const Row& other) {
  if (preference(row.status) != preference(other.status))
    return preference(row.status) > preference(other.status);
  if (row.not_comparable.empty() != other.not_comparable.empty()) return row.not_comparable.empty();
  return has_summary(row) && (!has_summary(other) || faster(row, other));
}

/// Lines in the order of the configuration, then of the files.
void place_rows(MatrixTable& table, const std::vector<const results::ResultFile*>& files) {
  std::map<std::string, std::size_t> line_of;  // by case
  std::map<std::string, std::size_t> rank;     // by transform or recipe, in the configuration
  for (const auto* file : files) {
    for (const auto& name : configured_transforms(*file))
      rank.try_emplace(name, rank.size());
  }
  const auto column = [&](const std::string& name) {
    const auto found = std::find_if(table.columns.begin(), table.columns.end(),
                                    [&](const MatrixColumn& c) { return c.library == name; });
    return static_cast<std::size_t>(found - table.columns.begin());
  };
  for (const auto* file : files) {
    for (const auto& row : file->rows) {
      const auto [place, is_new] = line_of.try_emplace(row.case_name, table.lines.size());
      if (is_new) {
        MatrixLine& line = table.lines.emplace_back();
        line.name = line_name(row);
        line.case_name = row.case_name;
        line.cells.resize(table.columns.size());
      }
      MatrixLine& line = table.lines[place->second];
      MatrixCell& cell =
          row.library == analysis::kYardstick ? line.copy : line.cells[column(column_of(row))];
      if (cell.row == nullptr || speaks_before(row, *cell.row)) {
        cell.row = &row;
        cell.file = file;
      }
    }
  }
  const auto rank_of = [&](const MatrixLine& line) {
    const auto slash = line.case_name.rfind('/');
    for (const std::string& name : {line.name, line.case_name.substr(slash + 1)}) {
      if (const auto found = rank.find(name); found != rank.end()) return found->second;
    }
    return rank.size();
  };
  std::set<std::size_t> met;
  for (const auto& line : table.lines)
    met.insert(rank_of(line));
  met.erase(rank.size());
  table.expected = table.lines.size() + rank.size() - met.size();
  std::stable_sort(
      table.lines.begin(), table.lines.end(),
      [&](const MatrixLine& a, const MatrixLine& b) { return rank_of(a) < rank_of(b); });
}

void number_notes(MatrixTable& table) {
  for (auto& line : table.lines) {
    for (auto& cell : line.cells) {
      if (cell.row == nullptr || cell.row->not_comparable.empty()) continue;
      const std::string text = printable(cell.row->not_comparable);
      auto found = std::find(table.notes.begin(), table.notes.end(), text);
      if (found == table.notes.end()) found = table.notes.insert(table.notes.end(), text);
      cell.note = static_cast<std::size_t>(found - table.notes.begin()) + 1;
    }
  }
}

void set_lead(MatrixLine& line, std::size_t first, std::size_t second) {
  const MatrixCell& a = line.cells[first];
  const MatrixCell& b = line.cells[second];
  Lead lead{first, second, 1, {}, {}};
  const double ratio = a.row->summary->median / b.row->summary->median;
  lead.ratio = a.row->better == measure::Better::higher ? ratio : 1 / ratio;
  const bool same_session = a.file->session_id == b.file->session_id;
  if (const auto estimate = analysis::row_ratio(*a.row, *b.row, same_session)) {
    lead.ratio = estimate->point;
    lead.low = estimate->low;
    lead.high = estimate->high;
  }
  line.lead = lead;
}

void set_copy(MatrixLine& line, const MatrixCell& fastest) {
  const bool same_session = fastest.file->session_id == line.copy.file->session_id;
  const auto share = analysis::row_ratio(*fastest.row, *line.copy.row, same_session);
  line.of_copy =
      share ? share->point : fastest.row->summary->median / line.copy.row->summary->median;
}

void compare_cells(MatrixTable& table, MatrixLine& line) {
  std::vector<std::size_t> ranked;  // comparable columns with a number, fastest first
  bool contest = false;             // somebody else tried, and was slower or stopped
  for (std::size_t c = 0; c < line.cells.size(); ++c) {
    const MatrixCell& cell = line.cells[c];
    if (cell.row == nullptr || cell.row->unit != table.unit || cell.note != 0) continue;
    if (table.columns[c].library == analysis::kYardstick) continue;  // what it does is no transform
    contest = contest || cell.row->status == RowStatus::early_stopped;
    if (has_number(cell)) ranked.push_back(c);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [&](std::size_t a, std::size_t b) {
    return faster(*line.cells[a].row, *line.cells[b].row);
  });
  contest = contest || ranked.size() > 1;
  if (!ranked.empty() && contest) {
    const Row& first = *line.cells[ranked.front()].row;
    for (const std::size_t c : ranked)
      line.cells[c].best = c == ranked.front() || intervals_overlap(*line.cells[c].row, first);
  }
  if (ranked.size() > 1) set_lead(line, ranked[0], ranked[1]);
  if (!ranked.empty() && has_number(line.copy)) set_copy(line, line.cells[ranked.front()]);
  double top = 0;
  for (std::size_t c = 0; c < line.cells.size(); ++c) {
    if (has_number(line.cells[c]) && table.columns[c].library != analysis::kYardstick)
      top = std::max(top, line.cells[c].row->summary->median);
  }
  for (auto& cell : line.cells) {
    if (has_number(cell) && top > 0)
      cell.share = std::clamp(cell.row->summary->median / top, 0., 1.);
  }
}

void sum_up(MatrixTable& table) {
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    MatrixColumn& column = table.columns[c];
    std::vector<double> medians;
    std::set<std::string> versions;
    for (const auto& line : table.lines) {
      const MatrixCell& cell = line.cells[c];
      if (cell.row == nullptr) continue;
      if (!cell.row->library_version.empty()) versions.insert(cell.row->library_version);
      if (has_number(cell) && cell.row->unit == table.unit)
        medians.push_back(cell.row->summary->median);
      table.gpu_memory = table.gpu_memory || cell.row->gpu_memory.has_value();
    }
    std::sort(medians.begin(), medians.end());
    column.measured = medians.size();
    if (!medians.empty()) column.median = quantile(medians, 0.5);
    constexpr std::size_t kMostVersions = 2;  // the builds of a shared column
    if (versions.size() <= kMostVersions)
      column.version = printable(join({versions.begin(), versions.end()}, " / "));
  }
  table.gpu_memory = table.gpu_memory || table.regime.device != "none";
}

MatrixTable lay_out(const Draft& draft) {
  MatrixTable table;
  table.regime = draft.regime;
  table.main = is_main(draft.regime);
  table.files = draft.files;
  for (const auto& name : column_names(draft.files)) {
    MatrixColumn& column = table.columns.emplace_back();
    column.library = name;
  }
  place_rows(table, draft.files);
  for (const auto& line : table.lines) {
    for (const auto& cell : line.cells) {
      if (table.unit.empty() && cell.row != nullptr) table.unit = cell.row->unit;
    }
  }
  table.copies = std::any_of(table.lines.begin(), table.lines.end(),
                             [](const MatrixLine& line) { return line.copy.row != nullptr; });
  number_notes(table);
  for (auto& line : table.lines)
    compare_cells(table, line);
  sum_up(table);
  table.reasons = reasons_of(table);
  table.remarks = remarks_on(table);
  return table;
}

}  // namespace

std::vector<MatrixTable> matrix_tables(const std::vector<const results::ResultFile*>& files) {
  std::vector<MatrixTable> tables;
  for (const auto& draft : drafts(files))
    tables.push_back(lay_out(draft));
  return tables;
}

bool is_close_call(const MatrixLine& line) {
  if (!line.lead) return false;
  const Row& first = *line.cells[line.lead->first].row;
  const Row& second = *line.cells[line.lead->second].row;
  return (line.lead->low && *line.lead->low <= 1) || intervals_overlap(first, second);
}

bool has_number(const MatrixCell& cell) {
  return cell.row != nullptr && cell.row->status == RowStatus::ok && has_summary(*cell.row);
}

}  // namespace sluice::report
