// sluice/visit/resumed.h - rows of an earlier visit to the same folder: which a wave goes on with,
// which it leaves alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/runner.h"
#include "sluice/results/result_file.h"

#include <vector>

namespace sluice::visit {

/// Rows of an earlier visit, in the order of `subjects`; a row that is not there yet is empty.
std::vector<measure::Row> rows_for(const std::vector<measure::SubjectSpec>& subjects,
                                   const results::ResultFile& file);

/// Rows of an earlier visit that are none of `subjects`.
std::vector<measure::Row> later_rows(const std::vector<measure::SubjectSpec>& subjects,
                                     const results::ResultFile& file);

}  // namespace sluice::visit
