// sluice/aug/kernels/remap_groups-inl.h - groups of a remapped row: inside, at the edge, outside.
// Compiled once per instruction set.
// SPDX-License-Identifier: Apache-2.0

// Per-target include guard.
#if defined(SLUICE_AUG_KERNELS_REMAP_GROUPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_AUG_KERNELS_REMAP_GROUPS_INL_H
#undef SLUICE_AUG_KERNELS_REMAP_GROUPS_INL_H
#else
#define SLUICE_AUG_KERNELS_REMAP_GROUPS_INL_H
#endif

#include "sluice/aug/kernels/remap.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Of a group.
enum Kind : std::uint8_t {
  kUnknown,
  kInside,  // every load lies in the source
  kOutside  // every pixel is fill
};

/// A store may reach so many samples beyond its group.
inline constexpr int kStoreReach = 8;

using GroupFloat = hn::FixedTag<float, 4>;  // two make a group
using GroupInt = hn::RebindToSigned<GroupFloat>;

/// Between low and high; what is not a number becomes low.
HWY_INLINE hn::Vec<GroupFloat> bounded(hn::Vec<GroupFloat> v, float low, float high) {
  const GroupFloat d;
  const auto floor = hn::Set(d, low);
  return hn::Min(hn::IfThenElse(hn::Ge(v, floor), v, floor), hn::Set(d, high));
}

/// The source as the kernels need it: sizes as int32, and how far a load may start.
struct Source {
  int width = 0;
  int height = 0;
  std::int32_t pitch = 0;
  std::int32_t step = 0;   // bytes of a pixel
  std::int32_t limit = 0;  // an inside offset is at most this
  bool addressable = false;
  // Pixels whose coordinates lie in these bounds need no test at all.
  float low = 0.01F, high_x = -1, high_y = -1;

  /// A pixel loads `load_bytes` from its offset, and again one row further down where `taps` is 2.
  template <class T>
  static Source of(ImageView<T> src, std::size_t load_bytes, int taps) {
    Source s;
    s.width = src.width();
    s.height = src.height();
    const std::size_t rows = static_cast<std::size_t>(src.height());
    const std::size_t total = (rows - 1) * src.pitch_bytes() + src.row_bytes();
    s.addressable = (rows + 4) * src.pitch_bytes() <
                    static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
    if (!s.addressable) return s;
    s.pitch = static_cast<std::int32_t>(src.pitch_bytes());
    s.step = static_cast<std::int32_t>(static_cast<std::size_t>(src.channels()) * sizeof(T));
    const std::size_t reach = load_bytes + (taps == 2 ? src.pitch_bytes() : 0);
    s.limit = reach > total ? -1 : static_cast<std::int32_t>(total - reach);
    // One row is left below for loads that go beyond the end of theirs.
    if (load_bytes <= src.pitch_bytes()) {
      s.high_x = static_cast<float>(s.width - taps) + (taps == 2 ? 0.99F : 0.49F);
      s.high_y = static_cast<float>(s.height - 1 - taps) + (taps == 2 ? 0.99F : 0.49F);
    }
    return s;
  }
};

/// Negative in lanes where the pixel's taps, `taps` wide and high, are not all inside. Short
/// chains: how long a group takes until it is known bounds the speed.
HWY_INLINE hn::Vec<GroupInt> outside_lanes(const Source src, int taps, hn::Vec<GroupInt> x,
                                           hn::Vec<GroupInt> y, hn::Vec<GroupInt> offset) {
  const GroupInt d;
  const auto right = hn::Sub(hn::Set(d, src.width - taps), x);
  const auto below = hn::Sub(hn::Set(d, src.height - taps), y);
  const auto corner = hn::Or(hn::Or(x, y), hn::Or(right, below));
  return hn::Or(corner, hn::Sub(hn::Set(d, src.limit), offset));
}

/// No branch: the next group need not wait for the outcome.
HWY_INLINE std::uint8_t kind_of(const Source src, hn::Vec<GroupInt> outside) {
  const GroupInt d;
  const bool inside = hn::AllFalse(d, hn::Lt(outside, hn::Zero(d)));
  return static_cast<std::uint8_t>(static_cast<int>(inside) & static_cast<int>(src.addressable));
}

/// The smallest and the largest coordinates of some pixels.
struct Bounds {
  float low_x, high_x, low_y, high_y;
};

HWY_INLINE Bounds bounds_of(const float* x, const float* y, int count, bool monotone) {
  if (monotone)
    return {std::min(x[0], x[count - 1]), std::max(x[0], x[count - 1]),
            std::min(y[0], y[count - 1]), std::max(y[0], y[count - 1])};
  const GroupFloat d;
  auto low_x = hn::LoadU(d, x), low_y = hn::LoadU(d, y);
  auto high_x = low_x, high_y = low_y;
  for (int j = static_cast<int>(hn::Lanes(d)); j < count; j += static_cast<int>(hn::Lanes(d))) {
    const auto vx = hn::LoadU(d, x + j), vy = hn::LoadU(d, y + j);
    low_x = hn::Min(low_x, vx);
    high_x = hn::Max(high_x, vx);
    low_y = hn::Min(low_y, vy);
    high_y = hn::Max(high_y, vy);
  }
  const auto least = [&](hn::Vec<GroupFloat> v)
                         HWY_ATTR { return hn::GetLane(hn::MinOfLanes(d, v)); };
  const auto most = [&](hn::Vec<GroupFloat> v)
                        HWY_ATTR { return hn::GetLane(hn::MaxOfLanes(d, v)); };
  return {least(low_x), most(high_x), least(low_y), most(high_y)};
}

HWY_INLINE Kind kind_of_block(const Source src, const Bounds b) {
  if (src.addressable && b.low_x >= src.low && b.low_y >= src.low && b.high_x <= src.high_x &&
      b.high_y <= src.high_y)
    return kInside;
  const bool outside = b.high_x < -1.01F || b.high_y < -1.01F ||
                       b.low_x > static_cast<float>(src.width) + 0.01F ||
                       b.low_y > static_cast<float>(src.height) + 0.01F;
  return outside ? kOutside : kUnknown;
}

/// untested(from, to) for stretches of pixels that lie inside, tested(from, to) for those that may
/// or may not.
template <class Untested, class Tested>
HWY_INLINE void for_each_block(const Source src, const RemapRow row, Untested untested,
                               Tested tested) {
  const int end = (row.width + kRemapGroup - 1) / kRemapGroup * kRemapGroup;
  for (int i = 0; i < end; i += kRemapBlock) {
    const int count = std::min(kRemapBlock, end - i);
    const Kind kind = kind_of_block(src, bounds_of(row.x + i, row.y + i, count, row.monotone));
    for (int g = i / kRemapGroup; g < (i + count) / kRemapGroup; ++g)
      row.kind[g] = kind;
    if (kind == kInside)
      untested(i, i + count);
    else if (kind == kUnknown)
      tested(i, i + count);
  }
}

/// Of a group that is not inside: do all its pixels miss the source altogether?
HWY_INLINE bool all_outside(int width, int height, const float* x, const float* y) {
  const GroupFloat d;
  auto any = hn::FirstN(d, 0);
  for (int j = 0; j < kRemapGroup; j += static_cast<int>(hn::Lanes(d))) {
    const auto vx = hn::LoadU(d, x + j), vy = hn::LoadU(d, y + j);
    const auto low = hn::Set(d, -1.01F);
    const auto in_x =
        hn::And(hn::Gt(vx, low), hn::Lt(vx, hn::Set(d, static_cast<float>(width) + 0.01F)));
    const auto in_y =
        hn::And(hn::Gt(vy, low), hn::Lt(vy, hn::Set(d, static_cast<float>(height) + 0.01F)));
    any = hn::Or(any, hn::And(in_x, in_y));
  }
  return hn::AllFalse(d, any);
}

/// Coordinates up to the end of the last group: those of the last pixel again.
inline void complete_row(const RemapRow row) {
  for (int i = row.width; i % kRemapGroup != 0; ++i) {
    row.x[i] = row.x[row.width - 1];
    row.y[i] = row.y[row.width - 1];
  }
}

/// Samples between two tap rows of a patch.
inline std::size_t patch_pitch(int channels) {
  return 2 * static_cast<std::size_t>(channels) + 16;
}

/// The 2 x 2 taps of each pixel of a group, `fill` where they are outside. x, y: the upper left
/// tap, at least -2 and at most one beyond the last.
template <class T>
inline void bring_together(T* patch, ImageView<T> src, const std::int32_t* x, const std::int32_t* y,
                           T fill) {
  const auto channels = static_cast<std::size_t>(src.channels());
  const std::size_t pitch = patch_pitch(src.channels());
  for (int i = 0; i < kRemapGroup; ++i)
    for (int r = 0; r < 2; ++r, patch += pitch) {
      const int from_y = y[i] + r;
      const bool row_inside = from_y >= 0 && from_y < src.height();
      for (int k = 0; k < 2; ++k) {
        const int from_x = x[i] + k;
        T* tap = patch + static_cast<std::size_t>(k) * channels;
        if (row_inside && from_x >= 0 && from_x < src.width()) {
          const T* from = src.row(from_y) + static_cast<std::size_t>(from_x) * channels;
          for (std::size_t c = 0; c < channels; ++c)
            tap[c] = from[c];
        } else {
          for (std::size_t c = 0; c < channels; ++c)
            tap[c] = fill;
        }
      }
    }
}

/// The kernels take RemapRow and Source by value: stores of bytes might change what is behind a
/// reference, so that it would be read anew for every pixel.

/// Row y of one frame. inside(to, from, end): pixels from..end, whole groups; a store may go
/// kStoreReach samples beyond. edge(to, x): the group at x.
template <class T, class Inside, class Edge>
HWY_INLINE void for_each_group(ImageSpan<T> dst, ImageView<T> source, int y, const RemapRow row,
                               T fill, Inside inside, Edge edge) {
  const auto channels = static_cast<std::size_t>(dst.channels());
  const std::size_t group_samples = kRemapGroup * channels;
  T* const out = dst.row(y);
  const int groups = (row.width + kRemapGroup - 1) / kRemapGroup;
  // Stores of these groups stay within the row; the others are made elsewhere and copied.
  const int direct = dst.row_samples() < kStoreReach
                         ? 0
                         : static_cast<int>((dst.row_samples() - kStoreReach) / group_samples);
  for (int g = 0; g < groups;) {
    const int x = g * kRemapGroup;
    T* const place = out + static_cast<std::size_t>(g) * group_samples;
    if (row.kind[g] == kInside && g < direct) {
      for (++g; g < direct && row.kind[g] == kInside;)
        ++g;
      inside(place, x, g * kRemapGroup);
      continue;
    }
    if (row.kind[g] == kOutside && (g + 1) * kRemapGroup <= row.width) {
      for (++g; (g + 1) * kRemapGroup <= row.width && row.kind[g] == kOutside;)
        ++g;
      std::fill(place, out + static_cast<std::size_t>(g) * group_samples, fill);
      continue;
    }
    T* const to = g < direct ? place : reinterpret_cast<T*>(row.tail);
    if (row.kind[g] == kInside)
      inside(to, x, x + kRemapGroup);
    else if (row.kind[g] == kOutside ||
             all_outside(source.width(), source.height(), row.x + x, row.y + x))
      std::fill_n(to, group_samples, fill);
    else
      edge(to, x);
    if (to != place)
      std::memcpy(
          place, to,
          static_cast<std::size_t>(std::min(kRemapGroup, row.width - x)) * channels * sizeof(T));
    ++g;
  }
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
