// sluice/report/html/parts.h - the pieces of report.html; html.cpp puts them together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/report/matrix/matrix.h"
#include "sluice/report/sections.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::report {

/// Text for an element or a quoted attribute.
std::string escape_html(std::string_view text);

const char* page_style();  // the whole style sheet

// Tables (html_tables.cpp).
std::string results_table(const Section& section, const std::vector<Line>& lines,
                          const std::string& caption);
std::string summary_cards(const Section& section);

// Matrix (matrix_html.cpp).
/// `id` is the anchor of its heading.
std::string matrix_html(const MatrixTable& table, const std::string& id);
/// One card per main table: which library to take, and why.
std::string matrix_cards(const std::vector<MatrixTable>& tables);

// Plots (html_plots.cpp): inline SVG whose x coordinates are percentages, so that they follow the
// width of the page while dots stay round and text keeps its size.

/// What the bars of a table mean: this far to either side of the median, a fraction.
double interval_range(const std::vector<Line>& lines);
/// The 95 % interval of a row relative to its median, with a dot per run.
std::string interval_bar(const measure::Row& row, double range);
/// Bars from zero, one per library, for every case measured in several; empty without such cases.
std::string comparison(const Section& section);
/// Every sample of a row, one lane per run.
std::string distribution(const measure::Row& row);

}  // namespace sluice::report
