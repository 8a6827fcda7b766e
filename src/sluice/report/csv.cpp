// sluice/report/csv.cpp - one line per row, for spreadsheets and scripts.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
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

class Cells {
 public:
  void text(const std::string& value) { add(text_cell(value)); }
  void number(double value, bool known = true) { add(known ? number_cell(value) : ""); }
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
    "peak_rss_bytes,output_digest,command\n";

std::string row_line(const Section& section, const Line& line, const char* kind,
                     const std::string& command) {
  const measure::Row& row = *line.row;
  const measure::Summary s = row.summary.value_or(measure::Summary{});
  const bool known = has_summary(row);
  const bool interval = known && s.ci95.has_value();
  const measure::Interval ci = interval ? *s.ci95 : measure::Interval{};
  Cells cells;
  cells.text(section.head().session_id);
  cells.text(section.head().machine_profile);
  cells.text(kind);
  cells.text(row.case_name);
  cells.text(row.library);
  cells.text(row.library_version);
  cells.text(to_string(row.status));
  cells.text(row.reason);
  cells.text(row.unit);
  cells.text(to_string(row.better));
  cells.integer(line.best ? 1 : 0);
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
  return cells.line();
}

}  // namespace

std::string csv(const std::vector<results::ResultFile>& files) {
  std::string out = kHeader;
  for (const auto& section : sections(files)) {
    const std::string command = shell_command(section.head().argv);
    for (const auto& line : section.rows)
      out += row_line(section, line, "row", command);
    for (const auto& line : section.canary)
      out += row_line(section, line, "canary", command);
  }
  return out;
}

}  // namespace sluice::report
