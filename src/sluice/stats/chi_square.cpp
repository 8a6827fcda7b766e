// sluice/stats/chi_square.cpp - the upper tail of chi-square from the incomplete gamma function.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/stats/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice::stats {
namespace {

constexpr double kPrecision = 1e-15;
constexpr double kNearZero = 1e-300;

/// P(a, x) by its series; converges fast for x < a + 1.
double lower_series(double a, double x) {
  double term = 1 / a;
  double sum = term;
  for (double n = a + 1; term > sum * kPrecision; ++n) {
    term *= x / n;
    sum += term;
  }
  return sum * std::exp(a * std::log(x) - x - std::lgamma(a));
}

/// Q(a, x) by its continued fraction (Lentz); converges fast for x > a + 1.
double upper_fraction(double a, double x) {
  double b = x + 1 - a;
  double c = 1 / kNearZero;
  double d = 1 / b;
  double product = d;
  for (double i = 1; i < 1e6; ++i) {
    const double numerator = i * (a - i);
    b += 2;
    d = 1 / std::copysign(std::max(std::fabs(numerator * d + b), kNearZero), numerator * d + b);
    c = b + numerator / c;
    if (std::fabs(c) < kNearZero) c = kNearZero;
    product *= c * d;
    if (std::fabs(c * d - 1) < kPrecision) break;
  }
  return product * std::exp(a * std::log(x) - x - std::lgamma(a));
}

}  // namespace

Result<double> chi_square_sf(double x, double df) {
  if (!(df > 0) || !std::isfinite(df)) {
    return Error{
        Errc::invalid_input,
        fmt::format("chi-square: df {} asked for, a finite number above 0 is accepted", df)};
  }
  if (!(x >= 0)) {
    return Error{Errc::invalid_input,
                 fmt::format("chi-square: x {} asked for, at least 0 is accepted", x)};
  }
  if (x <= 0) return 1.0;
  if (std::isinf(x)) return 0.0;
  const double a = df / 2;
  return x / 2 < a + 1 ? 1 - lower_series(a, x / 2) : upper_fraction(a, x / 2);
}

}  // namespace sluice::stats
