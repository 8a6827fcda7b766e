// sluice/report/gate/openmetrics.cpp - families of gauges, each with its help, type and unit.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gate/openmetrics.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <utility>

namespace sluice::report {
namespace {

using Labels = std::vector<std::pair<const char*, std::string>>;

std::string sample_value(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);  // shortest that reads back the same
}

std::string label_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

/// One name, its samples together, as the format asks; a sample whose labels were seen is dropped.
class Family {
 public:
  Family(std::string name, std::string unit, std::string help)
      : name_(std::move(name)), unit_(std::move(unit)), help_(std::move(help)) {}

  void add(const Labels& labels, double value) {
    std::string text;
    for (const auto& [key, label] : labels)
      text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", key, label_text(label));
    if (!seen_.insert(text).second) return;
    samples_ += fmt::format("{}{{{}}} {}\n", name_, text, sample_value(value));
  }
  [[nodiscard]] std::string text() const {
    if (samples_.empty()) return {};
    std::string head = fmt::format("# TYPE {} gauge\n", name_);
    if (!unit_.empty()) head += fmt::format("# UNIT {} {}\n", name_, unit_);
    return head + fmt::format("# HELP {} {}\n", name_, help_) + samples_;
  }

 private:
  std::string name_, unit_, help_, samples_;
  std::set<std::string> seen_;
};

constexpr gate::GateStatus kStatuses[] = {gate::GateStatus::pass,   gate::GateStatus::improved,
                                          gate::GateStatus::warn,   gate::GateStatus::inconclusive,
                                          gate::GateStatus::skip,   gate::GateStatus::fail,
                                          gate::GateStatus::invalid};

std::string gate_families(const std::vector<gate::GateReport>& reports) {
  Family verdict("sluice_gate_verdict", "", "1 for the verdict of the gate, 0 for the others.");
  Family status("sluice_gate_line_status", "", "1 with the status of each line.");
  Family baseline("sluice_gate_baseline", "", "Value of the baseline, in the unit of its label.");
  Family current("sluice_gate_current", "", "Value that is judged, in the unit of its label.");
  Family delta("sluice_gate_delta", "", "Current against baseline, in the unit of its label.");
  for (const gate::GateReport& report : reports) {
    for (const gate::GateStatus one : kStatuses) {
      verdict.add({{"rule", report.rule},
                   {"machine", report.machine_profile},
                   {"verdict", gate::to_string(one)}},
                  one == report.status ? 1 : 0);
    }
    for (const gate::GateLine& line : report.lines) {
      const Labels base{
          {"rule", report.rule}, {"machine", report.machine_profile}, {"metric", line.metric}};
      const auto with = [&base](const char* key, const std::string& value) {
        Labels labels = base;
        labels.emplace_back(key, value);
        return labels;
      };
      status.add(with("status", gate::to_string(line.status)), 1);
      if (line.baseline) baseline.add(with("unit", line.unit), *line.baseline);
      if (line.current) current.add(with("unit", line.unit), *line.current);
      if (line.delta) delta.add(with("unit", line.delta_unit), *line.delta);
    }
  }
  return verdict.text() + status.text() + baseline.text() + current.text() + delta.text();
}

std::string row_families(const std::vector<results::ResultFile>& files) {
  Family info("sluice_run_info", "", "1 with what was measured by which program on which machine.");
  Family status("sluice_case_status", "", "1 with the status of each row.");
  Family rate("sluice_case_rate", "", "Median over runs, in the unit of its label.");
  Family low("sluice_case_rate_low", "", "Lower end of the 95 % interval of the mean.");
  Family high("sluice_case_rate_high", "", "Upper end of the 95 % interval of the mean.");
  Family rss("sluice_case_peak_rss_bytes", "bytes", "Largest resident memory of its processes.");
  for (const results::ResultFile& file : files) {
    info.add({{"machine", file.machine_profile},
              {"session", file.session_id},
              {"version", file.tool.version},
              {"git", file.tool.git}},
             1);
    for (const measure::Row& row : file.rows) {
      const Labels base{
          {"machine", file.machine_profile}, {"case", row.case_name}, {"library", row.library}};
      Labels with_status = base;
      with_status.emplace_back("status", to_string(row.status));
      status.add(with_status, 1);
      if (row.peak_rss_bytes) rss.add(base, static_cast<double>(*row.peak_rss_bytes));
      if (!row.summary) continue;
      Labels with_unit = base;
      with_unit.emplace_back("unit", row.unit);
      rate.add(with_unit, row.summary->median);
      if (!row.summary->ci95) continue;
      low.add(with_unit, row.summary->ci95->low);
      high.add(with_unit, row.summary->ci95->high);
    }
  }
  return info.text() + status.text() + rate.text() + low.text() + high.text() + rss.text();
}

}  // namespace

std::string openmetrics(const std::vector<gate::GateReport>& reports,
                        const std::vector<results::ResultFile>& files) {
  return gate_families(reports) + row_families(files) + "# EOF\n";
}

}  // namespace sluice::report
