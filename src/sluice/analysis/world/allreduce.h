// sluice/analysis/world/allreduce.h - the row of `bench allreduce` as rows by size, and these as
// times and bandwidths.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/record.h"
#include "sluice/results/summaries.h"

#include <optional>
#include <vector>

namespace sluice::analysis {

/// One row for each size, with the samples that the worker took of it; the row itself where it was
/// not measured.
std::vector<measure::Row> rows_by_size(const measure::Row& ladder, double unstable_cv);

/// Of such rows. Nothing where none was measured.
std::optional<results::AllreduceSummary> allreduce_summary(const std::vector<measure::Row>& rows);

/// What a perfect ring of `ranks` sends over each link, of the bytes that are added up.
double ring_share(double ranks);

}  // namespace sluice::analysis
