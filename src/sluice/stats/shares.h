// sluice/stats/shares.h - do counts have the shares that were asked for?
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/stats/sample.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::stats {

struct ShareTestOptions {
  int simulations = 9'999;  // where counts are too small for chi-square; p is (1 + hits) / (1 + n)
  std::uint64_t seed = 0;
};

struct ShareTest {
  double p = 1;  // of counts at least as far off, drawn with the requested shares
  double chi_square = 0;
  bool simulated = false;  // some count was expected below 5
  double largest = 0;      // difference of a share, realised less requested, furthest from 0 ...
  std::size_t index = 0;   // ... and whose it is
};

/// `counts` of independent draws (blocks, not the samples in them) against `shares`, which are
/// taken relative to their sum. As many of both, at least 1; shares at least 0, their sum and the
/// sum of counts above 0. A count where the share is 0 gives p = 0. One kind alone always has its
/// share: p = 1.
Result<ShareTest> share_test(std::span<const std::uint64_t> counts, Sample shares,
                             const ShareTestOptions& options = {});

}  // namespace sluice::stats
