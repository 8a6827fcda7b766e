// tests/report/mixture_batches.h - batch times for tests of what is made of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/batch_times.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace sluice::fixtures {

using Counts = std::vector<std::pair<std::string, std::uint32_t>>;

inline results::BatchTime batch(std::uint64_t idx, bool is_warmup, double seconds, Counts counts) {
  results::BatchTime out;
  out.idx = idx;
  out.is_warmup = is_warmup;
  out.dt_s = out.fetch_dt_s = seconds;
  out.dataset_counts = std::move(counts);
  return out;
}

/// Batches of `blocks` blocks of 4 samples, each block of one of `kinds` data sets.
inline std::vector<results::BatchTime> random_mixture(std::uint64_t batches, unsigned kinds,
                                                      int blocks, std::uint64_t seed = 11) {
  std::mt19937_64 random(seed);
  std::vector<results::BatchTime> out;
  for (std::uint64_t i = 0; i < batches; ++i) {
    Counts counts;
    for (int k = 0; k < blocks; ++k) {
      const std::string name = "set_" + std::to_string(random() % kinds);
      const auto at = std::find_if(counts.begin(), counts.end(),
                                   [&](const auto& one) { return one.first == name; });
      if (at == counts.end())
        counts.emplace_back(name, 4);
      else
        at->second += 4;
    }
    out.push_back(batch(i, false, 0.1 + 0.001 * static_cast<double>(random() % 50), counts));
  }
  results::mark_dominants(out);
  return out;
}

}  // namespace sluice::fixtures
