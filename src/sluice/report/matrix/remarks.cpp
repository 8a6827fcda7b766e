// sluice/report/matrix/remarks.cpp - reasons and remarks below a matrix table.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/matrix/remarks.h"

#include "sluice/analysis/config_value.h"
#include "sluice/core/text.h"
#include "sluice/measure/media_policy.h"
#include "sluice/report/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace sluice::report {
namespace {

using measure::RowStatus;

/// Two builds of one library share a column: the faster counts.
struct Shared {
  const char* library;
  const char* column;
};
constexpr Shared kShared[] = {{"opencv-wheel", "opencv"}};
/// `text` with the name of its transform replaced, so that "Rain is not available in pillow" and
/// "Elastic is not available in pillow" are one reason.
std::string generalised(const std::string& text, const std::string& name) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = at + name.size();
    const bool whole = !name.empty() && text.compare(at, name.size(), name) == 0 &&
                       (at == 0 || !is_word(text[at - 1])) &&
                       (end >= text.size() || !is_word(text[end]));
    out += whole ? std::string("(transform)") : std::string(1, text[at]);
    at = whole ? end : at + 1;
  }
  return out;
}

/// A column in which rows of another library count: which, and for which lines.
void add_shared(std::vector<std::string>& remarks, const MatrixTable& table) {
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const std::string& column = table.columns[c].library;
    std::map<std::string, std::vector<std::string>> lines;  // by the library that counts
    std::set<std::string> builds;
    for (const auto* file : table.files) {
      for (const auto& row : file->rows) {
        if (column_of(row) == column) builds.insert(printable(row.library));
      }
    }
    if (builds.size() < 2) continue;
    for (const auto& line : table.lines) {
      if (has_number(line.cells[c]))
        lines[line.cells[c].row->library].push_back(printable(line.name));
    }
    std::vector<std::string> parts;
    for (const auto& [library, which] : lines) {
      if (library != column) parts.push_back(printable(library) + " for " + join(which));
    }
    remarks.push_back(fmt::format(
        "Column {}: the faster of {} counts: {}.", printable(column),
        join(std::vector<std::string>(builds.begin(), builds.end()), " and "),
        parts.empty() ? printable(column) + " everywhere"
                      : join(parts, "; ") + "; " + printable(column) + " for the rest"));
  }
}

void add_sources(std::vector<std::string>& remarks, const MatrixTable& table) {
  std::set<std::string> sessions;
  std::set<std::string> datasets;
  std::size_t hollow = 0;
  for (const auto* file : table.files) {
    sessions.insert(file->session_id);
    datasets.insert(file->dataset.hash);
    hollow += file->rows.empty() ? 1U : 0U;
  }
  if (sessions.size() > 1) {
    remarks.push_back(
        fmt::format("The columns come from {} sessions: their rows were not measured in turns.",
                    sessions.size()));
  }
  if (std::ranges::any_of(table.files, [](const auto* file) {
        const Json* generated = analysis::config_value(*file, "data", "generated");
        return generated != nullptr && generated->is_boolean() && generated->get<bool>();
      }))
    remarks.push_back("The items are generated here, no photographs or videos of a data set.");
  if (datasets.size() > 1)
    remarks.push_back("The columns do not all read the same data: their datasets differ.");
  if (hollow > 0) {
    remarks.push_back(fmt::format("{} result file{} of this table hold{} no row.", hollow,
                                  hollow == 1 ? "" : "s", hollow == 1 ? "s" : ""));
  }
  if (table.expected > table.lines.size()) {
    const std::size_t missing = table.expected - table.lines.size();
    remarks.push_back(fmt::format("{} of the {} transforms of the configuration {} no row here.",
                                  missing, table.expected, missing == 1 ? "has" : "have"));
  }
}

/// Lines whose fastest rows lie within each other's interval, or cannot be told apart.
void add_close_calls(std::vector<std::string>& remarks, const MatrixTable& table) {
  std::vector<std::string> close;
  bool few = false;  // more runs would narrow the intervals
  for (const auto& line : table.lines) {
    if (!is_close_call(line)) continue;
    close.push_back(printable(line.name));
    for (const std::size_t c : {line.lead->first, line.lead->second})
      few = few || line.cells[c].row->summary->n_runs < measure::kCloseCallRuns;
  }
  if (close.empty()) return;
  remarks.push_back(
      fmt::format("Close call{} ({} of {} rows), the fastest two lie within each "
                  "other's interval: {}.{}",
                  close.size() == 1 ? "" : "s", close.size(), table.lines.size(), join(close),
                  few ? fmt::format(" Advice: {0} runs (sluice run --resume "
                                    "--num-runs {0}).",
                                    measure::kCloseCallRuns)
                      : ""));
}

/// What the plan wants said about the rows of a library, and which inputs it could not read.
void add_labels(std::vector<std::string>& remarks, const MatrixTable& table) {
  for (const auto* file : table.files) {
    if (!file->matrix || file->rows.empty()) continue;
    for (const std::string& label : file->matrix->labels)
      remarks.push_back(
          fmt::format("{}: {}.", printable(column_of(file->rows.front())), printable(label)));
  }
}

/// `published` of the summary of a file: img/s by transform; nothing that is not a positive number.
std::map<std::string, double> published_rates(const results::ResultFile& file) {
  std::map<std::string, double> rates;
  if (file.matrix)
    for (const auto& [name, rate] : file.matrix->published)
      if (rate > 0) rates[name] = rate;
  return rates;
}

/// Compares winners among the libraries that have published figures.
void add_published(std::vector<std::string>& remarks, const MatrixTable& table) {
  std::size_t compared = 0;
  std::vector<std::string> different;
  std::map<const results::ResultFile*, std::map<std::string, double>> rates;
  for (const auto* file : table.files)
    rates[file] = published_rates(*file);
  for (const auto& line : table.lines) {
    std::size_t theirs = table.columns.size();
    std::size_t ours = table.columns.size();
    double their_rate = 0;
    double our_rate = 0;
    std::size_t candidates = 0;
    for (std::size_t c = 0; c < line.cells.size(); ++c) {
      const MatrixCell& cell = line.cells[c];
      if (!has_number(cell)) continue;
      const auto& known = rates[cell.file];
      const auto found = known.find(line.name);
      if (found == known.end()) continue;
      ++candidates;
      if (found->second > their_rate) {
        their_rate = found->second;
        theirs = c;
      }
      if (cell.row->summary->median > our_rate) {
        our_rate = cell.row->summary->median;
        ours = c;
      }
    }
    if (candidates < 2) continue;
    ++compared;
    if (ours == theirs) continue;
    different.push_back(fmt::format("{} (published {}, here {})", printable(line.name),
                                    printable(table.columns[theirs].library),
                                    printable(table.columns[ours].library)));
  }
  if (compared == 0) return;
  remarks.push_back(
      different.empty()
          ? fmt::format("Published figures: the same library wins in all {} rows that have them.",
                        compared)
          : fmt::format("Published figures: of {} rows that have them, another library wins in {}: "
                        "{}.",
                        compared, different.size(), join(different)));
}

}  // namespace

std::string column_of(const measure::Row& row) {
  for (const Shared& shared : kShared) {
    if (row.library == shared.library) return shared.column;
  }
  return row.library;
}

std::vector<Reason> reasons_of(const MatrixTable& table) {
  std::vector<Reason> all;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    for (const RowStatus status : {RowStatus::failed, RowStatus::skipped, RowStatus::unsupported}) {
      const std::size_t first = all.size();
      for (const auto& line : table.lines) {
        const MatrixCell& cell = line.cells[c];
        if (cell.row == nullptr || cell.row->status != status) continue;
        const std::string text = printable(cell.row->reason);
        const std::string general = generalised(text, printable(line.name));
        auto found = std::find_if(
            all.begin() + static_cast<std::ptrdiff_t>(first), all.end(), [&](const Reason& reason) {
              return reason.text == text || reason.text == general ||
                     generalised(reason.text, reason.lines.front()) == general;
            });
        if (found == all.end()) {
          Reason reason;
          reason.library = printable(table.columns[c].library);
          reason.status = status;
          reason.text = text;
          found = all.insert(all.end(), std::move(reason));
        }
        if (found->text != text) found->text = general;
        found->lines.push_back(printable(line.name));
      }
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Reason& a, const Reason& b) {
    return (a.status == RowStatus::failed) > (b.status == RowStatus::failed);
  });
  return all;
}

std::vector<std::string> remarks_on(const MatrixTable& table) {
  std::vector<std::string> remarks;
  add_sources(remarks, table);
  add_close_calls(remarks, table);
  add_shared(remarks, table);
  add_labels(remarks, table);
  if (table.regime.mode == "micro") add_published(remarks, table);
  return remarks;
}

}  // namespace sluice::report
