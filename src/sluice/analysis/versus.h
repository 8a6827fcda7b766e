// sluice/analysis/versus.h - one library against the fastest of the others, row by row and in sum.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"
#include "sluice/stats/sample.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::analysis {

/// A win: the 95 % interval of the ratio lies above 1. A tie: it contains 1, or the ratio is at
/// least 0.97. Alone: nobody else has an ok row.
enum class Standing { win, tie, loss, alone };
const char* to_string(Standing standing);

struct Versus {
  std::string case_name;
  double rate = 0;   // of the library
  std::string peer;  // the fastest of the others; empty when alone
  double peer_rate = 0;
  std::optional<stats::Estimate> ratio;      // above 1: the library is faster
  std::optional<stats::Estimate> of_memcpy;  // share of the rate of the yardstick row
  double bytes_per_item = 0;
  Standing standing = Standing::alone;
  bool comparable = true;  // false: the peer is known to compute something else
};

struct VersusSummary {
  int rows = 0;  // ok rows of the library
  int wins = 0, ties = 0, losses = 0, alone = 0;
  std::optional<stats::Estimate> geomean;  // of the ratios; the interval is that between rows
  std::string slowest_case;                // of the smallest ratio
  double slowest_ratio = 0;
  std::vector<std::string> failed;  // cases of the library that are not ok
};

inline constexpr const char* kYardstick = "memcpy";

/// `rows` are those of all libraries of one session, in any order; cases in the order of the
/// library's own. The yardstick is no peer.
std::vector<Versus> versus_fastest(const std::vector<measure::Row>& rows,
                                   const std::string& library = "sluice");
VersusSummary summarise(const std::vector<Versus>& list, const std::vector<measure::Row>& rows,
                        const std::string& library = "sluice");

Json to_json(const Versus& one);
/// {"rows", "wins", "ties", "losses", "alone", "geomean_ratio", "geomean_ci95", ...}.
Json to_json(const VersusSummary& summary);

}  // namespace sluice::analysis
