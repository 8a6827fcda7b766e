// sluice/stats/distribution.cpp - normal and Student t from erfc and the incomplete beta function.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/stats/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice::stats {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kSqrt2 = 1.41421356237309504880;
constexpr double kLogSqrt2Pi = 0.91893853320467274178;
constexpr double kEps = std::numeric_limits<double>::epsilon();

Error bad(const char* what, const char* name, double value, const char* accepted) {
  return Error{Errc::invalid_input,
               fmt::format("{}: {} is {}, {} accepted", what, name, value, accepted)};
}

// What Stirling's formula leaves out of log gamma(z); z >= 10.
double stirling_rest(double z) {
  const double w = 1 / (z * z);
  return (1.0 / 12 -
          w * (1.0 / 360 -
               w * (1.0 / 1260 - w * (1.0 / 1680 - w * (1.0 / 1188 - w * 691 / 360360))))) /
         z;
}

// log B(a, b). With one argument large the difference of two log gammas would cancel, so it is
// expanded.
double log_beta(double a, double b) {
  if (a < b) std::swap(a, b);
  if (a < 10) return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
  const double ratio = stirling_rest(a) - stirling_rest(a + b) - (a - 0.5) * std::log1p(b / a) -
                       b * std::log(a + b) + b;  // log gamma(a) - log gamma(a + b)
  if (b < 10) return ratio + std::lgamma(b);
  return ratio + (b - 0.5) * std::log(b) - b + kLogSqrt2Pi + stirling_rest(b);
}

// The continued fraction of I_x(a, b) by the modified Lentz algorithm; converges fast for x <
// (a+1)/(a+b+2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiniest = 1e-300;
  constexpr int kMaxTerms = 200'000;
  const auto away_from_zero = [](double v) { return std::abs(v) < kTiniest ? kTiniest : v; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double h = d;
  for (int m = 1; m < kMaxTerms; ++m) {
    const double k = m;
    const double even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    h *= d * c;
    const double odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    const double change = d * c;
    h *= change;
    if (std::abs(change - 1) < 2 * kEps) break;
  }
  return h;
}

// I_x(a, b) with y = 1 - x and both logarithms given, so that neither end loses digits.
double beta_from_parts(double a, double b, double x, double y, double log_x, double log_y) {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  const double log_front = a * log_x + b * log_y - log_beta(a, b);
  if (x < (a + 1) / (a + b + 2)) return std::exp(log_front) * beta_fraction(a, b, x) / a;
  return 1 - std::exp(log_front) * beta_fraction(b, a, y) / b;
}

double lower_normal(double x) {
  return 0.5 * std::erfc(-x / kSqrt2);
}

// P(T > t) for t >= 0.
double upper_t(double t, double df) {
  if (std::isinf(t)) return 0;
  if (std::isinf(df)) return lower_normal(-t);
  const double r = t / df * t;  // t^2 / df
  if (std::isinf(r)) {          // x = 1 / (1 + r) underflows: leading term of the tail
    const double log_x = std::log(df) - 2 * std::log(t);
    return 0.5 * std::exp(0.5 * df * log_x - log_beta(df / 2, 0.5)) * 2 / df;
  }
  const double log1p_r = std::log1p(r);
  const double log_y = r > 0 ? std::log(r) - log1p_r : -std::numeric_limits<double>::infinity();
  return 0.5 * beta_from_parts(df / 2, 0.5, 1 / (1 + r), r / (1 + r), -log1p_r, log_y);
}

double log_t_density(double t, double df) {
  return -0.5 * (df + 1) * std::log1p(t / df * t) - log_beta(df / 2, 0.5) - 0.5 * std::log(df);
}

// x >= 0 with P(X > x) = q, q in (0, 0.5]. Start: Abramowitz & Stegun 26.2.23 (error below 4.5e-4);
// each Halley step triples the correct digits.
double upper_normal_quantile(double q) {
  const double w = std::sqrt(-2 * std::log(q));
  double x = w - (2.515517 + w * (0.802853 + w * 0.010328)) /
                     (1 + w * (1.432788 + w * (0.189269 + w * 0.001308)));
  for (int i = 0; i < 3; ++i) {
    // (sf(x) - q) / density(x), with the density divided out before it can underflow.
    const double error = lower_normal(-x) - q;
    const double u = error == 0 ? 0 : error * std::exp(0.5 * x * x + kLogSqrt2Pi);
    x += u / (1 - 0.5 * x * u);
  }
  return std::max(x, 0.0);
}

// t > 0 with P(T > t) = q, q in (0, 0.5). Newton on log q, which is nearly straight in log t, kept
// inside a bracket.
double upper_t_quantile(double q, double df) {
  const double z = upper_normal_quantile(q);
  double t = std::max(z * (1 + (z * z + 1) / (4 * df)), 1e-300);  // first Cornish-Fisher term
  double low = 0;
  double high = t;
  while (upper_t(high, df) > q && high < 1e300) {
    low = high;
    high *= 2;
  }
  t = std::clamp(t, low, high);
  for (int i = 0; i < 200; ++i) {
    const double tail = upper_t(t, df);
    (tail > q ? low : high) = t;
    const double slope = -std::exp(log_t_density(t, df)) / tail;  // d log(tail) / dt
    double next = t - (std::log(tail) - std::log(q)) / slope;
    if (!(next > low && next < high))
      next = low > 0 && high > 4 * low ? std::sqrt(low) * std::sqrt(high) : 0.5 * (low + high);
    const bool done = std::abs(next - t) <= 2 * kEps * t;
    t = next;
    if (done) break;
  }
  return t;
}

}  // namespace

Result<double> normal_cdf(double x) {
  if (std::isnan(x)) return bad("normal distribution", "x", x, "a number is");
  return lower_normal(x);
}

Result<double> normal_sf(double x) {
  if (std::isnan(x)) return bad("normal distribution", "x", x, "a number is");
  return lower_normal(-x);
}

Result<double> normal_quantile(double p) {
  if (!(p > 0 && p < 1)) return bad("normal quantile", "p", p, "0 < p < 1 is");
  if (p == 0.5) return 0.0;
  return p < 0.5 ? -upper_normal_quantile(p) : upper_normal_quantile(1 - p);
}

Result<double> student_t_sf(double t, double df) {
  if (std::isnan(t)) return bad("Student t", "t", t, "a number is");
  if (!(df > 0)) return bad("Student t", "df", df, "a number above 0 is");
  return t >= 0 ? upper_t(t, df) : 1 - upper_t(-t, df);
}

Result<double> student_t_cdf(double t, double df) {
  return student_t_sf(-t, df);
}

Result<double> student_t_quantile(double p, double df) {
  if (!(p > 0 && p < 1)) return bad("Student t quantile", "p", p, "0 < p < 1 is");
  if (!(df > 0)) return bad("Student t quantile", "df", df, "a number above 0 is");
  if (std::isinf(df)) return normal_quantile(p);
  if (p == 0.5) return 0.0;
  const double q = std::min(p, 1 - p);
  const double t = df == 1 ? 1 / std::tan(kPi * q) : upper_t_quantile(q, df);  // df 1: Cauchy
  return p < 0.5 ? -t : t;
}

Result<double> incomplete_beta(double a, double b, double x) {
  if (!(a > 0) || std::isinf(a))
    return bad("incomplete beta", "a", a, "a finite number above 0 is");
  if (!(b > 0) || std::isinf(b))
    return bad("incomplete beta", "b", b, "a finite number above 0 is");
  if (!(x >= 0 && x <= 1)) return bad("incomplete beta", "x", x, "0 to 1 is");
  return beta_from_parts(a, b, x, 1 - x, std::log(x), std::log1p(-x));
}

}  // namespace sluice::stats
