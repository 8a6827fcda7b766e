// sluice/report/csv.cpp - one line per row, for spreadsheets and scripts.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/matrix/remarks.h"
#include "sluice/report/report.h"
#include "sluice/report/sections.h"

#include <fmt/format.h>

#include <cmath>

namespace sluice::report {
namespace {

/// Quoted where RFC 4180 asks for it. Text that a spreadsheet would run as a formula gets an
/// apostrophe in front; the unchanged string is in the result file.
std::string text_cell(const std::string& text) {
  std::string shown = printable(text);
  if (!shown.empty() && std::string_view("=+-@").find(shown.front()) != std::string_view::npos) {
    shown.insert(0, "'");
  }
  if (shown.find_first_of(",\"") == std::string::npos) return shown;
  std::string quoted = "\"";
  for (const char c : shown)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string number_cell(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : std::string();
}

class CsvCells {
 public:
  void text(const std::string& value) { add(text_cell(value)); }
  void number(double value, bool known = true) { add(known ? number_cell(value) : ""); }
  /// Computed here, not read from the file: the last digits depend on the machine.
  void rounded(double value, bool known) { add(known ? fmt::format("{:.6g}", value) : ""); }
  void integer(std::int64_t value, bool known = true) { add(known ? std::to_string(value) : ""); }
  std::string line() { return line_ + "\n"; }

 private:
  void add(const std::string& cell) {
    if (!first_) line_ += ',';
    first_ = false;
    line_ += cell;
  }
  std::string line_;
  bool first_ = true;
};

constexpr const char* kHeader =
    "session,machine_profile,kind,case,library,library_version,status,reason,unit,better,best,"
    "median,mean,sd,cv,p10,p50,p90,p99,ci95_low,ci95_high,ci95_method,ci95_over,n_runs,n_samples,"
    "unstable,threads_asked,threads_in_force,cpu_per_wall,items_per_sample,bytes_per_item,"
    "peak_rss_bytes,output_digest,command";
/// Only where a file of the matrix is among the files: others keep their columns.
constexpr const char* kMatrixHeader =
    ",table,scenario,mode,transform,device,pipeline_scope,batch_size,workers,thread_policy,counts,"
    "not_comparable,slow_marker,gpu_peak_allocated_bytes,gpu_peak_reserved_bytes,lead,lead_low,"
    "lead_high";
constexpr int kMatrixColumns = 17;

CsvCells row_cells(const results::ResultFile& file, const measure::Row& row, bool best,
                   const char* kind, const std::string& command) {
  const measure::Summary s = row.summary.value_or(measure::Summary{});
  const bool known = has_summary(row);
  const bool interval = known && s.ci95.has_value();
  const measure::Interval ci = interval ? *s.ci95 : measure::Interval{};
  CsvCells cells;
  cells.text(file.session_id);
  cells.text(file.machine_profile);
  cells.text(kind);
  cells.text(row.case_name);
  cells.text(row.library);
  cells.text(row.library_version);
  cells.text(to_string(row.status));
  cells.text(row.reason);
  cells.text(row.unit);
  cells.text(to_string(row.better));
  cells.integer(best ? 1 : 0);
  for (const double value : {s.median, s.mean, s.sd, s.cv, s.p10, s.p50, s.p90, s.p99}) {
    cells.number(value, known);
  }
  cells.number(ci.low, interval);
  cells.number(ci.high, interval);
  cells.text(ci.method);
  cells.text(ci.over);
  cells.integer(s.n_runs, known);
  cells.integer(s.n_samples, known);
  cells.integer(s.unstable ? 1 : 0, known);
  cells.integer(row.thread_policy.asked);
  cells.integer(row.thread_policy.in_force);
  cells.number(row.thread_policy.cpu_per_wall, row.thread_policy.cpu_per_wall > 0);
  cells.integer(row.items_per_sample, row.items_per_sample > 0);
  cells.number(row.bytes_per_item, row.bytes_per_item > 0);
  cells.integer(row.peak_rss_bytes.value_or(0), row.peak_rss_bytes.has_value());
  cells.text(row.output_digest);
  cells.text(command);
  return cells;
}

/// Where the row stands in `table`, and what it does there.
void add_matrix_cells(CsvCells& cells, const MatrixTable& table, const results::ResultFile& file,
                      const measure::Row& row, const MatrixLine& line, std::size_t column) {
  const Regime& regime = table.regime;
  const bool loader = regime.mode == "pipeline";
  cells.text(table.title());
  cells.text(regime.scenario);
  cells.text(regime.mode);
  cells.text(line.name);
  cells.text(regime.device);
  cells.text(regime.scope);
  cells.integer(regime.batch_size, loader);
  cells.integer(regime.workers, loader);
  cells.text(regime.thread_policy);
  cells.integer(line.cells[column].row == &row ? 1 : 0);
  cells.text(row.not_comparable);
  const bool stopped = row.status == measure::RowStatus::early_stopped;
  cells.text(stopped ? slow_marker(file, row.unit) : "");
  const measure::GpuMemory memory = row.gpu_memory.value_or(measure::GpuMemory{});
  cells.integer(memory.peak_allocated_bytes, row.gpu_memory.has_value());
  cells.integer(memory.peak_reserved_bytes, row.gpu_memory.has_value());
  const bool leads = line.lead && line.lead->first == column && line.cells[column].row == &row;
  const Lead lead = leads ? *line.lead : Lead{};
  cells.rounded(lead.ratio, leads);
  cells.rounded(lead.low.value_or(0), lead.low.has_value());
  cells.rounded(lead.high.value_or(0), lead.high.has_value());
}

/// Line by line; rows that lost their column to a faster build of the library are there, too.
std::string matrix_lines(const MatrixTable& table) {
  std::string out;
  for (const auto& line : table.lines) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      for (const auto* file : table.files) {
        const std::string command = shell_command(file->argv);
        for (const auto& row : file->rows) {
          if (row.case_name != line.case_name || column_of(row) != table.columns[c].library)
            continue;
          const bool best = line.cells[c].row == &row && line.cells[c].best;
          CsvCells cells = row_cells(*file, row, best, "row", command);
          add_matrix_cells(cells, table, *file, row, line, c);
          out += cells.line();
        }
      }
    }
  }
  return out;
}

/// Rows outside the matrix, padded to the width of the header.
std::string plain_line(const Section& section, const Line& line, const char* kind,
                       const std::string& command, bool wide) {
  CsvCells cells = row_cells(section.head(), *line.row, line.best, kind, command);
  for (int i = 0; wide && i < kMatrixColumns; ++i)
    cells.text("");
  return cells.line();
}

}  // namespace

std::string csv(const std::vector<results::ResultFile>& files) {
  const Split split = split_files(files);
  const bool wide = !split.matrix.empty();
  std::string out = kHeader;
  if (wide) out += kMatrixHeader;
  out += "\n";
  for (const auto& table : matrix_tables(split.matrix))
    out += matrix_lines(table);
  const auto add = [&](const Section& section, const std::vector<Line>& lines, const char* kind) {
    const std::string command = shell_command(section.head().argv);
    for (const auto& line : lines)
      out += plain_line(section, line, kind, command, wide);
  };
  for (const auto& section : sections(split.matrix))
    add(section, section.canary, "canary");
  for (const auto& section : sections(split.plain)) {
    add(section, section.rows, "row");
    add(section, section.canary, "canary");
  }
  return out;
}

}  // namespace sluice::report
