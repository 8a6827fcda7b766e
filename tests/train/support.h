// tests/train/support.h - random tensors, poisoned outputs, distances, numeric gradients.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/rng.h"
#include "sluice/image/simd.h"
#include "sluice/train/bf16.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace sluice::train::testing {

inline double as_double(double value) {
  return value;
}
inline double as_double(Bf16 value) {
  return to_float(value);
}

/// double and float by a cast, Bf16 rounded.
template <class T>
T from_double(double value) {
  if constexpr (std::same_as<T, Bf16>)
    return to_bf16(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

/// The same values in another type.
template <class To, class From>
std::vector<To> converted(const std::vector<From>& values) {
  std::vector<To> made;
  made.reserve(values.size());
  for (const From& value : values)
    made.push_back(from_double<To>(as_double(value)));
  return made;
}

/// What a test draws: the same for a seed everywhere.
class Draws : public Rng {
 public:
  explicit Draws(std::uint64_t seed) : Rng({.seed = seed, .index = 7007}) {}

  /// Within [low, high].
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low + 1)));
  }
  template <class T>
  std::vector<T> normals(std::int64_t count, double deviation = 1, double mean = 0) {
    std::vector<T> made(static_cast<std::size_t>(count));
    for (T& value : made)
      value = from_double<T>(mean + deviation * normal());
    return made;
  }
};

/// All NaN: what a kernel forgets to write, or reads before it wrote, is seen.
template <class T>
std::vector<T> poisoned(std::int64_t count) {
  return std::vector<T>(static_cast<std::size_t>(count),
                        from_double<T>(std::numeric_limits<double>::quiet_NaN()));
}

template <class T>
std::vector<T> slice(const std::vector<T>& values, std::int64_t begin, std::int64_t end) {
  return {values.begin() + begin, values.begin() + end};
}

/// Whether all elements but [begin, end) are still NaN.
template <class T>
bool poisoned_outside(const std::vector<T>& values, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(values.size()); ++i)
    if ((i < begin || i >= end) && !std::isnan(as_double(values[static_cast<std::size_t>(i)])))
      return false;
  return true;
}

/// ‖got − want‖ / ‖want‖; infinite where either holds what is not finite or sizes differ.
template <class A, class B>
double relative_error(const std::vector<A>& got, const std::vector<B>& want) {
  if (got.size() != want.size()) return std::numeric_limits<double>::infinity();
  double off = 0, norm = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double difference = as_double(got[i]) - as_double(want[i]);
    off += difference * difference;
    norm += as_double(want[i]) * as_double(want[i]);
  }
  if (!std::isfinite(off) || !std::isfinite(norm)) return std::numeric_limits<double>::infinity();
  if (off == 0) return 0;
  return std::sqrt(off / std::max(norm, std::numeric_limits<double>::min()));
}

/// Bf16 stored once from the right value: each element within `steps` roundings (2⁻⁸ of it), or
/// within `floor` where terms cancel. Returns the first that is not, or "".
template <class B>
std::string beyond_bf16(const std::vector<Bf16>& got, const std::vector<B>& want, double steps = 1,
                        double floor = 1e-6) {
  if (got.size() != want.size()) return "sizes differ";
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double a = as_double(got[i]), b = as_double(want[i]);
    if (!(std::abs(a - b) <= steps * std::abs(b) / 256 + floor))
      return "[" + std::to_string(i) + "] is " + std::to_string(a) + ", not " + std::to_string(b);
  }
  return "";
}

/// float: relative norm 1e-5 (or `tolerance`); Bf16: within its rounding, element by element.
template <class A, class B>
void expect_close(const std::vector<A>& got, const std::vector<B>& want, const std::string& what,
                  double tolerance = 1e-5) {
  if constexpr (std::same_as<A, Bf16>)
    EXPECT_EQ(beyond_bf16(got, want), "") << what;
  else
    EXPECT_LE(relative_error(got, want), tolerance) << what;
}

/// ∂f/∂x by central differences; f(x) takes the vector by reference and must not keep it.
template <class F>
std::vector<double> numeric_gradient(F f, std::vector<double> x, double step = 1e-5) {
  std::vector<double> gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + step;
    const double above = f(x);
    x[i] = at - step;
    const double below = f(x);
    x[i] = at;
    gradient[i] = (above - below) / (2 * step);
  }
  return gradient;
}

/// Σ a·b: turns an output and random weights into the scalar that numeric_gradient() wants.
inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

/// body() once on every instruction set of this machine. The test links room image.
template <class Body>
void on_every_target(Body body) {
  for (const std::string& target : image::simd_targets()) {
    SCOPED_TRACE(target);
    const image::SimdTargetOverride use(target);
    body();
  }
}

}  // namespace sluice::train::testing
