// sluice/report/html/parts.h - the pieces of report.html; html.cpp puts them together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/report/html/answer.h"
#include "sluice/report/matrix/matrix.h"
#include "sluice/report/sections.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::report {

/// Text for an element or a quoted attribute.
std::string escape_html(std::string_view text);

const char* page_style();  // the whole style sheet

/// A whole page around `body`: nothing on it may run or be fetched. `title`: plain text.
std::string page_html(const std::string& title, const std::string& body);

/// The same with text between backquotes as code.
std::string prose_html(std::string_view text);

// What a page opens with (card.cpp).
std::string answer_card(const Answer& answer);
/// One line, or a box with advice where the machine was not quiet.
std::string noise_html(const Section& section);

// Tables (tables.cpp).
std::string results_table(const Section& section, const std::vector<Line>& lines,
                          const std::string& caption);
std::string summary_cards(const Section& section);

// What commands concluded (conclusions.cpp): stages, checks, findings and sweeps of a file, a table
// each under a heading of its own; empty without any.
std::string conclusion_tables(const results::ResultFile& file);
/// The figures of a file by name, and what it says in sentences; empty without any.
std::string figures_html(const results::ResultFile& file);

// Matrix (matrix/html.cpp).
/// `id` is the anchor of its heading.
std::string matrix_html(const MatrixTable& table, const std::string& id);
/// One card per main table: which library to take, and why.
std::string matrix_cards(const std::vector<MatrixTable>& tables);

// Plots: inline SVG whose x coordinates are percentages, so that they follow the width of the page
// while dots stay round and text keeps its size.

/// What the bars of a table mean: this far to either side of the median, a fraction.
double interval_range(const std::vector<Line>& lines);
/// The 95 % interval of a row relative to its median, with a dot per run.
std::string interval_bar(const measure::Row& row, double range);
/// Bars from zero, one per library, for every case measured in several; empty without such cases.
std::string comparison(const Section& section);
/// Every sample of a row, one lane per run.
std::string distribution(const measure::Row& row);

/// One line of a bar chart.
struct Bar {
  std::string name;   // plain text
  double value = 0;   // its length, at least 0
  std::string label;  // the number with its unit, plain text
  std::optional<stats::Estimate> interval;
  double waiting = 0;  // this share of the bar, at its end, is drawn as waiting
  bool best = false;
};
/// A vertical line through all bars.
struct BarMark {
  double value = 0;
  std::string label;
};
/// Bars from zero below each other; empty without any (bars.cpp).
std::string bar_chart(const std::string& title, const std::string& note,
                      const std::vector<Bar>& bars, const std::optional<BarMark>& mark = {});
/// Ratios on a logarithmic axis, a dot each; empty with fewer than two.
std::string ratio_strip(const std::string& title, const std::vector<results::Versus>& list);

/// The pictures of a file, by kind (pictures.cpp); empty where it has none.
std::string pictures_html(const results::ResultFile& file);
/// The pictures of a matrix table.
std::string matrix_pictures(const MatrixTable& table);

/// Shares of worker time as lanes, beside each what the stage alone would allow (lanes.cpp).
std::string stage_lanes(const std::vector<results::StageShare>& stages);
std::string cpu_lanes(const std::vector<results::StageCpu>& stages);
/// Anonymous memory over the epochs of our loader, a line per timed sample.
std::string memory_lines(const results::ResultFile& file);
/// The memory of a training of ours over its steps, a line per process.
std::string step_memory_lines(const results::ResultFile& file);
/// Cores, memory and GPU over time (resources.cpp); empty where nothing was watched.
std::string resources_html(const std::string& title, const results::ResourceUse& use);
/// Targets or indicators, a lane each; empty without any (checks.cpp).
std::string check_lanes(const std::string& title, const std::vector<results::Check>& checks);
/// The phases of a step in one bar (step_plots.cpp).
std::string phase_stack(const results::TrainingPhases& phases);
/// What took longest in the profile of a step: kernels of a GPU, else ops; empty without one.
std::string work_bars(const results::TrainingSummary& summary);
/// Loader and step alone and together, the ideal marked.
std::string step_bars(const results::Attribution& found);

}  // namespace sluice::report
