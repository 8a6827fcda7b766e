// sluice/analysis/versus.h - one library against the fastest of the others, row by row and in sum.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"
#include "sluice/stats/sample.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::analysis {

using results::Standing;
using results::Versus;
using results::VersusSummary;

inline constexpr const char* kYardstick = "memcpy";

/// `rows` are those of all libraries of one session, in any order; cases in the order of the
/// library's own. The yardstick is no peer.
std::vector<Versus> versus_fastest(const std::vector<measure::Row>& rows,
                                   const std::string& library = "sluice");
VersusSummary summarise(const std::vector<Versus>& list, const std::vector<measure::Row>& rows,
                        const std::string& library = "sluice");

}  // namespace sluice::analysis
