// sluice/stats/multiplicity.cpp - Holm and Benjamini-Hochberg adjustment.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/stats/multiplicity.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace sluice::stats {
namespace {

// Indices of `p_values` from the smallest p to the largest.
Result<std::vector<std::size_t>> ascending(Sample p_values, const char* what) {
  SLUICE_CHECK(require_sample(p_values, 0, what));
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    if (p_values[i] < 0 || p_values[i] > 1) {
      return Error{Errc::invalid_input,
                   fmt::format("{}: p value {} is {}, 0 to 1 accepted", what, i, p_values[i])};
    }
  }
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  return order;
}

}  // namespace

Result<std::vector<double>> holm(Sample p_values) {
  SLUICE_TRY(const auto order, ascending(p_values, "Holm adjustment"));
  std::vector<double> adjusted(p_values.size());
  double running = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const auto remaining = static_cast<double>(order.size() - rank);
    running = std::max(running, std::min(1.0, remaining * p_values[order[rank]]));
    adjusted[order[rank]] = running;
  }
  return adjusted;
}

Result<std::vector<double>> benjamini_hochberg(Sample p_values) {
  SLUICE_TRY(const auto order, ascending(p_values, "Benjamini-Hochberg adjustment"));
  std::vector<double> adjusted(p_values.size());
  const auto n = static_cast<double>(order.size());
  double running = 1;
  for (std::size_t rank = order.size(); rank-- > 0;) {
    running = std::min(running, n / static_cast<double>(rank + 1) * p_values[order[rank]]);
    adjusted[order[rank]] = running;
  }
  return adjusted;
}

}  // namespace sluice::stats
