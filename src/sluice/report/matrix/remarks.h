// sluice/report/matrix/remarks.h - what stands below a matrix table. Not for other rooms.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/report/matrix/matrix.h"

#include <string>
#include <vector>

namespace sluice::report {

/// The column that a row stands in: two builds of one library share one.
std::string column_of(const measure::Row& row);

/// Of a table whose lines are in place: rows without a number, grouped.
std::vector<Reason> reasons_of(const MatrixTable& table);
/// Which build of a shared column counts, several sessions or datasets in one table, transforms
/// without rows, and where the fastest library is not the published one.
std::vector<std::string> remarks_on(const MatrixTable& table);

}  // namespace sluice::report
