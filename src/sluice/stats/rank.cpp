// sluice/stats/rank.cpp - Hodges-Lehmann, Mann-Whitney and Theil-Sen.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/stats/rank.h"

#include "sluice/stats/distribution.h"
#include "sluice/stats/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace sluice::stats {
namespace {

constexpr std::size_t kExactLimit = 20;  // C(40, 20) is below 2^53: counts stay exact in double

Status require_pairs(double pairs, const char* what) {
  if (pairs <= static_cast<double>(kMaxPairs)) return ok;
  return Error{Errc::invalid_input,
               fmt::format("{}: {:.0f} pairs, at most {} are looked at; thin the sample", what,
                           pairs, kMaxPairs)};
}

// How often each value occurs, for values that occur more than once.
std::vector<double> tie_sizes(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::vector<double> sizes;
  for (std::size_t i = 0; i < values.size();) {
    std::size_t end = i;
    while (end < values.size() && values[end] == values[i])
      ++end;
    if (end - i > 1) sizes.push_back(static_cast<double>(end - i));
    i = end;
  }
  return sizes;
}

// P(U >= u) when all orders are equally likely, u in steps of 1. The number of orders with U = k is
// the coefficient of q^k in the Gaussian binomial (n_a + n_b choose n_a), built factor by factor.
double exact_upper_tail(std::size_t n_a, std::size_t n_b, double u) {
  std::vector<double> counts(n_a * n_b + 1, 0.0);
  counts[0] = 1;
  for (std::size_t i = 1; i <= n_a; ++i) {
    const std::size_t up = n_b + i;
    for (std::size_t k = counts.size(); k-- > up;)
      counts[k] -= counts[k - up];  // times (1 - q^up)
    for (std::size_t k = i; k < counts.size(); ++k)
      counts[k] += counts[k - i];  // over (1 - q^i)
  }
  double all = 0;
  double tail = 0;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    all += counts[k];
    if (static_cast<double>(k) >= u) tail += counts[k];
  }
  return tail / all;
}

}  // namespace

Result<double> hodges_lehmann(Sample values) {
  SLUICE_CHECK(require_sample(values, 1, "Hodges-Lehmann estimate"));
  const auto n = static_cast<double>(values.size());
  SLUICE_CHECK(require_pairs(n * (n + 1) / 2, "Hodges-Lehmann estimate"));
  std::vector<double> averages;
  averages.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i; j < values.size(); ++j) {
      averages.push_back(0.5 * values[i] + 0.5 * values[j]);
    }
  }
  return median(averages);
}

Result<double> hodges_lehmann(Sample a, Sample b) {
  SLUICE_CHECK(require_sample(a, 1, "Hodges-Lehmann shift"));
  SLUICE_CHECK(require_sample(b, 1, "Hodges-Lehmann shift"));
  SLUICE_CHECK(require_pairs(static_cast<double>(a.size()) * static_cast<double>(b.size()),
                             "Hodges-Lehmann shift"));
  std::vector<double> differences;
  differences.reserve(a.size() * b.size());
  for (const double x : a) {
    for (const double y : b)
      differences.push_back(x - y);
  }
  return median(differences);
}

Result<MannWhitney> mann_whitney(Sample a, Sample b, Alternative alternative) {
  SLUICE_CHECK(require_sample(a, 1, "Mann-Whitney test"));
  SLUICE_CHECK(require_sample(b, 1, "Mann-Whitney test"));
  std::vector<double> sorted_b(b.begin(), b.end());
  std::sort(sorted_b.begin(), sorted_b.end());
  MannWhitney test;
  for (const double x : a) {
    const auto [low, high] = std::equal_range(sorted_b.begin(), sorted_b.end(), x);
    test.u += static_cast<double>(low - sorted_b.begin()) + 0.5 * static_cast<double>(high - low);
  }
  const auto n_a = static_cast<double>(a.size());
  const auto n_b = static_cast<double>(b.size());
  const double other = n_a * n_b - test.u;
  const double u = alternative == Alternative::greater ? test.u
                   : alternative == Alternative::less  ? other
                                                       : std::max(test.u, other);
  const double sides = alternative == Alternative::two_sided ? 2 : 1;

  std::vector<double> pooled(a.begin(), a.end());
  pooled.insert(pooled.end(), b.begin(), b.end());
  const std::vector<double> ties = tie_sizes(std::move(pooled));
  if (ties.empty() && a.size() <= kExactLimit && b.size() <= kExactLimit) {
    test.exact = true;
    test.p = std::min(1.0, sides * exact_upper_tail(a.size(), b.size(), u));
    return test;
  }
  const double n = n_a + n_b;
  double correction = 0;
  for (const double size : ties)
    correction += size * size * size - size;
  const double variance = n_a * n_b / 12 * ((n + 1) - correction / (n * (n - 1)));
  if (!(variance > 1e-12 * n_a * n_b)) return test;  // all values equal: u is its mean, p stays 1
  SLUICE_TRY(const double tail, normal_sf((u - n_a * n_b / 2 - 0.5) / std::sqrt(variance)));
  test.p = std::min(1.0, sides * tail);
  return test;
}

Result<TheilSen> theil_sen(Sample x, Sample y, double confidence) {
  SLUICE_CHECK(require_fraction(confidence, "confidence"));
  SLUICE_CHECK(require_sample(x, 2, "Theil-Sen slope"));
  SLUICE_CHECK(require_sample(y, 2, "Theil-Sen slope"));
  if (x.size() != y.size()) {
    return Error{Errc::invalid_input,
                 fmt::format("Theil-Sen slope: {} x and {} y given, as many of both needed",
                             x.size(), y.size())};
  }
  const auto n = static_cast<double>(x.size());
  SLUICE_CHECK(require_pairs(n * (n - 1) / 2, "Theil-Sen slope"));
  std::vector<double> slopes;
  slopes.reserve(x.size() * (x.size() - 1) / 2);
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (x[i] != x[j]) slopes.push_back((y[i] - y[j]) / (x[i] - x[j]));
    }
  }
  if (slopes.empty()) {
    return Error{Errc::invalid_input,
                 "Theil-Sen slope: all values at the same x, at least two x needed"};
  }
  SLUICE_CHECK(require_sample(slopes, 1, "Theil-Sen slope"));
  std::sort(slopes.begin(), slopes.end());
  SLUICE_TRY(const double slope, median(slopes));
  SLUICE_TRY(const double middle_x, median(x));
  SLUICE_TRY(const double middle_y, median(y));

  const auto term = [](double k) { return k * (k - 1) * (2 * k + 5); };
  double variance = term(n);
  for (const double size : tie_sizes({x.begin(), x.end()}))
    variance -= term(size);
  for (const double size : tie_sizes({y.begin(), y.end()}))
    variance -= term(size);
  SLUICE_TRY(const double z, normal_quantile(0.5 + confidence / 2));
  const double half = z * std::sqrt(std::max(variance, 0.0) / 18);
  const auto count = static_cast<double>(slopes.size());
  const double low = std::max(std::nearbyint((count - half) / 2) - 1, 0.0);
  const double high = std::min(std::nearbyint((count + half) / 2), count - 1);
  return TheilSen{{slope, slopes[static_cast<std::size_t>(low)],
                   slopes[static_cast<std::size_t>(high)], confidence},
                  middle_y - slope * middle_x};
}

}  // namespace sluice::stats
