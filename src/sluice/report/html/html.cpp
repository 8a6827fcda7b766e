// sluice/report/html/html.cpp - report.html: one page that needs nothing but itself.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/diagnose_text.h"
#include "sluice/report/facts.h"
#include "sluice/report/html/parts.h"
#include "sluice/report/loader_text.h"
#include "sluice/report/report.h"
#include "sluice/report/tour_text.h"
#include "sluice/report/training_text.h"

#include <fmt/format.h>

namespace sluice::report {
namespace {

std::string facts_list(const std::vector<Fact>& facts) {
  std::string out = "<dl>\n";
  for (const auto& fact : facts) {
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_html(fact.name), escape_html(fact.value));
  }
  return out + "</dl>\n";
}

std::string warnings_html(const std::vector<std::string>& warnings) {
  if (warnings.empty()) return {};
  std::string out =
      "<div class=\"callout\" role=\"note\"><strong>This machine was not quiet.</strong><ul>\n";
  for (const auto& warning : warnings)
    out += "<li>" + escape_html(warning) + "</li>\n";
  return out + "</ul></div>\n";
}

std::string section_head_html(const Section& section, const std::string& suffix) {
  std::string out =
      fmt::format("<header><h1>{}</h1><p class=\"profile\">{}</p>", escape_html(title(section)),
                  escape_html(printable(section.head().machine_profile)));
  out += fmt::format("<p class=\"soft\">{}</p>", escape_html(tool_text(section.head())));
  out += "<nav aria-label=\"Sections\">";
  for (const char* name : {"Results", "Distributions", "Canary", "Machine", "Method", "Repeat"}) {
    const bool missing = (std::string_view(name) == "Canary" && section.canary.empty()) ||
                         (std::string_view(name) == "Distributions" && section.rows.empty());
    if (!missing) out += fmt::format("<a href=\"#{}{}\">{}</a>", name, suffix, name);
  }
  return out + "</nav></header>\n";
}

std::string distributions_html(const Section& section, const std::string& suffix) {
  std::string plots;
  for (const auto& line : section.rows)
    plots += distribution(*line.row);
  if (plots.empty()) return {};
  return fmt::format(
             "<h2 id=\"Distributions{}\">Distributions of samples</h2>\n<p class=\"note\">Every "
             "timed sample, one lane "
             "per run (a fresh process), first run on top. Upright mark: mean of the run. Shaded: "
             "the 95 "
             "% interval. Lanes that "
             "do not overlap mean that runs differ by more than their samples do.</p>\n<div "
             "class=\"plots\">\n",
             suffix) +
         plots + "</div>\n";
}

std::string results_caption(const Section& section) {
  std::string out = fmt::format(
      "Median, standard deviation and coefficient of variation over runs (fresh processes). Bar: "
      "the 95 % interval, "
      "drawn within ± {:g} % of the median, and one dot per run.",
      100 * interval_range(section.rows));
  if (section.several_libraries) {
    out +=
        " Bold: the best median of a case, and every library whose interval overlaps that one's.";
  }
  return out;
}

/// What a tour found, in its own sentences.
std::string found_html(const Section& section) {
  std::string sentences;
  for (const results::ResultFile* file : section.files)
    for (const std::string& sentence : found_sentences(*file))
      sentences += "<p>" + escape_html(sentence) + "</p>\n";
  return sentences.empty() ? "" : "<div class=\"found\">\n" + sentences + "</div>\n";
}

/// Canary, machine, method and command: what every section ends with.
std::string section_end_html(const Section& section, const std::string& suffix, Method method) {
  std::string out;
  if (!section.canary.empty()) {
    out += fmt::format("<h2 id=\"Canary{}\">Canary</h2>\n", suffix);
    out += results_table(section, section.canary,
                         "Fixed work that never changes: if it moved, the machine did.");
  }
  out += fmt::format("<h2 id=\"Machine{}\">Machine</h2>\n", suffix) +
         facts_list(machine_facts(section.head()));
  if (const auto all = flatten(section.head().environment, 400); !all.empty()) {
    out += "<details><summary>Everything recorded about it</summary>\n" + facts_list(all) +
           "</details>\n";
  }
  out += fmt::format("<h2 id=\"Method{}\">How it was measured</h2>\n", suffix) +
         facts_list(method_facts(section, method));
  out += fmt::format("<h2 id=\"Repeat{}\">Repeat it</h2>\n", suffix);
  for (const auto& command : commands(section))
    out += "<pre><code>" + escape_html(command) + "</code></pre>\n";
  return out;
}

std::string suffix_of(std::size_t index) {
  return index == 0 ? "" : fmt::format("-{}", index + 1);
}

/// The tables of the matrix, then what belongs to each session they come from.
std::string matrix_section(const std::vector<const results::ResultFile*>& files,
                           const std::vector<Section>& parts) {
  const auto tables = matrix_tables(files);
  const auto id = [](std::size_t i) { return fmt::format("Table-{}", i + 1); };
  std::string out =
      "<section class=\"session\">\n<header><h1>" + escape_html(title(parts.front())) + "</h1>";
  for (const auto& part : parts) {
    out += fmt::format("<p class=\"profile\">{}</p><p class=\"soft\">{}: {}</p>",
                       escape_html(printable(part.head().machine_profile)),
                       escape_html(tool_text(part.head())), status_counts(part));
  }
  out += "<nav aria-label=\"Tables\">";
  for (std::size_t i = 0; i < tables.size(); ++i)
    out += fmt::format("<a href=\"#{}\">{}</a>", id(i), escape_html(tables[i].title()));
  out += "</nav></header>\n";
  out += matrix_cards(tables);
  for (const auto& part : parts)
    out += warnings_html(noise_warnings(part.head()));
  for (std::size_t i = 0; i < tables.size(); ++i)
    out += matrix_html(tables[i], id(i));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts.size() > 1)
      out += "<h1>Session " + escape_html(printable(parts[i].head().session_id)) + "</h1>\n";
    out += section_end_html(parts[i], suffix_of(i), Method::without_config);
  }
  return out + "</section>\n";
}

std::string section_html(const Section& section, const std::string& suffix) {
  std::string out = "<section class=\"session\">\n" + section_head_html(section, suffix);
  out += warnings_html(noise_warnings(section.head()));
  out += found_html(section);
  out += summary_cards(section);
  out += fmt::format("<h2 id=\"Results{}\">Results</h2>\n", suffix);
  out += section.rows.empty() ? "<p class=\"soft\">No row was measured.</p>\n"
                              : results_table(section, section.rows, results_caption(section));
  if (const std::string figures = comparison(section); !figures.empty()) {
    out += "<h2>Libraries compared</h2>\n<div class=\"compare\">\n" + figures + "</div>\n";
  }
  for (const results::ResultFile* file : section.files)
    if (is_loader_file(*file))
      out += fmt::format("<h2 id=\"Loader{}\">Stages, targets and diagnosis</h2>\n<pre>{}</pre>\n",
                         suffix, escape_html(loader_text(*file)));
  for (const results::ResultFile* file : section.files)
    if (is_training_file(*file))
      out += fmt::format("<h2 id=\"Training{}\">Phases, targets and advice</h2>\n<pre>{}</pre>\n",
                         suffix, escape_html(training_text(*file)));
  for (const results::ResultFile* file : section.files)
    if (const std::string text = diagnose_text(*file); !text.empty())
      out += fmt::format("<h2 id=\"Diagnosis{}\">What limits a training step</h2>\n<pre>{}</pre>\n",
                         suffix, escape_html(text));
  out += distributions_html(section, suffix);
  return out + section_end_html(section, suffix, Method::whole) + "</section>\n";
}

}  // namespace

std::string html(const std::vector<results::ResultFile>& files) {
  const Split split = split_files(files);
  const auto matrix = sections(split.matrix);
  const auto plain = sections(split.plain);
  const Section* first = !matrix.empty() ? &matrix.front()
                         : plain.empty() ? nullptr
                                         : &plain.front();
  // The policy is the second wall behind the escaping: nothing on this page may run or be fetched.
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; "
      "img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"sluice\">\n<link rel=\"icon\" "
      "href=\"data:,\">\n<title>{}</title>\n"
      "<style>{}</style>\n</head>\n<body>\n<main>\n",
      escape_html(first == nullptr
                      ? "sluice"
                      : title(*first) + " · " + printable(first->head().machine_profile)),
      page_style());
  if (!matrix.empty()) out += matrix_section(split.matrix, matrix);
  for (std::size_t i = 0; i < plain.size(); ++i)
    out += section_html(plain[i], suffix_of(matrix.size() + i));
  if (first == nullptr) out += "<h1>sluice</h1><p>No result file was given.</p>\n";
  return out +
         "<footer>Made by sluice from result files alone; every number on this page can be derived "
         "from them "
         "again.</footer>\n</main>\n</body>\n</html>\n";
}

}  // namespace sluice::report
