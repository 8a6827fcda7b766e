// sluice/stats/sample.cpp - input checks shared by the room.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/stats/sample.h"

#include <fmt/format.h>

#include <cmath>

namespace sluice::stats {

const char* to_string(Alternative alternative) {
  switch (alternative) {
    case Alternative::two_sided:
      return "two-sided";
    case Alternative::less:
      return "less";
    case Alternative::greater:
      return "greater";
  }
  return "unknown";
}

Status require_sample(Sample values, std::size_t minimum, std::string_view what) {
  if (values.size() < minimum) {
    return Error{Errc::invalid_input, fmt::format("{}: {} values given, at least {} needed", what,
                                                  values.size(), minimum)};
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      return Error{Errc::invalid_input, fmt::format("{}: value {} is {}, only finite numbers count",
                                                    what, i, values[i])};
    }
  }
  return ok;
}

Status require_fraction(double value, std::string_view name) {
  if (value > 0 && value < 1) return ok;
  return Error{Errc::invalid_input,
               fmt::format("{}: {} given, a number between 0 and 1 needed", name, value)};
}

Result<double> require_finite(double value, std::string_view what) {
  if (std::isfinite(value)) return value;
  return Error{Errc::invalid_input, fmt::format("{}: the values exceed the range of double", what)};
}

}  // namespace sluice::stats
