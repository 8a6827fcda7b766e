// sluice/report/gain/html.cpp - runs beside their baseline as one page.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/gain/gain.h"
#include "sluice/report/html/parts.h"
#include "sluice/report/report.h"

#include <fmt/format.h>

namespace sluice::report {
namespace {

// Numbers keep their units on a phone too: there the table scrolls.
constexpr const char* kNumberCell = " class=\"number\" style=\"white-space: nowrap\"";

/// Cells are HTML already; a title that ends in '#' is that of a column of numbers.
std::string gain_table(const std::string& label, const std::vector<std::string>& titles,
                       const std::vector<std::vector<std::string>>& rows) {
  std::string out = fmt::format(
      "<div class=\"scroll snug\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table "
      "class=\"plain\" style=\"overflow-wrap: normal\">\n<thead><tr>",
      escape_html(label));
  for (const std::string& title : titles)
    out += title.ends_with('#')
               ? "<th scope=\"col\" class=\"number\">" + title.substr(0, title.size() - 1) + "</th>"
               : "<th scope=\"col\">" + title + "</th>";
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows) {
    out += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c)
      out += fmt::format("<td{}>{}</td>", titles[c].ends_with('#') ? kNumberCell : "", row[c]);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string figures_table(const GainReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (const GainLine& line : report.lines)
    rows.push_back({escape_html(line.name), escape_html(line.baseline), escape_html(line.run),
                    prose_html(line.change)});
  return gain_table("Improvements", {"Figure", "Baseline#", "Run#", "Change"}, rows);
}

std::string optimisations_table(const GainReport& report) {
  std::vector<std::vector<std::string>> rows;
  const auto mark = [](bool on) { return on ? "✓" : "–"; };
  for (const GainOptimisation& one : report.optimisations)
    rows.push_back({escape_html(one.name), mark(one.in_baseline), mark(one.in_run)});
  if (rows.empty()) return "<p class=\"soft\">None, on neither side.</p>\n";
  return gain_table("Optimizations", {"Optimization", "Baseline", "Run"}, rows);
}

std::string settings_table(const GainReport& report) {
  std::vector<std::vector<std::string>> rows;
  const auto cell = [](const std::string& text, bool bold) {
    const std::string shown = escape_html(clip(text, 160));
    return bold ? "<b>" + shown + "</b>" : shown;
  };
  for (const bool changed : {true, false})
    for (const GainSetting& one : report.settings)
      if (one.differs() == changed)
        rows.push_back({escape_html(one.kind), cell(one.name, changed), cell(one.baseline, changed),
                        cell(one.run, changed)});
  return gain_table("Configuration", {"Run", "Setting", "Baseline", "Run"}, rows);
}

std::string part_html(const GainPart& part) {
  std::string out = fmt::format("<h3>{}</h3>\n<dl>\n", escape_html(part.name));
  for (const Fact& fact : machine_facts(*part.file))
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_html(fact.name), escape_html(fact.value));
  out += "</dl>\n";
  if (!part.file->argv.empty())
    out += "<pre><code>" + escape_html(shell_command(part.file->argv)) + "</code></pre>\n";
  return out;
}

}  // namespace

std::string gain_html(const GainReport& report) {
  std::string plots;
  for (const GainPart& part : report.parts)
    if (part.file->resources)
      plots += resources_html("Machine, " + part.name, *part.file->resources);
  if (plots.empty())
    plots = "<p class=\"soft\">No run recorded the use of its machine.</p>\n";
  else
    plots = "<div class=\"pictures\">\n" + plots + "</div>\n";
  std::string body = "<section class=\"session\">\n<header><h1>Performance Benchmark Report</h1>";
  for (const GainPart& part : report.parts)
    body += fmt::format("<p class=\"profile\">{}: {} · {}</p>", escape_html(part.name),
                        escape_html(tool_text(*part.file)),
                        escape_html(printable(part.file->machine_profile)));
  body += "</header>\n" + answer_card({report.headline, report.remarks, {}});
  body += "<h2>Improvements vs Baseline</h2>\n" + figures_table(report);
  body += "<h2>Optimizations Applied</h2>\n" + optimisations_table(report);
  body += "<h2>Use of the machine over time</h2>\n" + plots;
  body +=
      "<h2>Configuration</h2>\n<p class=\"note\">All of it; what was changed is bold and comes "
      "first.</p>\n" +
      settings_table(report);
  body += "<h2>Machines and commands</h2>\n";
  for (const GainPart& part : report.parts)
    body += part_html(part);
  return page_html("Performance Benchmark Report", body + "</section>\n");
}

}  // namespace sluice::report
