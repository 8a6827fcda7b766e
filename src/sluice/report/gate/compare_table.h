// sluice/report/gate/compare_table.h - a comparison as a terminal shows it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/compare/comparison.h"
#include "sluice/report/report.h"

#include <string>

namespace sluice::report {

/// Warnings, the judged rows as an aligned table, the others with their reasons, the canary, and
/// one summary line. Case names give way when the table is wider than `options.width`.
std::string compare_table(const gate::Comparison& comparison, const TextOptions& options = {});

}  // namespace sluice::report
