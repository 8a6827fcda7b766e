// sluice/stats/sign_flip.h - the paired test that assumes nothing but symmetry.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/stats/sample.h"

#include <cstdint>

namespace sluice::stats {

inline constexpr std::size_t kSignFlipExactLimit = 16;  // 65,536 sign patterns

struct SignFlip {
  double p = 1;
  bool exact = false;
};

struct SignFlipOptions {
  Alternative alternative = Alternative::two_sided;
  int draws = 20'000;  // above the exact limit; p is then (1 + hits) / (1 + draws)
  std::uint64_t seed = 0;
};

/// Share of sign patterns whose sum is at least as extreme as the observed one. The smallest p of n
/// differences is 2^-n (two-sided 2^(1-n)): 7 pairs for 1 %. At least 1 value.
Result<SignFlip> sign_flip(Sample differences, const SignFlipOptions& options = {});

}  // namespace sluice::stats
