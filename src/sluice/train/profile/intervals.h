// sluice/train/profile/intervals.h - time that spans cover together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice::train {

using Interval = std::pair<std::int64_t, std::int64_t>;  // start and end, ns

/// Time covered by at least one of them.
inline std::int64_t covered_ns(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::int64_t sum = 0;
  std::int64_t end = 0;
  bool any = false;
  for (const Interval& one : intervals) {
    const std::int64_t start = any ? std::max(one.first, end) : one.first;
    if (one.second > start) sum += one.second - start;
    end = any ? std::max(end, one.second) : one.second;
    any = true;
  }
  return sum;
}

}  // namespace sluice::train
