// sluice/scenario/tolerance.h - is the output of a fast path as near to its reference as its record
// says?
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/transform.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace sluice::scenario {

/// Precondition: both are contiguous and of one shape. `name` is what the error calls the output.
template <image::Sample T>
Status within_tolerance(std::string_view name, image::ImageView<T> output,
                        image::ImageView<T> reference, const aug::Tolerance& allowed) {
  constexpr double kRounding = 1e-9;  // of comparing in double
  std::size_t beyond = 0;
  double worst = 0;
  for (std::size_t k = 0; k < reference.samples(); ++k) {
    const double off =
        std::abs(static_cast<double>(reference.data()[k]) - static_cast<double>(output.data()[k]));
    if (off <= allowed.max + kRounding) continue;  // not a number is not
    ++beyond;
    worst = std::max(worst, off);
  }
  if (static_cast<double>(beyond) <= allowed.outliers * static_cast<double>(reference.samples()))
    return ok;
  return Error{
      Errc::measurement,
      fmt::format("{}: {} of {} samples are up to {:g} from the reference, {:g} is allowed", name,
                  beyond, reference.samples(), worst, allowed.max)};
}

}  // namespace sluice::scenario
