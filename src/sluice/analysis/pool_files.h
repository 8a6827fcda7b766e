// sluice/analysis/pool_files.h - runs of the matrix taken in several sessions as one table: "one
// run now, two more later".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"

#include <string>
#include <vector>

namespace sluice::analysis {

struct PooledFiles {
  std::vector<results::ResultFile> files;
  std::vector<std::string> notes;  // why files that measured the same were not pooled, a line each
};

/// Files of the matrix that differ in their session, their seed and the number of their runs alone
/// (one program, machine, data set and configuration, the same libraries) become one file: rows are
/// pooled as `compare` pools them (result_set.h) and summarised again. A row whose files disagree,
/// or hold several versions of its library, keeps its files apart. All other files stay as they
/// are.
PooledFiles pool_files(std::vector<results::ResultFile> files);

}  // namespace sluice::analysis
