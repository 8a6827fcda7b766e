// sluice/report/markdown.cpp - the report for repositories and pull requests.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/diagnose_text.h"
#include "sluice/report/facts.h"
#include "sluice/report/format.h"
#include "sluice/report/loader_text.h"
#include "sluice/report/markdown_parts.h"
#include "sluice/report/matrix/answer.h"
#include "sluice/report/report.h"
#include "sluice/report/tour_text.h"
#include "sluice/report/training_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::report {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

constexpr std::size_t kLongestCase = 120;  // columns; longer names are clipped in the middle

std::string table_markdown(const std::vector<Line>& lines) {
  const bool compared = any_behind(lines);
  std::string out = fmt::format(
      "| case | library | median ± sd | 95 % interval | cv | runs × samples |{} status |\n"
      "|---|---|--:|--:|--:|--:|{}---|\n",
      compared ? " ours over it |" : "", compared ? "--:|" : "");
  for (const auto& line : lines) {
    const measure::Row& row = *line.row;
    const std::string median = escape_markdown(median_cell(row));
    std::string status = status_cell(row);
    if (status != "ok") status = "**" + status + "**";
    if (!row.reason.empty()) status += ": " + escape_markdown(reason_cell(row));
    out += fmt::format("| {} | {} | {} | {} | {} | {} |{} {} |\n",
                       escape_markdown(clip(case_cell(row), kLongestCase)),
                       escape_markdown(clip(library_cell(row), kLongestCase)),
                       line.best ? "**" + median + "**" : median, interval_cell(row), cv_cell(row),
                       runs_cell(row), compared ? " " + behind_cell(line) + " |" : "", status);
  }
  return out;
}

std::string list(const std::vector<Fact>& facts) {
  std::string out;
  for (const auto& fact : facts)
    out += fmt::format("- {}: {}\n", escape_markdown(fact.name), escape_markdown(fact.value));
  return out;
}

/// Canary, machine, method and command: what every section ends with.
std::string section_end_markdown(const Section& section, Method method) {
  std::string out;
  if (!section.canary.empty()) {
    out += "\n## Canary\n\nFixed work that never changes: if it moved, the machine did.\n\n" +
           table_markdown(section.canary);
  }
  out += "\n## Machine\n\n" + list(machine_facts(section.head()));
  out += "\n## How it was measured\n\n" + list(method_facts(section, method));
  std::string lines;
  for (const auto& command : commands(section))
    lines += command + "\n";
  return out + "\n## Repeat it\n\n" + fenced(lines, "sh");
}

std::string section_markdown(const Section& section) {
  std::string out = fmt::format("# {}\n\n", escape_markdown(title(section)));
  out += fmt::format("{} on {}: {}.\n", escape_markdown(tool_text(section.head())),
                     escape_markdown(printable(section.head().machine_profile)),
                     status_counts(section));
  for (const auto& warning : noise_warnings(section.head())) {
    out += "\n> **Noise:** " + escape_markdown(warning) + "\n";
  }
  for (const results::ResultFile* file : section.files)
    for (const std::string& sentence : found_sentences(*file))
      out += "\n" + escape_markdown(sentence) + "\n";
  out += "\n## Results\n\n";
  out += section.rows.empty() ? "No row was measured.\n" : table_markdown(section.rows);
  out += "\nMedian, sd and cv are over runs (fresh processes); the interval is of their mean.";
  if (section.several_libraries) {
    out +=
        " Bold: the best median of a case, and every library whose interval overlaps that one's.";
  }
  out += "\n";
  return out + section_end_markdown(section, Method::whole);
}

/// All tables of the matrix, then what belongs to each session and machine they come from.
std::string matrix_markdown_of(const std::vector<const results::ResultFile*>& files) {
  const auto parts = sections(files);
  const auto tables = matrix_tables(files);
  std::string out = fmt::format("# {}\n\n", escape_markdown(title(parts.front())));
  for (const auto& one : tables)  // the answer first
    if (answer_of(one).rows > 0)
      out +=
          fmt::format("{}**{}**\n\n", tables.size() > 1 ? escape_markdown(one.title()) + ": " : "",
                      escape_markdown(answer_text(one)));
  for (const auto& section : parts) {
    out += fmt::format("{} on {}: {}.\n", escape_markdown(tool_text(section.head())),
                       escape_markdown(printable(section.head().machine_profile)),
                       status_counts(section));
    for (const auto& warning : noise_warnings(section.head()))
      out += "\n> **Noise:** " + escape_markdown(warning) + "\n";
    out += "\n";
  }
  for (const auto& one : tables)
    out += matrix_markdown(one) + "\n";
  for (const auto& section : parts) {
    const bool several = parts.size() > 1;
    if (several)
      out += fmt::format("# Session {}\n", escape_markdown(printable(section.head().session_id)));
    const std::string end =
        section_end_markdown(section, Method::without_config);  // opens with a new line
    out += several ? end + "\n" : end.substr(1);
  }
  return out;
}

}  // namespace

// An underscore inside a word acts on nothing, and case names are full of them.
std::string escape_markdown(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      const bool inside =
          i > 0 && i + 1 < text.size() && is_word(text[i - 1]) && is_word(text[i + 1]);
      const bool acts =
          std::string_view("\\`*[]|~").find(c) != std::string_view::npos || (c == '_' && !inside);
      if (acts) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string fenced(const std::string& text, std::string_view language) {
  std::size_t longest = 2;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return fmt::format("{}{}\n{}{}\n", fence, language, text, fence);
}

std::string markdown(const std::vector<results::ResultFile>& files) {
  const Split split = split_files(files);
  std::string out = split.matrix.empty() ? std::string() : matrix_markdown_of(split.matrix);
  for (const auto& section : sections(split.plain)) {
    if (!out.empty()) out += "\n---\n\n";
    for (const results::ResultFile* file : section.files)
      out += is_loader_file(*file)     ? loader_markdown(*file)
             : is_training_file(*file) ? training_markdown(*file)
                                       : "";
    out += section_markdown(section);
    for (const results::ResultFile* file : section.files)
      if (const std::string text = diagnose_text(*file); !text.empty())
        out += "\n## What limits a training step\n\n" + fenced(text);
  }
  return out.empty() ? "# sluice\n\nNo result file was given.\n" : out;
}

}  // namespace sluice::report
