// sluice/stats/usl.h - the universal scalability law: what more workers bring.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/stats/sample.h"

#include <optional>

namespace sluice::stats {

/// X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)), Gunther (1993).
struct Usl {
  double lambda = 0;  // rate of one worker
  double sigma = 0;   // share of the work that only one can do at a time, not below 0
  double kappa = 0;   // what they cost each other, not below 0
  double error = 0;   // root mean square of (measured - fitted) / fitted
  /// Where the curve is highest: sqrt((1 - sigma) / kappa); absent when it never falls.
  std::optional<double> peak;

  [[nodiscard]] double at(double workers) const {
    return lambda * workers / (1 + sigma * (workers - 1) + kappa * workers * (workers - 1));
  }
};

/// Least squares of the relative errors of N / X. At least 3 different worker counts, all counts
/// and rates above 0, equal lengths.
Result<Usl> fit_usl(Sample workers, Sample rates);

}  // namespace sluice::stats
