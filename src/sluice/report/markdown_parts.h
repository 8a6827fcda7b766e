// sluice/report/markdown_parts.h - the pieces of report.md; markdown.cpp puts them together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/report/matrix/matrix.h"
#include "sluice/report/sections.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::report {

/// Text with everything that Markdown or HTML would act on made literal.
std::string escape_markdown(std::string_view text);

/// Text as a block of code, whatever it holds: names in it come from files of others, and one that
/// is a fence must not end the block.
std::string fenced(const std::string& text, std::string_view language = "");

/// Heading, table, legend, notes, reasons and remarks.
std::string matrix_markdown(const MatrixTable& table);

}  // namespace sluice::report
