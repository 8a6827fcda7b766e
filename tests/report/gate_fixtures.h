// tests/report/gate_fixtures.h - gate reports as the formats meet them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/gate_report.h"

#include <limits>
#include <string>

namespace sluice::testing {

inline gate::GateLine gate_line(const std::string& metric, gate::GateStatus status) {
  gate::GateLine line;
  line.metric = metric;
  line.unit = "tokens/s";
  line.baseline = 1000;
  line.current = 900;
  line.delta = -10;
  line.delta_unit = "%";
  line.threshold = "at most 5 % less";
  line.status = status;
  line.reason = "because of " + metric;
  return line;
}

/// One line of every status, best first.
inline gate::GateReport every_status() {
  using gate::GateStatus;
  gate::GateReport report;
  report.rule = "stored baseline";
  report.machine_profile = "cpu_8c";
  report.timestamp = "2026-11-16T02:00:00Z";
  report.base_name = "bench/baselines/cpu_8c.metrics.json";
  report.candidate_name = "runs/R";
  report.lines = {gate_line("a_pass", GateStatus::pass),
                  gate_line("b_improved", GateStatus::improved),
                  gate_line("c_warn", GateStatus::warn),
                  gate_line("d_inconclusive", GateStatus::inconclusive),
                  gate_line("e_skip", GateStatus::skip),
                  gate_line("f_fail", GateStatus::fail),
                  gate_line("g_invalid", GateStatus::invalid)};
  report.lines[4].baseline.reset();
  report.lines[4].delta.reset();
  report.lines[6].current = std::numeric_limits<double>::quiet_NaN();
  report.lines[6].delta = std::numeric_limits<double>::infinity();
  report.status = overall(report.lines);
  report.summary = summary_of(report);
  return report;
}

/// Markup, quotes, line ends, control characters, broken UTF-8 and commands in every string.
inline gate::GateReport hostile_report() {
  const std::string text =
      "<b a=\"1\" b='2'>&amp; ]]> \n::error::x%0A,:%\r| `c` *d* @someone \x1b[31m \xff\xfe "
      "\xEF\xBF\xBF \\ \"}\n# EOF\n";
  gate::GateReport report = every_status();
  report.rule = report.machine_profile = report.timestamp = text;
  report.base_name = report.candidate_name = report.summary = report.reproduce = text;
  for (gate::GateLine& line : report.lines) {
    line.metric += text;
    line.unit = line.delta_unit = line.threshold = line.reason = text;
  }
  return report;
}

}  // namespace sluice::testing
