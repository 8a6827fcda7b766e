// sluice/report/html/conclusions.cpp - what commands concluded from their rows, as tables.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/allreduce_text.h"
#include "sluice/report/figures.h"
#include "sluice/report/findings.h"
#include "sluice/report/format.h"
#include "sluice/report/html/parts.h"
#include "sluice/report/storage_text.h"
#include "sluice/report/training_text.h"
#include "sluice/report/tune_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::report {
namespace {

using Cells = std::vector<std::string>;  // plain text

/// A title that ends in '#' is that of a column of numbers. The table scrolls in a box of its own.
std::string plain_table(const std::string& title, const Cells& columns,
                        const std::vector<Cells>& rows) {
  if (rows.empty()) return {};
  const auto number = [&](std::size_t c) {
    return c < columns.size() && columns[c].ends_with('#');
  };
  std::string out = fmt::format(
      "<h3 class=\"table-title\">{0}</h3>\n<div class=\"scroll snug\" tabindex=\"0\" "
      "role=\"region\" "
      "aria-label=\"{0}\"><table class=\"plain\">\n<thead><tr>",
      escape_html(title));
  for (std::size_t c = 0; c < columns.size(); ++c)
    out += fmt::format("<th scope=\"col\"{}>{}</th>", number(c) ? " class=\"number\"" : "",
                       escape_html(columns[c].substr(0, columns[c].size() - (number(c) ? 1 : 0))));
  out += "</tr></thead>\n<tbody>\n";
  for (const Cells& row : rows) {
    out += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c)
      out += fmt::format("<td{}>{}</td>", number(c) ? " class=\"number\"" : "",
                         escape_html(clip(row[c], 160)));
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string cell_of(const std::optional<double>& value, const char* format, double scale = 1) {
  return value && std::isfinite(*value) ? fmt::format(fmt::runtime(format), *value * scale)
                                        : std::string(kNone);
}

std::string between(const std::optional<stats::Estimate>& estimate, const char* format) {
  if (!estimate || !(estimate->confidence > 0)) return std::string(kNone);
  return fmt::format(fmt::runtime(format), estimate->low) + " to " +
         fmt::format(fmt::runtime(format), estimate->high);
}

std::string findings_html(const std::vector<results::Finding>& findings) {
  std::string out;
  for (const results::Finding& finding : findings) {
    out += fmt::format("<div class=\"finding\"><h3>{}</h3><p class=\"note\">{}</p>",
                       prose_html(printable(finding.diagnosis)),
                       prose_html(printable(finding.evidence)));
    if (!finding.solutions.empty()) {
      out += "<ul>";
      for (const std::string& one : finding.solutions)
        out += "<li>" + prose_html(printable(one)) + "</li>";
      out += "</ul>";
    }
    out += "</div>\n";
  }
  return out;
}

std::string stages_table(const std::vector<results::StageShare>& stages) {
  std::vector<Cells> rows;
  for (const results::StageShare& one : stages)
    rows.push_back({printable(one.stage), fmt::format("{:.1f} %", one.share * 100),
                    fmt::format("{:.1f}", one.us_per_sample),
                    one.ceiling ? whole(*one.ceiling) : std::string(kNone),
                    cell_of(one.mb_per_s, "{:.1f}")});
  return plain_table("Stages of the loader",
                     {"Stage", "Of worker time#", "µs/sample#", "Max samples/s#", "MB/s#"}, rows);
}

std::string attribution_table(const results::Attribution& found) {
  std::vector<Cells> rows;
  const auto add = [&](const char* name, const std::optional<double>& value, const char* format,
                       double scale, const char* meaning) {
    if (value && std::isfinite(*value))
      rows.push_back({name, cell_of(value, format, scale), meaning});
  };
  add("overlap", found.overlap, "{:.2f}", 1,
      "1: perfect, 0: one after the other, below: slowing each other down");
  add("unexplained", found.residual_share, "{:.1f} %", 100, "of a step, beyond the ideal");
  add("waiting for data", found.times.wait_share.point, "{:.1f} %", 100, "of a step");
  add("headroom", found.headspace, "{:.1f} %", 100, "gain if loading were free");
  add("loader, contended", found.times.loader_slowdown, "{:.2f}", 1,
      "times its work per batch alone");
  add("step, contended", found.times.model_slowdown, "{:.2f}", 1, "times its time alone");
  return plain_table("How loader and step get on", {"Figure", "Value#", "Meaning"}, rows);
}

std::string phases_table(const results::TrainingPhases& phases) {
  if (!(phases.natural_step_s > 0)) return {};
  std::vector<Cells> rows;
  const auto add = [&](const std::string& name, double seconds) {
    rows.push_back({name, fmt::format("{:.3f}", seconds * 1e3),
                    fmt::format("{:.1f} %", seconds / phases.natural_step_s * 100)});
  };
  for (const auto& [name, seconds] : phases.per_step)
    add(printable(name), seconds);
  add(phases.reconciled ? "residual" : "residual, unreconciled", phases.residual_s);
  add("natural step", phases.natural_step_s);
  return plain_table("Phases of a step", {"Phase", "ms/step#", "Of step#"}, rows);
}

std::string training_tables(const results::TrainingSummary& summary) {
  std::vector<Cells> rows;
  Cells heads{"Batch#",   "Type",      "Samples/s#", "it/s#",  "Tokens/s#", "MFU p50 %#",
              "Step ms#", "Peak MiB#", "Loss#",      "GPU %#", "CPU %#",    ""};
  const bool ranks = std::ranges::any_of(summary.sweep, [](const results::TrainingSweepLine& one) {
    return one.steps_per_s.has_value();
  });
  const auto add = [&](Cells cells) {
    if (!ranks) cells.erase(cells.begin() + 3, cells.begin() + 6);
    rows.push_back(std::move(cells));
  };
  for (const results::TrainingSweepLine& one : summary.sweep)
    add({fmt::format("{}", one.batch), settings_of(one),
         one.samples_per_s.value ? fmt::format("{:.1f}", *one.samples_per_s.value)
                                 : printable(one.samples_per_s.reason),
         cell_of(one.steps_per_s, "{:.2f}"), cell_of(one.tokens_per_s, "{:.0f}"),
         cell_of(one.mfu_p50.value, "{:.1f}", 100), fmt::format("{:.2f}", one.step_ms),
         cell_of(one.peak_bytes, "{:.0f}", 1.0 / (1024 * 1024)), cell_of(one.loss, "{:.4f}"),
         cell_of(one.compute_use, "{:.0f}", 100), cell_of(one.cpu_use, "{:.0f}", 100),
         one.best ? "best" : ""});
  if (!ranks) heads.erase(heads.begin() + 3, heads.begin() + 6);
  std::string out = plain_table("Sweep", heads, rows);
  std::vector<Cells> others;
  for (const results::TrainingLibrary& one : summary.libraries)
    others.push_back({printable(one.case_name), printable(one.library),
                      cell_of(one.samples_per_s, "{:.1f}"), cell_of(one.step_p50_ms, "{:.2f}"),
                      cell_of(one.peak_bytes, "{:.0f}", 1.0 / (1024 * 1024)),
                      one.status == "ok" ? (one.anchor ? printable(one.anchor->text) : "ok")
                                         : printable(one.status) + ": " + printable(one.reason)});
  out += others.size() < 2
             ? ""
             : plain_table("Libraries, the best run of each",
                           {"Case", "Library", "Samples/s#", "Step p50 ms#", "Peak MiB#", "Status"},
                           others);
  return out;
}

/// Text that was wrapped for a terminal.
std::string one_line(const std::string& text) {
  std::vector<std::string> words = split(text, '\n');
  for (std::string& word : words)
    word = std::string(trimmed(word));
  return join(words, " ");
}

std::string tune_ranking(const results::TuneSummary& tune) {
  std::vector<Cells> rows;
  for (const results::TunePlace& one : tune.ranking) {
    const bool first = rows.empty();
    rows.push_back(
        {fmt::format("{} / {}", one.setting.workers, one.setting.prefetch),
         one.setting.loader ? printable(*one.setting.loader) : "", whole(one.rate),
         first || !one.ratio ? "" : fmt::format("{:+.1f} %", 100 * (one.ratio->point - 1)),
         first ? "" : between(one.ratio, "{:.3f}"), fmt::format("{}", one.n)});
  }
  return plain_table("Ranking",
                     {"Workers / prefetch", "Loader", "Samples/s#", "To the first#",
                      "95 % interval of the ratio#", "Measured#"},
                     rows);
}

std::string tune_table(const results::TuneSummary& tune) {
  std::vector<Cells> rows;
  const auto name = [](const results::TuneSetting& one) {
    return fmt::format("{} / {}", one.workers, one.prefetch);
  };
  for (const results::TuneEvidence& one : tune.evidence)
    rows.push_back(
        {name(one.setting), name(one.against), fmt::format("{}", one.pairs),
         one.ratio ? fmt::format("{:.3f}", one.ratio->point) : std::string(kNone),
         between(one.ratio, "{:.3f}"),
         printable(one.outcome) + (one.reason.empty() ? "" : ": " + printable(one.reason))});
  return plain_table(
      "Settings compared",
      {"Workers / prefetch", "Against", "Pairs#", "Ratio#", "95 % interval#", "Outcome"}, rows);
}

std::string storage_lines(const std::vector<results::StorageLine>& lines) {
  std::vector<Cells> rows;
  for (const results::StorageLine& one : lines) {
    const bool known = one.latency_us.has_value();
    const auto latency = [&](double us) { return known ? figure(us) : std::string(kNone); };
    const results::ReadLatency times = one.latency_us.value_or(results::ReadLatency{});
    rows.push_back({printable(one.pattern), printable(one.mode),
                    one.size == 0 ? "" : bytes_text(one.size), fmt::format("{}", one.concurrency),
                    one.mb_per_s ? figure(one.mb_per_s->point) : std::string(kNone),
                    latency(times.p50.point), latency(times.p90.point), latency(times.p99.point),
                    latency(times.max),
                    one.reason.empty() ? printable(one.cache) : printable(one.reason)});
  }
  return plain_table("Reads",
                     {"Pattern", "Mode", "Size#", "At once#", "MB/s#", "p50 µs#", "p90 µs#",
                      "p99 µs#", "max µs#", "Cache"},
                     rows);
}

std::string allreduce_lines(const results::AllreduceSummary& allreduce) {
  std::vector<Cells> rows;
  for (const results::AllreduceLine& one : allreduce.lines)
    rows.push_back({bytes_text(static_cast<std::uint64_t>(one.bytes)), figure(one.time_us.point),
                    between(one.time_us, "{:.4g}"), figure(one.algorithm_gb_per_s.point),
                    figure(one.bus_gb_per_s.point), between(one.bus_gb_per_s, "{:.3g}")});
  return plain_table(
      "All-reduce by size",
      {"Size#", "Time us#", "95 % interval#", "Algorithm GB/s#", "Bus GB/s#", "95 % interval#"},
      rows);
}

std::string mixture_runs(const results::MixtureSummary& summary) {
  std::vector<Cells> rows;
  for (const results::MixtureRunLine& one : summary.runs)
    rows.push_back({printable(one.library), fmt::format("{}", one.block + 1),
                    figure(one.samples_per_s), fmt::format("{:.2f}", one.mean_s * 1e3),
                    fmt::format("{:.2f}", one.p50_s * 1e3), fmt::format("{:.2f}", one.p99_s * 1e3),
                    fmt::format("{:.2f}", one.start_s),
                    fmt::format("{:.1f} %", one.wait_fraction * 100)});
  return plain_table("Runs",
                     {"Library", "Block#", "Samples/s#", "Batch mean ms#", "p50 ms#", "p99 ms#",
                      "Start s#", "Waiting#"},
                     rows);
}

std::string loader_tables(const results::LoaderMetrics& loader) {
  std::vector<Cells> rows;
  for (const results::LoaderSweepLine& one : loader.sweep)
    rows.push_back({fmt::format("{}", one.workers), fmt::format("{}", one.prefetch),
                    one.samples_per_s.value ? whole(one.samples_per_s.value->point)
                                            : printable(one.samples_per_s.reason),
                    between(one.samples_per_s.value, "{:.0f}"), one.optimal ? "optimal" : ""});
  return stages_table(loader.stages) + (loader.step ? attribution_table(*loader.step) : "") +
         plain_table("Sweep", {"Workers#", "Prefetch#", "Samples/s#", "95 % interval#", ""}, rows);
}

}  // namespace

std::string conclusion_tables(const results::ResultFile& file) {
  std::string out;
  if (file.diagnosis) {
    out += findings_html(file.diagnosis->findings);
    if (file.diagnosis->attribution.value)
      out += attribution_table(*file.diagnosis->attribution.value);
    out += stages_table(file.diagnosis->stages);
  }
  if (file.loader) out += findings_html(file.loader->findings) + loader_tables(*file.loader);
  if (file.training && file.training->phases.value)
    out += phases_table(*file.training->phases.value);
  if (file.training_summary) out += training_tables(*file.training_summary);
  if (file.tune) out += tune_ranking(*file.tune) + tune_table(*file.tune);
  if (file.storage) out += storage_lines(file.storage->lines);
  if (file.allreduce) out += allreduce_lines(*file.allreduce);
  if (file.mixture_summary) out += mixture_runs(*file.mixture_summary);
  return out;
}

std::string figures_html(const results::ResultFile& file) {
  std::vector<Fact> facts = loader_facts(file);
  if (facts.empty()) facts = training_facts(file);
  if (facts.empty() && file.tune) {  // settings and rates are drawn; the rest is sentences
    std::string notes;
    for (const std::string& line : tune_sentences(*file.tune))
      notes += "<p class=\"note\">" + prose_html(line) + "</p>\n";
    return notes;
  }
  std::string list, notes;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    if (facts[i].name.empty() &&
        (facts[i].value.find('\n') != std::string::npos || facts[i].value.size() > 60)) {
      notes += "<p class=\"note\">" + prose_html(one_line(facts[i].value)) + "</p>\n";
      continue;
    }
    list += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_html(facts[i].name),
                        escape_html(facts[i].value));
  }
  return list.empty() ? notes : "<dl>\n" + list + "</dl>\n" + notes;
}

}  // namespace sluice::report
