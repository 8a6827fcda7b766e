// sluice/image/resize/kernels.h - what resize.cpp hands to the kernels, and the arithmetic they
// share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/image/image.h"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace sluice::image::detail {

/// One output position of an axis: blends source `index` and its successor, which weighs part / (2
/// * dst).
struct Tap {
  int index = 0;
  std::int64_t part = 0;  // 0 at the last index, so that the successor never counts there
};

/// The taps of an axis in turn: exact in integers, no machine can disagree, and no division per
/// step.
class TapWalk {
 public:
  TapWalk(int dst, int src)
      : last_(src - 1),
        period_(2 * std::int64_t{dst}),
        index_(src < dst ? -1 : (src - dst) / (2 * std::int64_t{dst})),
        part_(src - dst - index_ * period_),
        index_step_(src / dst),
        part_step_(2 * std::int64_t{src % dst}),
        inverse_(1.0 / static_cast<double>(period_)) {}

  [[nodiscard]] Tap tap() const {
    if (index_ < 0) return {0, 0};
    if (index_ >= last_) return {static_cast<int>(last_), 0};
    return {static_cast<int>(index_), part_};
  }
  void next() {
    index_ += index_step_;
    part_ += part_step_;
    if (part_ >= period_) {
      part_ -= period_;
      ++index_;
    }
  }

  /// The weight of the successor times `one` (at most 2^16), rounded, halves up. The quotient of
  /// integers is exact: its fractions are multiples of 1 / period, half of which outweighs every
  /// rounding of a double.
  [[nodiscard]] int weight(const Tap& tap, int one) const {
    const auto above = static_cast<double>(tap.part * one + period_ / 2);
    return static_cast<int>((above + 0.5) * inverse_);
  }
  [[nodiscard]] float weight(const Tap& tap) const {
    return static_cast<float>(static_cast<double>(tap.part) * inverse_);
  }

 private:
  std::int64_t last_, period_, index_, part_, index_step_, part_step_;
  double inverse_;
};

/// Hands out pieces of a block, each aligned; counts them when there is no block.
class Pieces {
 public:
  explicit Pieces(std::byte* begin) : begin_(begin) {}
  template <class P>
  P* take(std::size_t count) {
    std::byte* piece = begin_ == nullptr ? nullptr : begin_ + used_;
    used_ += (count * sizeof(P) + Image::kAlignment - 1) / Image::kAlignment * Image::kAlignment;
    return reinterpret_cast<P*>(piece);
  }
  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  std::byte* begin_;
  std::size_t used_ = 0;
};

/// a * b / 2^15, rounded: pmulhrsw, sqrdmulh.
inline int multiply_q15(int a, int b) {
  return (a * b + (1 << 14)) >> 15;
}

/// How the neighbours of the next output pixels come into a vector of u8 samples: eight lanes hold
/// as many whole pixels as fit, for at most 4 channels.
enum class Gather : std::uint8_t {
  plain,  // sample by sample, or pixel by pixel where a pixel fills a vector
  step,   // one load of 16 bytes holds the neighbours of all of them
  pixel,  // one load of 8 bytes for each of two pixels: 3 or 4 channels, much smaller output
};

/// What one step of eight lanes takes: which bytes of the load are the left and the right
/// neighbours, and what they weigh of 256.
struct ResizeStep {
  std::uint8_t left[8], right[8];
  std::uint8_t left_weight[8], right_weight[8];
};

/// The weights of one pixel of more than 4 channels, of 256, and where the right one begins after
/// the left: nowhere else when it alone counts.
struct ResizePair {
  std::uint8_t left_weight, right_weight;
  std::uint16_t step;
};

/// Spare samples behind the stretched rows: what vector stores may touch beyond them.
inline constexpr std::size_t kRowSlack = static_cast<std::size_t>(kMaxChannels) + 64;

/// The tables of one pair of shapes, and room for two source rows that are already as wide as the
/// output: each source row is stretched once, each output row blends two of them. Work is float, or
/// u16 with 8 bits below the point; Weight is float, or u8: 256ths of the right pixel. A weight of
/// 0 means the left pixel alone.
template <class Work, class Weight>
struct ResizeTables {
  const std::int32_t* offsets = nullptr;  // first sample of the left pixel, per output column
  const Weight* weights = nullptr;        // of the right pixel, per output column
  Gather gather = Gather::plain;
  std::size_t steps = 0;  // what the tables below cover; the rest is plain
  std::size_t pixels_per_step = 0;
  const std::int32_t* windows = nullptr;  // where the loads begin: per step, or per pixel
  const ResizeStep* picks = nullptr;      // per step
  const ResizePair* pairs = nullptr;      // per column, more than 4 channels
  Work* rows[2] = {};                     // row i of the source lies in rows[i % 2]
};
using ResizeTablesU8 = ResizeTables<std::uint16_t, std::uint8_t>;
using ResizeTablesF32 = ResizeTables<float, float>;

// One image; plain C++ and Highway. Both give the same bytes for u8.
void resize_plain(const ImageSpan<std::uint8_t>& dst, const ImageView<std::uint8_t>& src,
                  const ResizeTablesU8& tables);
void resize_plain(const ImageSpan<float>& dst, const ImageView<float>& src,
                  const ResizeTablesF32& tables);
void resize_hwy(const ImageSpan<std::uint8_t>& dst, const ImageView<std::uint8_t>& src,
                const ResizeTablesU8& tables);
void resize_hwy(const ImageSpan<float>& dst, const ImageView<float>& src,
                const ResizeTablesF32& tables);

/// For tests: one image with its own tables, by the plain kernels.
void resize_plainly(const ImageSpan<std::uint8_t>& dst, const ImageView<std::uint8_t>& src);

/// Output columns [first, last) of one stretched row. 256 left pixels' worth in all: what a weight
/// of 0 says is 255 + 1 of the same pixel, as eight bits hold no 256.
inline void stretch_plain(std::uint16_t* to, const std::uint8_t* from, const ResizeTablesU8& tables,
                          std::size_t channels, std::size_t first, std::size_t last) {
  for (std::size_t x = first; x < last; ++x) {
    const std::uint8_t* left = from + tables.offsets[x];
    const int weight = tables.weights[x];
    const std::uint8_t* right = weight == 0 ? left : left + channels;
    for (std::size_t c = 0; c < channels; ++c)
      to[x * channels + c] =
          static_cast<std::uint16_t>(left[c] * (256 - weight) + right[c] * weight);
  }
}
inline void stretch_plain(float* to, const float* from, const ResizeTablesF32& tables,
                          std::size_t channels, std::size_t first, std::size_t last) {
  for (std::size_t x = first; x < last; ++x) {
    const float* left = from + tables.offsets[x];
    const float weight = tables.weights[x];
    const float* right = weight == 0 ? left : left + channels;
    for (std::size_t c = 0; c < channels; ++c)
      to[x * channels + c] = left[c] + (right[c] - left[c]) * weight;
  }
}

/// Samples [first, last) of an output row: `near` and, by weight / 2^16 of their difference (at
/// most a half), `far`.
inline void blend_plain(std::uint8_t* to, const std::uint16_t* near, const std::uint16_t* far,
                        std::int16_t weight, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i)
    to[i] = static_cast<std::uint8_t>(
        (near[i] + multiply_q15((far[i] - near[i]) >> 1, weight) + 128) >> 8);
}
inline void blend_plain(float* to, const float* top, const float* bottom, float weight,
                        std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i)
    to[i] = top[i] + (bottom[i] - top[i]) * weight;
}

/// The order of the work: stretch(to, from) makes a row, blend(to, near, far, weight) an output.
template <class T, class Work, class Weight, class Stretch, class Blend>
void resize_rows(const ImageSpan<T>& dst, const ImageView<T>& src,
                 const ResizeTables<Work, Weight>& tables, Stretch stretch, Blend blend) {
  int held[2] = {-1, -1};
  // A crop has gaps between its rows, where prefetchers lose the track: rows are asked for early.
  const int ahead = 2 * std::max(1, src.height() / dst.height());
  const auto row = [&](int y) {
    Work* to = tables.rows[y % 2];
    if (held[y % 2] == y) return to;
    if (y + ahead < src.height())
      for (std::size_t at = 0; at < src.row_bytes(); at += 64)
        __builtin_prefetch(reinterpret_cast<const char*>(src.row(y + ahead)) + at);
    stretch(to, src.row(y));
    held[y % 2] = y;
    return to;
  };
  TapWalk walk(dst.height(), src.height());
  for (int y = 0; y < dst.height(); ++y, walk.next()) {
    const Tap tap = walk.tap();
    const Work* top = row(tap.index);
    const Work* bottom = tap.part == 0 ? top : row(tap.index + 1);
    if constexpr (std::same_as<T, float>) {
      blend(dst.row(y), top, bottom, walk.weight(tap));
    } else {
      constexpr int kOne = 1 << 16;
      const int weight = walk.weight(tap, kOne);
      const bool upper = weight <= kOne / 2;
      const int far = std::min(upper ? weight : kOne - weight, 32767);
      blend(dst.row(y), upper ? top : bottom, upper ? bottom : top, static_cast<std::int16_t>(far));
    }
  }
}

}  // namespace sluice::image::detail
