// sluice/stats/shares.cpp - Pearson's chi-square, by its distribution or by drawing.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/stats/shares.h"

#include "sluice/core/rng.h"
#include "sluice/stats/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace sluice::stats {
namespace {

constexpr double kLeastExpected = 5;        // below, chi-square is no good approximation
constexpr double kMostDraws = 100'000'000;  // of all simulations together

double pearson(std::span<const std::uint64_t> counts, const std::vector<double>& expected) {
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (expected[i] <= 0) continue;
    const double off = static_cast<double>(counts[i]) - expected[i];
    sum += off * off / expected[i];
  }
  return sum;
}

double simulated_p(std::uint64_t total, const std::vector<double>& expected, double observed,
                   const ShareTestOptions& options) {
  std::vector<double> so_far(expected.size());
  std::partial_sum(expected.begin(), expected.end(), so_far.begin());
  const auto draws = static_cast<double>(total);
  const int runs = static_cast<int>(
      std::clamp(kMostDraws / draws, 99.0, static_cast<double>(options.simulations)));
  int hits = 0;
  std::vector<std::uint64_t> counts(expected.size());
  for (int run = 0; run < runs; ++run) {
    Rng rng({.seed = options.seed, .index = static_cast<std::uint64_t>(run)});
    std::fill(counts.begin(), counts.end(), 0);
    for (std::uint64_t i = 0; i < total; ++i) {
      const auto at = std::upper_bound(so_far.begin(), so_far.end(), rng.uniform() * so_far.back());
      ++counts[std::min(static_cast<std::size_t>(at - so_far.begin()), counts.size() - 1)];
    }
    if (pearson(counts, expected) >= observed * (1 - 1e-12)) ++hits;
  }
  return (1.0 + hits) / (1.0 + runs);
}

Status check(std::span<const std::uint64_t> counts, Sample shares) {
  SLUICE_CHECK(require_sample(shares, 1, "test of shares"));
  if (counts.size() != shares.size()) {
    return Error{Errc::invalid_input,
                 fmt::format("test of shares: {} counts and {} shares, as many of both are needed",
                             counts.size(), shares.size())};
  }
  for (const double share : shares)
    if (share < 0)
      return Error{Errc::invalid_input,
                   fmt::format("test of shares: a share is {}, at least 0 is accepted", share)};
  return ok;
}

}  // namespace

Result<ShareTest> share_test(std::span<const std::uint64_t> counts, Sample shares,
                             const ShareTestOptions& options) {
  SLUICE_CHECK(check(counts, shares));
  const std::uint64_t total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  SLUICE_CHECK(require_finite(sum, "test of shares"));
  if (total == 0 || !(sum > 0))
    return Error{Errc::invalid_input, "test of shares: all counts or all shares are 0"};
  const auto n = static_cast<double>(total);
  ShareTest test;
  std::vector<double> expected;
  bool impossible = false;
  double least = n;
  int kinds = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double share = shares[i] / sum;
    expected.push_back(share * n);
    const double off = static_cast<double>(counts[i]) / n - share;
    if (std::fabs(off) > std::fabs(test.largest)) {
      test.largest = off;
      test.index = i;
    }
    if (share > 0) {
      ++kinds;
      least = std::min(least, expected.back());
    } else if (counts[i] > 0) {
      impossible = true;
    }
  }
  test.chi_square = pearson(counts, expected);
  if (impossible) {
    test.p = 0;
  } else if (kinds < 2) {
    test.p = 1;
  } else if (least < kLeastExpected) {
    test.simulated = true;
    test.p = simulated_p(total, expected, test.chi_square, options);
  } else {
    SLUICE_TRY(test.p, chi_square_sf(test.chi_square, kinds - 1));
  }
  return test;
}

}  // namespace sluice::stats
