// sluice/analysis/peer_ratio.h - our speed over a peer's, from rows interleaved in one session.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"
#include "sluice/stats/sample.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::analysis {

using results::PeerRatio;

/// One per case and peer that both have at least two runs in common blocks. Runs of one block are a
/// pair: the geometric mean of their ratios, with the t interval of the logarithms.
std::vector<PeerRatio> peer_ratios(const results::ResultFile& file,
                                   const std::string& library = "sluice");

/// How many times faster `fast` is than `slow`, from their runs: in pairs of equal blocks when both
/// come from one session, otherwise as two samples. Nothing with fewer than two runs a side.
std::optional<stats::Estimate> row_ratio(const measure::Row& fast, const measure::Row& slow,
                                         bool same_session);

}  // namespace sluice::analysis
