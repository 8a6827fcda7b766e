// sluice/report/gate/github.cpp - tables in Markdown, commands for the workflow, limits kept.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gate/github.h"

#include "sluice/core/text.h"
#include "sluice/report/format.h"
#include "sluice/report/gate/line_text.h"
#include "sluice/report/html/parts.h"
#include "sluice/report/markdown_parts.h"

#include <fmt/format.h>

namespace sluice::report {
namespace {

using gate::GateLine;
using gate::GateReport;
using gate::GateStatus;

constexpr std::size_t kLongestMetric = 120, kLongestReason = 400,
                      kLongestCommand = 1000;  // columns

/// Literal in Markdown; a name after @ is nobody's.
std::string literal(std::string_view text, std::size_t width) {
  std::string out;
  for (const char c : escape_markdown(clip(printable(text), width))) {
    out += c;
    if (c == '@') out += "<!-- -->";
  }
  return out;
}

bool good(GateStatus status) {
  return status == GateStatus::pass || status == GateStatus::improved;
}

std::string table_row(const GateLine& line) {
  const char* status = gate::to_string(line.status);
  return fmt::format("| {} | {} | {} | {} | {} | {} |\n", literal(line.metric, kLongestMetric),
                     literal(gate_value(line.baseline, line.unit), kLongestMetric),
                     literal(gate_value(line.current, line.unit), kLongestMetric),
                     literal(gate_delta(line), kLongestMetric),
                     literal(line.threshold, kLongestMetric),
                     good(line.status) ? std::string(status) : fmt::format("**{}**", status));
}

constexpr const char* kTableHead =
    "| metric | baseline | current | delta | allowed | verdict |\n|---|--:|--:|--:|---|---|\n";

/// Takes lines as long as they fit and remembers how many did not.
class Budget {
 public:
  explicit Budget(std::size_t bytes) : left_(bytes) {}
  /// What does not fit ends the list: no later line is looked at.
  template <class Make>
  void add(std::string& out, Make make) {
    const std::string text = dropped_ == 0 ? make() : std::string();
    if (dropped_ > 0 || text.size() > left_) {
      ++dropped_;
      return;
    }
    left_ -= text.size();
    out += text;
  }
  [[nodiscard]] std::string note() const {
    return dropped_ == 0 ? std::string()
                         : fmt::format("\n{} lines more are in verdict.json.\n", dropped_);
  }

 private:
  std::size_t left_;
  std::size_t dropped_ = 0;
};

std::string head(const GateReport& report) {
  return fmt::format(
      "## Performance gate: {}\n\n{} against {}, {} on {}\n\n",
      literal(report.summary, kLongestMetric), literal(report.candidate_name, kLongestMetric),
      literal(report.base_name, kLongestMetric), literal(report.rule, kLongestMetric),
      literal(report.machine_profile, kLongestMetric));
}

void add_table(std::string& out, Budget& budget, const std::vector<const GateLine*>& lines) {
  if (lines.empty()) return;
  out += kTableHead;
  for (const GateLine* line : lines)
    budget.add(out, [line] { return table_row(*line); });
}

void add_reasons(std::string& out, Budget& budget, const std::vector<const GateLine*>& lines) {
  if (!lines.empty()) out += "\n";
  for (const GateLine* line : lines) {
    budget.add(out, [line] {
      return fmt::format("- **{}**: {}\n", literal(line->metric, kLongestMetric),
                         literal(line_sentence(*line), kLongestReason));
    });
  }
}

std::string detectable_text(const GateReport& report) {
  const std::string mde = detectable(report);
  if (mde.empty()) return {};
  return "\nMDE, the smallest loss that these pairs would have found with 90 % probability: " +
         literal(mde, kLongestReason) + "\n";
}

/// As HTML: what a shell line holds is no markup, and is copied as it was typed.
std::string reproduce_text(const GateReport& report) {
  if (report.reproduce.empty()) return {};
  std::string line;
  for (const char c : escape_html(clip(printable(report.reproduce), kLongestCommand)))
    line += c == '@' ? std::string("&#64;") : std::string(1, c);
  return fmt::format(
      "\n<details><summary>How to reproduce</summary>\n\n<pre>{}</pre>\n\n</details>\n", line);
}

void add_more(std::string& out, Budget& budget, const GateReport& report) {
  for (const std::string& text : {detectable_text(report), reproduce_text(report)})
    if (!text.empty()) budget.add(out, [&text] { return text; });
}

std::string site_text(const std::string& site) {
  return site.empty() ? std::string() : fmt::format("[All metrics over time](<{}>)\n", site);
}

struct Lines {
  std::vector<const GateLine*> good;
  std::vector<const GateLine*> other;  // worst first
};

Lines split_lines(const GateReport& report) {
  Lines split;
  for (const GateLine* line : worst_first(report.lines))
    (good(line->status) ? split.good : split.other).push_back(line);
  return split;
}

/// Room for heads, folds and the last note, whatever the reports say.
Budget budget_of(std::size_t limit, std::size_t reports) {
  const std::size_t fixed = 4096 * (reports + 1);
  return Budget(limit > fixed ? limit - fixed : 0);
}

}  // namespace

Status check_site(const std::string& site, const std::string& flag) {
  constexpr std::size_t kLongestSite = 500;
  constexpr std::string_view kNever = " \t\"'<>()[]{}|\\`^";
  const bool http = site.starts_with("https://") || site.starts_with("http://");
  if (http && site.size() <= kLongestSite && site.find_first_of(kNever) == std::string::npos &&
      printable(site) == site)
    return ok;
  return Error{Errc::usage, fmt::format("{} {}: expected an address such as "
                                        "https://example.org/perf/",
                                        flag, printable(site))};
}

std::string github_summary(const std::vector<GateReport>& reports, const std::string& site) {
  Budget budget = budget_of(kSummaryBytes, reports.size());
  std::string out;
  for (const GateReport& report : reports) {
    const Lines split = split_lines(report);
    out += head(report);
    std::vector<const GateLine*> all = split.other;
    all.insert(all.end(), split.good.begin(), split.good.end());
    add_table(out, budget, all);
    add_reasons(out, budget, split.other);
    add_more(out, budget, report);
    out += "\n";
  }
  return out + budget.note() + site_text(site);
}

std::string github_comment(const std::vector<GateReport>& reports, const std::string& site) {
  Budget budget = budget_of(kCommentBytes, reports.size());
  std::string out = std::string(kCommentMarker) + "\n";
  for (const GateReport& report : reports) {
    const Lines split = split_lines(report);
    out += head(report);
    add_table(out, budget, split.other);
    add_reasons(out, budget, split.other);
    if (!split.good.empty()) {
      out += fmt::format("\n<details><summary>{} passed</summary>\n\n", split.good.size());
      add_table(out, budget, split.good);
      out += "\n</details>\n";
    }
    add_more(out, budget, report);
    out += "\n";
  }
  return out + budget.note() + site_text(site);
}

std::string escape_command_data(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '%')
      out += "%25";
    else if (c == '\r')
      out += "%0D";
    else if (c == '\n')
      out += "%0A";
    else
      out += c;
  }
  return out;
}

std::string escape_command_property(std::string_view text) {
  std::string out;
  for (const char c : escape_command_data(text)) {
    if (c == ':')
      out += "%3A";
    else if (c == ',')
      out += "%2C";
    else
      out += c;
  }
  return out;
}

namespace {

std::string command(const char* kind, const std::string& title, const std::string& message) {
  return fmt::format("::{} title={}::{}\n", kind,
                     escape_command_property(clip(printable(title), kLongestMetric)),
                     escape_command_data(clip(printable(message), kLongestReason)));
}

struct Annotation {
  std::string title;
  std::string message;
};

/// All of them, or all but the last place, which then says how many more there are.
std::string commands_of(const char* kind, const std::vector<Annotation>& list) {
  const std::size_t shown = list.size() > kAnnotations ? kAnnotations - 1 : list.size();
  std::string out;
  for (std::size_t i = 0; i < shown; ++i)
    out += command(kind, list[i].title, list[i].message);
  if (shown < list.size())
    out += command(kind, "performance gate",
                   fmt::format("{} lines more, see the summary", list.size() - shown));
  return out;
}

}  // namespace

std::string github_annotations(const std::vector<GateReport>& reports) {
  std::vector<Annotation> errors;
  std::vector<Annotation> warnings;
  for (const GateReport& report : reports) {
    for (const GateLine* line : worst_first(report.lines)) {
      const Annotation one{line->metric + " " + gate::to_string(line->status),
                           line_sentence(*line)};
      if (line->status == GateStatus::fail || line->status == GateStatus::invalid)
        errors.push_back(one);
      else if (line->status == GateStatus::warn || line->status == GateStatus::inconclusive)
        warnings.push_back(one);
    }
    if (report.status == GateStatus::skip)
      warnings.push_back({"performance gate: nothing was judged", report.summary});
  }
  return commands_of("error", errors) + commands_of("warning", warnings);
}

}  // namespace sluice::report
