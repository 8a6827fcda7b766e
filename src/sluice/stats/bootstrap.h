// sluice/stats/bootstrap.h - intervals of any statistic by resampling, seeded.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/stats/sample.h"

#include <cstdint>
#include <functional>
#include <optional>

namespace sluice::stats {

using Statistic = std::function<double(Sample)>;

/// What a larger value costs: `draws` calls of the statistic on a sample of the original size.
struct BootstrapOptions {
  double confidence = 0.95;
  int draws = 2000;        // at least 100
  std::uint64_t seed = 0;  // the same seed gives the same interval on every machine
};

/// Percentile interval of `statistic` for independent values (runs, sessions). Not for a verdict on
/// few values: below some 20 it is too narrow, use a t interval or a sign-flip test.
Result<Estimate> bootstrap(Sample values, const Statistic& statistic,
                           const BootstrapOptions& options = {});

/// ceil(1.5 n^(1/3)).
std::size_t default_block_length(std::size_t n);

/// Percentile interval for values in time order that depend on their neighbours (iterations of one
/// run): whole overlapping blocks are drawn, so the dependence inside a block survives.
/// `block_length` in [1, n].
Result<Estimate> moving_block_bootstrap(Sample values, const Statistic& statistic,
                                        const BootstrapOptions& options = {},
                                        std::optional<std::size_t> block_length = std::nullopt);

}  // namespace sluice::stats
