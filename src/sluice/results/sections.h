// sluice/results/sections.h - the three objects of a result file that hold conclusions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/keys.h"
#include "sluice/results/result_file.h"

namespace sluice::results {

/// Kinds of files share them, so a struct names its keys in each: `void keys_of(Sections&, T&)`.
struct Sections {
  Keys metrics, verdict, summary;

  [[nodiscard]] bool writing() const { return summary.writing(); }
};

/// All conclusions of the file.
void keys_of(Sections& sections, ResultFile& file);

void write_sections(Json& json, const ResultFile& file);
void read_sections(const Json& json, Problem& problem, ResultFile& file);

}  // namespace sluice::results
