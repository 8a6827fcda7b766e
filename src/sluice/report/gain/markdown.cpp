// sluice/report/gain/markdown.cpp - runs beside their baseline, for repositories and pull requests.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/gain/gain.h"
#include "sluice/report/gain/resource_lines.h"
#include "sluice/report/markdown_parts.h"
#include "sluice/report/report.h"

#include <fmt/format.h>

namespace sluice::report {
namespace {

std::string gain_row(const std::vector<std::string>& cells) {
  std::string out = "|";
  for (const std::string& cell : cells)
    out += " " + escape_markdown(cell) + " |";
  return out + "\n";
}

std::string where(const GainOptimisation& one) {
  if (one.in_baseline && one.in_run) return "both";
  return one.in_run ? "new" : "baseline only";
}

std::string resources_markdown(const GainReport& report) {
  std::string out;
  for (const GainPart& part : report.parts) {
    if (!part.file->resources) {
      out += fmt::format("- {}: n/a: the run recorded none\n", escape_markdown(part.name));
      continue;
    }
    for (const ResourceLine& line : resource_lines(*part.file->resources))
      out +=
          fmt::format("- {}, {}: `{}` {}\n", escape_markdown(part.name), escape_markdown(line.name),
                      sparkline(line), escape_markdown(line.summary()));
  }
  return out;
}

}  // namespace

std::string gain_markdown(const GainReport& report) {
  std::string out = "# Performance Benchmark Report\n\n**" + escape_markdown(report.headline) +
                    "**\n\n## Improvements vs Baseline\n\n| figure | baseline | run | change |\n"
                    "|---|--:|--:|---|\n";
  for (const GainLine& line : report.lines)
    out += gain_row({line.name, line.baseline, line.run, line.change});
  if (!report.remarks.empty()) out += "\n";
  for (const std::string& remark : report.remarks)
    out += "> " + escape_markdown(remark) + "\n";
  out += "\n## Optimizations Applied\n\n";
  for (const GainOptimisation& one : report.optimisations)
    out += fmt::format("- {} ({})\n", escape_markdown(one.name), where(one));
  if (report.optimisations.empty()) out += "- none\n";
  out += "\n## Use of the machine over time\n\n" + resources_markdown(report);
  out += "\n## Configuration\n\n| run | setting | baseline | run |\n|---|---|---|---|\n";
  for (const GainSetting& one : report.settings) {
    const std::string row = gain_row({one.kind, one.name, one.baseline, one.run});
    out +=
        one.differs() ? gain_row({one.kind, one.name + " (changed)", one.baseline, one.run}) : row;
  }
  for (const GainPart& part : report.parts) {
    out += fmt::format("\n## {}: {}\n\n", escape_markdown(part.name),
                       escape_markdown(printable(part.file->machine_profile)));
    for (const Fact& fact : machine_facts(*part.file))
      out += fmt::format("- {}: {}\n", escape_markdown(fact.name), escape_markdown(fact.value));
    if (!part.file->argv.empty()) out += "\n" + fenced(shell_command(part.file->argv) + "\n", "sh");
  }
  return out;
}

}  // namespace sluice::report
