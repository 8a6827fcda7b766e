// sluice/report/findings.cpp - the stage table and the diagnosis.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/findings.h"

#include "sluice/analysis/figures.h"
#include "sluice/core/text.h"
#include "sluice/report/text_parts.h"

#include <fmt/format.h>

#include <cmath>

namespace sluice::report {

std::string stages_text(const Json& list) {
  if (!list.is_array() || list.empty()) return "";
  std::string out = fmt::format("\n{:<16} {:>10} {:>12} {:>16} {:>10}\n", "stage", "of workers",
                                "us/sample", "ceiling /s", "MB/s");
  for (const Json& line : list) {
    const auto cell = [&](const char* key, const char* format) {
      const double value = analysis::number_at(line, key);
      return std::isfinite(value) ? fmt::format(fmt::runtime(format), value) : std::string("-");
    };
    out += fmt::format("{:<16} {:>8.1f} % {:>12} {:>16} {:>10}\n", analysis::text_at(line, "stage"),
                       analysis::number_at(line, "share_of_worker_time") * 100,
                       cell("us_per_sample", "{:.1f}"), cell("ceiling_samples_per_sec", "{:.0f}"),
                       cell("mb_per_s", "{:.1f}"));
  }
  return out;
}

std::string findings_text(const Json& list) {
  if (!list.is_array() || list.empty()) return "";
  std::string out = "\nDiagnosis\n";
  for (const Json& finding : list) {
    out += "  " + analysis::text_at(finding, "diagnosis") + "\n";
    out += wrapped(analysis::text_at(finding, "evidence"), 100, 4);
    if (!out.ends_with('\n')) out += '\n';
    for (const Json& solution : at(finding, "solutions"))
      if (solution.is_string()) out += "    - " + printable(solution.get<std::string>()) + "\n";
  }
  return out;
}

}  // namespace sluice::report
