// sluice/image/resize_kernels.h - what resize.cpp hands to the kernels, and the arithmetic they
// share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/image/image.h"

#include <cstddef>
#include <cstdint>

namespace sluice::image::detail {

/// One output position of an axis: blends source `index` and its successor, which weighs part / (2
/// * dst).
struct Tap {
  int index = 0;
  std::int64_t part = 0;  // 0 at the last index, so that the successor never counts there
};

/// Exact in integers: no machine can disagree.
inline Tap make_tap(int i, int dst, int src) {
  const std::int64_t numerator =
      (2 * std::int64_t{i} + 1) * src - dst;  // of the position, over 2 * dst
  if (numerator <= 0) return {0, 0};
  const std::int64_t index = numerator / (2 * std::int64_t{dst});
  if (index >= src - 1) return {src - 1, 0};
  return {static_cast<int>(index), numerator - index * 2 * dst};
}

inline void set_weight(std::int16_t& weight, const Tap& tap, int dst) {
  const std::int64_t q15 = (tap.part * 32768 + dst) / (2 * std::int64_t{dst});
  weight = static_cast<std::int16_t>(q15 > 32767 ? 32767 : q15);
}
inline void set_weight(float& weight, const Tap& tap, int dst) {
  weight = static_cast<float>(static_cast<double>(tap.part) / (2.0 * dst));
}

/// a * b / 2^15, rounded: pmulhrsw, sqrdmulh.
inline int multiply_q15(int a, int b) {
  return (a * b + (1 << 14)) >> 15;
}

inline constexpr int kFraction =
    7;  // bits below the point of a blended row: 255 << 7 fits 16 bits with a sign

/// Slots per output pixel in `weights`: a vector of them covers two (u8) pixels or one (f32).
inline constexpr std::size_t kWeightCopies = 4;
/// Spare samples behind the blended row: the successor of the last pixel, and what vector loads may
/// read beyond it.
inline constexpr std::size_t kRowSlack = 2 * static_cast<std::size_t>(kMaxChannels) + 16;

template <class T, class Work>
struct ResizeJob {
  ImageSpan<T> dst;
  ImageView<T> src;
  const std::int32_t* offsets;  // first sample of the left pixel, per output column
  const Work* weights;          // kWeightCopies per output column
  Work* row;                    // src.row_samples() + kRowSlack, zero behind the samples
};
using ResizeJobU8 = ResizeJob<std::uint8_t, std::int16_t>;
using ResizeJobF32 = ResizeJob<float, float>;

// Rows [0, height) of the job; plain C++ and Highway.
void resize_plain(const ResizeJobU8& job);
void resize_plain(const ResizeJobF32& job);
void resize_hwy(const ResizeJobU8& job);
void resize_hwy(const ResizeJobF32& job);

/// Columns [first, width) of output row y from the blended row: the tail of the vector kernels.
inline void gather_plain(std::uint8_t* to, const ResizeJobU8& job, int first) {
  const auto channels = static_cast<std::size_t>(job.dst.channels());
  for (auto x = static_cast<std::size_t>(first); x < static_cast<std::size_t>(job.dst.width());
       ++x) {
    const std::int16_t* left = job.row + job.offsets[x];
    const int weight = job.weights[x * kWeightCopies];
    for (std::size_t c = 0; c < channels; ++c) {
      const int value = left[c] + multiply_q15(left[c + channels] - left[c], weight);
      to[x * channels + c] =
          static_cast<std::uint8_t>((value + (1 << (kFraction - 1))) >> kFraction);
    }
  }
}

inline void gather_plain(float* to, const ResizeJobF32& job, int first) {
  const auto channels = static_cast<std::size_t>(job.dst.channels());
  for (auto x = static_cast<std::size_t>(first); x < static_cast<std::size_t>(job.dst.width());
       ++x) {
    const float* left = job.row + job.offsets[x];
    const float weight = job.weights[x * kWeightCopies];
    for (std::size_t c = 0; c < channels; ++c)
      to[x * channels + c] = left[c] + (left[c + channels] - left[c]) * weight;
  }
}

}  // namespace sluice::image::detail
