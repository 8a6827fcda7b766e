// sluice/aug/border.h - where a filter finds the samples that lie outside of the image.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sluice::aug {

/// Mirrored without repeating the edge: -1 is 1, -2 is 2, n is n - 2. Any i; n is at least 1.
constexpr int reflect_101(int i, int n) {
  if (n == 1) return 0;
  const int period = 2 * (n - 1);
  i %= period;
  if (i < 0) i += period;
  return i < n ? i : period - i;
}

/// The edge, repeated.
constexpr int replicate(int i, int n) {
  return i < 0 ? 0 : i >= n ? n - 1 : i;
}

}  // namespace sluice::aug
