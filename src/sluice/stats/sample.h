// sluice/stats/sample.h - what every function here demands of its input; Estimate.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <cstddef>
#include <span>
#include <string_view>

namespace sluice::stats {

/// Values in the order they were measured. No function of this room keeps the span.
using Sample = std::span<const double>;

/// A number with a two-sided interval that covers the true value in `confidence` of repetitions.
struct Estimate {
  double point = 0;
  double low = 0;
  double high = 0;
  double confidence = 0.95;
};

/// Which difference counts as evidence; the names and directions are SciPy's: `less` asks whether
/// the first sample is smaller than the second (or, with one sample, smaller than zero).
enum class Alternative { two_sided, less, greater };
const char* to_string(Alternative alternative);

/// The contract of the room in one place: at least `minimum` values, all finite. The error names
/// `what` was to be computed and the first value that is not a number, by index.
Status require_sample(Sample values, std::size_t minimum, std::string_view what);
/// 0 < value < 1; for confidence, alpha and power.
Status require_fraction(double value, std::string_view name);
/// `value` unless it left the range of double on the way (then the error says so): no NaN leaves
/// the room.
Result<double> require_finite(double value, std::string_view what);

}  // namespace sluice::stats
