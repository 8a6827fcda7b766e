// sluice/aug/kernels/median.cpp - the median over 5x5 pixels, compiled once per instruction set.
// SPDX-License-Identifier: Apache-2.0
//
// Minima and maxima of whole vectors only, so all channel counts are alike. A strip of columns is
// walked downwards, two output rows at a time. Their windows share four rows of six:
//   R(y)  the five samples of row y, sorted: used by five outputs
//   P(y)  R(y) and R(y + 1) merged: used by two pairs of outputs
//   Q     ranks 8 to 13 of the four shared rows: no other can be the median, whatever the fifth is
// and the median is rank 6 of Q and the fifth row. 59 operations per output vector. Ladder:
// bench/kernels/median.md.
#include "sluice/aug/kernels/median.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/median.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on
#include "sluice/aug/kernels/filter-inl.h"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

using image::ImageSpan;
using image::ImageView;

template <class V>
HWY_INLINE void order(V& a, V& b) {
  const V low = hn::Min(a, b);
  b = hn::Max(a, b);
  a = low;
}

template <class V>
HWY_INLINE void sort5(V (&v)[5]) {
  order(v[0], v[1]), order(v[3], v[4]), order(v[2], v[4]);
  order(v[2], v[3]), order(v[1], v[4]), order(v[0], v[3]);
  order(v[0], v[2]), order(v[1], v[3]), order(v[1], v[2]);
}

/// Odd-even merges (Batcher, 1968) of sorted sequences.
template <class V>
HWY_INLINE void merge_2_2(V a0, V a1, V b0, V b1, V (&to)[4]) {
  order(a0, b0), order(a1, b1), order(a1, b0);
  to[0] = a0, to[1] = a1, to[2] = b0, to[3] = b1;
}
template <class V>
HWY_INLINE void merge_3_3(V a0, V a1, V a2, V b0, V b1, V b2, V (&to)[6]) {
  V odd[4];
  merge_2_2(a0, a2, b0, b2, odd);
  order(a1, b1), order(a1, odd[1]), order(b1, odd[2]);
  to[0] = odd[0], to[1] = a1, to[2] = odd[1], to[3] = b1, to[4] = odd[2], to[5] = odd[3];
}
template <class V>
HWY_INLINE void merge_5_5(const V (&a)[5], const V (&b)[5], V (&to)[10]) {
  V odd[6], even[4];
  merge_3_3(a[0], a[2], a[4], b[0], b[2], b[4], odd);
  merge_2_2(a[1], a[3], b[1], b[3], even);
  to[0] = odd[0], to[9] = odd[5];
  for (int i = 0; i < 4; ++i) {
    order(even[i], odd[i + 1]);
    to[2 * i + 1] = even[i], to[2 * i + 2] = odd[i + 1];
  }
}

/// Both pairs that decide ranks 4 to 7 of ten, from two sorted fives: (4, 5) and (6, 7), unordered.
template <class V>
struct Middle {
  V a2, b2;  // ranks 4 and 5
  V a3, b3;  // ranks 6 and 7
};
template <class V>
HWY_INLINE Middle<V> middle_of(V a0, V a1, V a2, V a3, V a4, V b0, V b1, V b2, V b3, V b4) {
  V d2 = hn::Max(a1, b1), d3 = hn::Min(a3, b3);
  order(d2, d3);
  V c2 = hn::Max(a0, b0), c3 = hn::Min(a4, b4);
  order(c2, c3);
  order(a2, b2);
  return Middle<V>{d2, hn::Max(a2, c2), d3, hn::Min(b2, c3)};
}

/// Ranks 8 to 13 of two sorted tens.
template <class V>
HWY_INLINE void middle_six(const V (&a)[10], const V (&b)[10], V (&to)[6]) {
  const Middle<V> odd =
      middle_of(a[0], a[2], a[4], a[6], a[8], b[0], b[2], b[4], b[6], b[8]);  // ranks 5 to 7
  const Middle<V> even =
      middle_of(a[1], a[3], a[5], a[7], a[9], b[1], b[3], b[5], b[7], b[9]);  // ranks 4 to 6
  to[0] = hn::Min(even.a2, even.b2), to[1] = hn::Max(odd.a2, odd.b2);
  to[2] = hn::Max(even.a2, even.b2), to[3] = hn::Min(odd.a3, odd.b3);
  to[4] = hn::Min(even.a3, even.b3), to[5] = hn::Max(odd.a3, odd.b3);
  order(to[0], to[1]), order(to[2], to[3]), order(to[4], to[5]);
}

/// Rank 6 of six and five, both sorted.
template <class V>
HWY_INLINE V rank_six(const V (&q)[6], const V (&r)[5]) {
  const V first = hn::Min(hn::Max(q[0], r[4]), hn::Max(q[1], r[3]));
  const V second = hn::Min(hn::Max(q[2], r[2]), hn::Max(q[3], r[1]));
  return hn::Min(hn::Min(first, second), hn::Min(hn::Max(q[4], r[0]), q[5]));
}

/// Planes of one vector each: what a strip remembers of earlier rows.
template <class D, std::size_t kPlanes>
struct Planes {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  static HWY_INLINE void load(const T* from, V (&to)[kPlanes]) {
    for (std::size_t k = 0; k < kPlanes; ++k)
      to[k] = hn::Load(D(), from + k * hn::Lanes(D()));
  }
  static HWY_INLINE void store(const V (&from)[kPlanes], T* to) {
    for (std::size_t k = 0; k < kPlanes; ++k)
      hn::Store(from[k], D(), to + k * hn::Lanes(D()));
  }
};

template <class D, class T>
HWY_INLINE void load_sorted(const T* from, std::size_t channels, hn::Vec<D> (&to)[5]) {
  for (std::size_t k = 0; k < 5; ++k)
    to[k] = hn::LoadU(D(), from + k * channels);
  sort5(to);
}

inline constexpr std::size_t kStripBytes = 256;

/// One strip of columns: `samples` wide from sample `at` of the rows on.
template <class T>
struct Strip {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr std::size_t kSamples = kStripBytes / sizeof(T);

  ImageSpan<T> dst;
  ImageView<T> src;
  std::size_t channels;
  std::size_t at;     // first sample
  std::size_t valid;  // samples to write, at most kSamples
  bool inside;        // two pixels more on both sides lie in the rows
  T* tops[2];         // R(y - 2) and R(y)
  T* bottom;          // R(y + 1)
  T* merged;          // P(y - 1)
  T* padded[2];       // copies of rows with their margins
  T* out[2];

  /// Row y from two pixels before the strip on.
  HWY_INLINE const T* row(int y, T* copy) const {
    const T* from = src.row(replicate(y, src.height()));
    if (inside) return from + at - 2 * channels;
    const auto width = static_cast<std::ptrdiff_t>(src.width());
    const auto c = static_cast<std::ptrdiff_t>(channels);
    const std::ptrdiff_t start = static_cast<std::ptrdiff_t>(at) - 2 * c;
    const auto total = static_cast<std::ptrdiff_t>(kSamples) + 4 * c;
    const std::ptrdiff_t before = std::clamp<std::ptrdiff_t>(-start, 0, total);
    const std::ptrdiff_t held = std::clamp<std::ptrdiff_t>(width * c - start, before, total);
    for (std::ptrdiff_t i = 0; i < before; ++i)
      copy[i] = from[(i + start + 2 * c) % c];
    std::memcpy(copy + before, from + start + before,
                static_cast<std::size_t>(held - before) * sizeof(T));
    for (std::ptrdiff_t i = held; i < total; ++i)
      copy[i] = from[(width - 1) * c + (i + start) % c];
    return copy;
  }

  HWY_INLINE void begin() {
    const D d;
    const std::size_t lanes = hn::Lanes(d);
    const T* rows[2] = {row(0, padded[0]), row(1, padded[1])};
    for (std::size_t i = 0; i < kSamples; i += lanes) {
      V first[5], second[5], both[10];
      load_sorted<D>(rows[0] + i, channels, first);
      load_sorted<D>(rows[1] + i, channels, second);
      merge_5_5(first, first, both);
      Planes<D, 10>::store(both, merged + i * 10);
      Planes<D, 5>::store(first, tops[0] + i * 5);
      Planes<D, 5>::store(first, tops[1] + i * 5);
      Planes<D, 5>::store(second, bottom + i * 5);
    }
  }

  /// Outputs y and y + 1.
  HWY_INLINE void step(int y) {
    const D d;
    const std::size_t lanes = hn::Lanes(d);
    const T* const next[2] = {row(y + 2, padded[0]), row(y + 3, padded[1])};
    const bool direct = valid == kSamples;
    T* const to0 = direct ? dst.row(y) + at : out[0];
    T* const to1 = direct && y + 1 < src.height() ? dst.row(y + 1) + at : out[1];
    T *const top = tops[0], *const low = bottom, *const pair = merged;
    const std::size_t apart = channels;
    for (std::size_t i = 0; i < kSamples; i += lanes) {
      V third[5], fourth[5], above[10], below[10], six[6];
      load_sorted<D>(next[0] + i, apart, third);
      Planes<D, 5>::load(low + i * 5, fourth);
      merge_5_5(fourth, third, below);
      Planes<D, 10>::load(pair + i * 10, above);
      Planes<D, 10>::store(below, pair + i * 10);
      middle_six(above, below, six);
      Planes<D, 5>::load(top + i * 5, fourth);
      Planes<D, 5>::store(third, top + i * 5);
      hn::StoreU(rank_six(six, fourth), d, to0 + i);
      load_sorted<D>(next[1] + i, apart, fourth);
      Planes<D, 5>::store(fourth, low + i * 5);
      hn::StoreU(rank_six(six, fourth), d, to1 + i);
    }
    std::swap(tops[0], tops[1]);
    if (direct) return;
    std::memcpy(dst.row(y) + at, to0, valid * sizeof(T));
    if (y + 1 < src.height()) std::memcpy(dst.row(y + 1) + at, to1, valid * sizeof(T));
  }
};

template <class T>
void median_of(ImageSpan<T> dst, ImageView<T> src, std::byte* memory) {
  using S = Strip<T>;
  const std::size_t row = src.row_samples();
  const auto channels = static_cast<std::size_t>(src.channels());
  for (std::size_t start = 0; start < row; start += S::kSamples) {
    S strip;
    strip.dst = dst, strip.src = src, strip.channels = channels;
    strip.at = row < S::kSamples ? 0 : std::min(start, row - S::kSamples);
    strip.valid = std::min(row, S::kSamples);
    strip.inside = strip.at >= 2 * channels && strip.at + S::kSamples + 2 * channels <= row;
    T* piece = reinterpret_cast<T*>(memory);
    const auto take = [&](std::size_t planes) {
      T* taken = piece;
      piece += planes * S::kSamples;
      return taken;
    };
    strip.tops[0] = take(5), strip.tops[1] = take(5), strip.bottom = take(5);
    strip.merged = take(10), strip.out[0] = take(1), strip.out[1] = take(1);
    strip.padded[0] = piece, strip.padded[1] = piece + S::kSamples + 4 * channels;
    strip.begin();
    for (int y = 0; y < src.height(); y += 2)
      strip.step(y);
  }
}

void median_u8(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src, std::byte* memory) {
  median_of(dst, src, memory);
}
void median_f32(ImageSpan<float> dst, ImageView<float> src, std::byte* memory) {
  median_of(dst, src, memory);
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(median_u8);
HWY_EXPORT(median_f32);

std::size_t median_5x5_bytes(int channels) {
  constexpr std::size_t kStrip = 256;
  return 27 * kStrip + 2 * (kStrip + 4 * static_cast<std::size_t>(channels) * sizeof(float));
}
void median_5x5(image::ImageSpan<std::uint8_t> dst, image::ImageView<std::uint8_t> src,
                std::byte* memory) {
  HWY_DYNAMIC_DISPATCH(median_u8)(dst, src, memory);
}
void median_5x5(image::ImageSpan<float> dst, image::ImageView<float> src, std::byte* memory) {
  HWY_DYNAMIC_DISPATCH(median_f32)(dst, src, memory);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
