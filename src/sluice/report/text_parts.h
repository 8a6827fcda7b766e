// sluice/report/text_parts.h - the pieces of the terminal report; text_table.cpp puts them
// together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/report/matrix/matrix.h"
#include "sluice/report/report.h"
#include "sluice/report/sections.h"

#include <cstddef>
#include <string>
#include <vector>

namespace sluice::report {

inline constexpr std::size_t kColumnGap = 2;  // spaces between two columns

std::string padded(const std::string& text, std::size_t width, bool right);
/// Words of `text` in lines of at most `width` columns, each after `indent` spaces.
std::string wrapped(const std::string& text, std::size_t width, std::size_t indent);
std::string without_trailing_space(std::string text);
/// Rows of equal length, a line each; `right` says which columns end flush.
std::string aligned(const std::vector<std::vector<std::string>>& rows,
                    const std::vector<bool>& right);

/// Cases of ours beside other libraries, a line each: our rate and how many times as fast it is as
/// each of them; why rows have no number. Empty when `lines` are ours alone.
std::string beside_text(const std::vector<Line>& lines, const TextOptions& options);

/// A matrix table with what stands below it; the columns go below each other when they do not fit.
std::string matrix_text(const MatrixTable& table, const TextOptions& options);

}  // namespace sluice::report
