// sluice/eval/windows.cpp - where windows begin and what they score.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/windows.h"

#include <algorithm>
#include <cassert>

namespace sluice::eval {

std::vector<Window> sliding_windows(std::int64_t length, int max_length, int stride) {
  assert(stride >= 1 && stride <= max_length);
  std::vector<Window> out;
  std::int64_t scored = 0;
  for (std::int64_t begin = 0; scored < length; begin += stride) {
    const std::int64_t end = std::min(begin + max_length, length);
    out.push_back({begin, scored, end});
    scored = end;
  }
  return out;
}

}  // namespace sluice::eval
