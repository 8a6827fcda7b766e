// sluice/report/html/html.cpp - report.html: one page that needs nothing but itself.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/facts.h"
#include "sluice/report/html/parts.h"
#include "sluice/report/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::report {
namespace {

std::string facts_list(const std::vector<Fact>& facts) {
  std::string out = "<dl>\n";
  for (const auto& fact : facts) {
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_html(fact.name), escape_html(fact.value));
  }
  return out + "</dl>\n";
}

std::string nav_html(const Section& section, const std::string& suffix, bool details,
                     bool figures) {
  std::string out = "<nav aria-label=\"Sections\">";
  const std::pair<const char*, bool> all[] = {{"Results", true},
                                              {"Figures", figures},
                                              {"Details", details},
                                              {"Distributions", !section.rows.empty()},
                                              {"Canary", !section.canary.empty()},
                                              {"Machine", true},
                                              {"Method", true},
                                              {"Repeat", true}};
  for (const auto& [name, there] : all)
    if (there) out += fmt::format("<a href=\"#{}{}\">{}</a>", name, suffix, name);
  return out + "</nav>\n";
}

std::string head_html(const Section& section) {
  return fmt::format("<header><h1>{}</h1><p class=\"profile\">{} · {}</p></header>\n",
                     escape_html(title(section)), escape_html(tool_text(section.head())),
                     escape_html(printable(section.head().machine_profile)));
}

/// The machine without its noise: that stands once, at the top.
std::vector<Fact> quiet_facts(const results::ResultFile& file) {
  std::vector<Fact> facts = machine_facts(file);
  std::erase_if(facts, [](const Fact& fact) { return fact.name == kNoiseFact; });
  return facts;
}

/// How it was measured; the configuration, a line per key, is there for who opens it.
std::string method_html(const std::vector<Fact>& facts) {
  const auto session = std::find_if(facts.begin(), facts.end(),
                                    [](const Fact& fact) { return fact.name == kSessionFact; });
  const auto rest = session == facts.end() ? session : session + 1;
  std::string out = facts_list({facts.begin(), rest});
  if (rest != facts.end())
    out += "<details><summary>The whole configuration</summary>\n" +
           facts_list({rest, facts.end()}) + "</details>\n";
  return out;
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

/// Canary, machine, method and command: what every section ends with.
std::string section_end_html(const Section& section, const std::string& suffix, Method method) {
  std::string out;
  if (!section.canary.empty()) {
    out += fmt::format("<h2 id=\"Canary{}\">Canary</h2>\n", suffix);
    out += results_table(section, section.canary,
                         "Fixed work that never changes: if it moved, the machine did.");
  }
  out += fmt::format("<h2 id=\"Machine{}\">Machine</h2>\n", suffix) +
         facts_list(quiet_facts(section.head()));
  if (const auto all = flatten(section.head().environment, 400); !all.empty()) {
    out += "<details><summary>Everything recorded about it</summary>\n" + facts_list(all) +
           "</details>\n";
  }
  out += fmt::format("<h2 id=\"Method{}\">How it was measured</h2>\n", suffix) +
         method_html(method_facts(section, method));
  out += fmt::format("<h2 id=\"Repeat{}\">Repeat it</h2>\n", suffix);
  for (const auto& command : commands(section))
    out += "<pre><code>" + escape_html(command) + "</code></pre>\n";
  return out;
}

std::string suffix_of(std::size_t index) {
  return index == 0 ? "" : fmt::format("-{}", index + 1);
}

/// The table that the answer is of; null where none compares libraries.
const MatrixTable* first_compared(const std::vector<MatrixTable>& tables) {
  for (const MatrixTable& table : tables)
    if (leader_of(table)) return &table;
  return nullptr;
}

/// The answer and the pictures of a matrix, its tables, then what belongs to each session they come
/// from.
std::string matrix_section(const std::vector<const results::ResultFile*>& files,
                           const std::vector<Section>& parts) {
  const auto tables = matrix_tables(files);
  const auto id = [](std::size_t i) { return fmt::format("Table-{}", i + 1); };
  std::string out =
      "<section class=\"session\">\n<header><h1>" + escape_html(title(parts.front())) + "</h1>";
  for (const auto& part : parts) {
    out += fmt::format("<p class=\"profile\">{} · {}: {}</p>", escape_html(tool_text(part.head())),
                       escape_html(printable(part.head().machine_profile)), status_counts(part));
  }
  out += "</header>\n" + answer_card(matrix_answer(tables));
  std::vector<std::string> noise;  // sessions of one visit say the same
  for (const auto& part : parts) {
    std::string one = noise_html(part);
    if (std::find(noise.begin(), noise.end(), one) == noise.end()) noise.push_back(std::move(one));
  }
  out += join(noise, "");
  out += "<nav aria-label=\"Tables\">";
  for (std::size_t i = 0; i < tables.size(); ++i)
    out += fmt::format("<a href=\"#{}\">{}</a>", id(i), escape_html(tables[i].title()));
  out += "</nav>\n";
  const MatrixTable* drawn = first_compared(tables);
  if (drawn != nullptr) out += "<div class=\"pictures\">\n" + matrix_pictures(*drawn) + "</div>\n";
  out += matrix_cards(tables);
  for (std::size_t i = 0; i < tables.size(); ++i)
    out += matrix_html(tables[i], id(i));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts.size() > 1)
      out += "<h1>Session " + escape_html(printable(parts[i].head().session_id)) + "</h1>\n";
    out += section_end_html(parts[i], suffix_of(i), Method::without_config);
  }
  return out + "</section>\n";
}

/// Every picture of a section, libraries side by side last.
std::string section_pictures(const Section& section) {
  std::string out;
  for (const results::ResultFile* file : section.files)
    out += pictures_html(*file);
  out += comparison(section);
  return out.empty() ? out : "<div class=\"pictures\">\n" + out + "</div>\n";
}

std::string section_html(const Section& section, const std::string& suffix) {
  std::string details, figures;
  for (const results::ResultFile* file : section.files) {
    details += conclusion_tables(*file);
    figures += figures_html(*file);
  }
  std::string out =
      fmt::format("<section class=\"session\" id=\"Session{}\">\n", suffix) + head_html(section);
  for (const Answer& answer : answers(section))
    out += answer_card(answer);
  out += noise_html(section) + nav_html(section, suffix, !details.empty(), !figures.empty());
  out += section_pictures(section) + summary_cards(section);
  out += fmt::format("<h2 id=\"Results{}\">Results</h2>\n", suffix);
  out += section.rows.empty() ? "<p class=\"soft\">No row was measured.</p>\n"
                              : results_table(section, section.rows, results_caption(section));
  if (!figures.empty()) out += fmt::format("<h2 id=\"Figures{}\">Figures</h2>\n", suffix) + figures;
  if (!details.empty())
    out += fmt::format("<h2 id=\"Details{}\">What the numbers come to</h2>\n", suffix) + details;
  out += distributions_html(section, suffix) + section_end_html(section, suffix, Method::whole);
  return out + "</section>\n";
}

/// Of a page with several sessions: what each comes to, and the way to it.
std::string index_html(const std::vector<Section>& all, std::size_t before) {
  if (all.size() < 2) return {};
  std::string out = "<nav class=\"index\" aria-label=\"Sessions\"><ol>\n";
  for (std::size_t i = 0; i < all.size(); ++i)
    out += fmt::format("<li><a href=\"#Session{}\">{}</a> {}</li>\n", suffix_of(before + i),
                       escape_html(title(all[i])), prose_html(answers(all[i]).front().headline));
  return out + "</ol></nav>\n";
}

}  // namespace

std::string page_html(const std::string& title, const std::string& body) {
  // The policy is the second wall behind the escaping: nothing on this page may run or be fetched.
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; "
      "img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"sluice\">\n<link rel=\"icon\" "
      "href=\"data:,\">\n<title>{}</title>\n"
      "<style>{}</style>\n</head>\n<body>\n<main>\n{}"
      "<footer>Made by sluice from result files alone; every number on this page can be derived "
      "from them again.</footer>\n</main>\n</body>\n</html>\n",
      escape_html(title), page_style(), body);
}

std::string html(const std::vector<results::ResultFile>& files) {
  const Split split = split_files(files);
  const auto matrix = sections(split.matrix);
  const auto plain = sections(split.plain);
  const Section* first = !matrix.empty() ? &matrix.front()
                         : plain.empty() ? nullptr
                                         : &plain.front();
  std::string out;
  out += index_html(plain, matrix.size());
  if (!matrix.empty()) out += matrix_section(split.matrix, matrix);
  for (std::size_t i = 0; i < plain.size(); ++i)
    out += section_html(plain[i], suffix_of(matrix.size() + i));
  if (first == nullptr) out += "<h1>sluice</h1><p>No result file was given.</p>\n";
  return page_html(first == nullptr
                       ? "sluice"
                       : title(*first) + " · " + printable(first->head().machine_profile),
                   out);
}

}  // namespace sluice::report
