// sluice/gate/compare/compare.h - two sets of results in, one comparison out; computes, never
// prints.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/analysis/result_set.h"
#include "sluice/gate/compare/comparison.h"

namespace sluice::gate {

/// Rows are matched by case, library and parameters. A matched row that is ok on both sides with at
/// least `min_runs` runs is judged: one value per fresh process (its items over its elapsed time;
/// samples of one process are autocorrelated and never tested), Welch's t test on the logarithms,
/// Holm over the judged rows. It is a regression when the adjusted p is below alpha and the loss is
/// over the threshold. A row of base that candidate lacks fails, unless `allow_missing`. Everything
/// else is listed with its reason. An error only for options out of range or a set without files.
Result<Comparison> compare(const analysis::ResultSet& base, const analysis::ResultSet& candidate,
                           const CompareOptions& options = {});
Result<Comparison> compare(const results::ResultFile& base, const results::ResultFile& candidate,
                           const CompareOptions& options = {});
/// Each path a result file or a run folder.
Result<Comparison> compare_paths(const std::filesystem::path& base,
                                 const std::filesystem::path& candidate,
                                 const CompareOptions& options = {});

}  // namespace sluice::gate
