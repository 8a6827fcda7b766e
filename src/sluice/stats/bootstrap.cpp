// sluice/stats/bootstrap.cpp - percentile and moving-block bootstrap.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/stats/bootstrap.h"

#include "sluice/core/rng.h"
#include "sluice/stats/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace sluice::stats {
namespace {

constexpr std::uint32_t kBootstrapStage =
    0x424f4f54;  // keeps these draws apart from all others of the same seed

Result<Estimate> resample(Sample values, const Statistic& statistic,
                          const BootstrapOptions& options, std::size_t block_length) {
  SLUICE_CHECK(require_sample(values, 2, "bootstrap"));
  SLUICE_CHECK(require_fraction(options.confidence, "confidence"));
  if (options.draws < 100) {
    return Error{Errc::invalid_input,
                 fmt::format("bootstrap: {} draws asked for, at least 100 needed", options.draws)};
  }
  const std::size_t n = values.size();
  if (block_length < 1 || block_length > n) {
    return Error{
        Errc::invalid_input,
        fmt::format("bootstrap: block length {} given, 1 to {} accepted", block_length, n)};
  }
  const double point = statistic(values);
  SLUICE_CHECK(require_finite(point, "bootstrap statistic"));

  std::vector<double> drawn;
  std::vector<double> statistics;
  statistics.reserve(static_cast<std::size_t>(options.draws));
  for (int draw = 0; draw < options.draws; ++draw) {
    Rng rng(RngKey{
        .seed = options.seed, .index = static_cast<std::uint64_t>(draw), .stage = kBootstrapStage});
    drawn.clear();
    while (drawn.size() < n) {
      const std::size_t start = rng.below(n - block_length + 1);
      const std::size_t length = std::min(block_length, n - drawn.size());
      const auto block = values.subspan(start, length);
      drawn.insert(drawn.end(), block.begin(), block.end());
    }
    SLUICE_TRY(const double value, require_finite(statistic(drawn), "bootstrap statistic"));
    statistics.push_back(value);
  }
  const double tail = 50 * (1 - options.confidence);
  const std::array<double, 2> ends{tail, 100 - tail};
  SLUICE_TRY(const auto interval, percentiles(statistics, ends));
  return Estimate{point, interval[0], interval[1], options.confidence};
}

}  // namespace

Result<Estimate> bootstrap(Sample values, const Statistic& statistic,
                           const BootstrapOptions& options) {
  return resample(values, statistic, options, 1);
}

std::size_t default_block_length(std::size_t n) {
  const auto length =
      static_cast<std::size_t>(std::ceil(1.5 * std::cbrt(static_cast<double>(n)) - 1e-9));
  return std::clamp<std::size_t>(length, 1, std::max<std::size_t>(n, 1));
}

Result<Estimate> moving_block_bootstrap(Sample values, const Statistic& statistic,
                                        const BootstrapOptions& options,
                                        std::optional<std::size_t> block_length) {
  return resample(values, statistic, options,
                  block_length.value_or(default_block_length(values.size())));
}

}  // namespace sluice::stats
