// sluice/analysis/validate.h - is a result file what a result file must be, beyond its schema?
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/results/result_file.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::analysis {

/// What is wrong with one file. One line each; strings of the file went through printable().
struct FileCheck {
  std::string path;
  bool readable = true;  // false: not there, no permission, no JSON (cut off)
  std::size_t rows = 0;
  std::vector<std::string> issues;    // the numbers of this file must not be used as they are
  std::vector<std::string> warnings;  // they may, but a reader must know
};

struct Validation {
  std::vector<FileCheck> files;

  [[nodiscard]] bool readable() const;  // all of them
  [[nodiscard]] bool sound() const;     // all readable, and without issues
};

/// The limit on CPU time over wall time of a micro row on one thread.
inline constexpr double kSingleThreadCpuLimit = 1.05;

/// Rows there and once each; ok rows with samples, digest and as many runs as the configuration
/// asks for; micro rows on one thread in force and by CPU time; summaries as the samples give them;
/// runs of their own row, one per block; a reason where there is no number. A watched program shows
/// nobody its output: its rows have no digest, and a warning says what they are.
FileCheck validate(const results::ResultFile& file, const std::string& path);

/// Every result file at each of `paths`, and whether files of one session agree on what the session
/// is. A path that does not exist is a file that is not readable.
Validation validate_paths(const std::vector<std::filesystem::path>& paths);

/// Every file read and found sound, in order; an Error names the first that is not and why. What
/// compares, judges or draws files from elsewhere reads them here.
Result<std::vector<results::ResultFile>> read_sound(
    const std::vector<std::filesystem::path>& paths);

/// {sound, files: [{path, readable, sound, rows, issues, warnings}]}.
Json to_json(const Validation& validation);

}  // namespace sluice::analysis
