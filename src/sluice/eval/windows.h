// sluice/eval/windows.h - a long text in overlapping windows, every token scored once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace sluice::eval {

/// Positions [begin, end) are seen, [scored, end) count.
struct Window {
  std::int64_t begin = 0;
  std::int64_t scored = 0;
  std::int64_t end = 0;
  friend bool operator==(const Window&, const Window&) = default;
};

/// One window where `length` fits into max_length; else begin = 0, stride, 2 * stride, ... until
/// the end is reached, each scoring what the ones before it did not. Precondition: 1 <= stride <=
/// max_length.
std::vector<Window> sliding_windows(std::int64_t length, int max_length, int stride);

}  // namespace sluice::eval
