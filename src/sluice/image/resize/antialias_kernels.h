// sluice/image/resize/antialias_kernels.h - tables of the antialiased resize, and the arithmetic
// that all its kernels share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/image/image.h"
#include "sluice/image/resize/kernels.h"
#include "sluice/image/resize/resize.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sluice::image::detail {

/// The source pixels an output position of an axis blends.
struct TapRange {
  std::int32_t first = 0;
  std::int32_t count = 0;
};

/// 16 bytes of a source row hold two successive taps of a few output pixels: which bytes they are,
/// taps 2j in the lower half and 2j + 1 in the upper, and what they weigh of 256.
struct AntialiasStep {
  std::uint8_t pick[16];
  std::uint8_t weight[16];
};

/// Up to this many taps the rows of an output are held and blended at once, weights of 15 bits;
/// beyond, they are added up as they come, weights of 24 bits.
inline constexpr int kMaxHeldRows = 32;
inline constexpr int kFineBits = 24;
inline constexpr int kBias = 32768;
/// Rows stretched together, so that what the tables say is loaded once for all of them.
inline constexpr int kRowsAtOnce = 4;

/// The tables of one pair of shapes. A stretched row is as wide as the output and holds i16: levels
/// times 256, less kBias.
struct AntialiasTables {
  // Columns. Either all weights are of eight bits, or all of 24.
  const TapRange* columns = nullptr;
  std::size_t column_taps = 0;                  // stride of the weights below
  const std::uint16_t* byte_weights = nullptr;  // of 256; null: see fine_weights
  const std::uint32_t* fine_weights = nullptr;  // of 2^24
  // byte_weights once more, for vectors: `groups` of as many pixels as fit eight lanes, each with
  // a step for every two of group_taps. The pixels after them, if any, are plain.
  std::size_t groups = 0;
  std::size_t pixels_per_group = 0;
  std::size_t group_taps = 0;             // the most a column has; odd: the last step has one tap
  const std::int32_t* windows = nullptr;  // where the loads begin, per step
  const AntialiasStep* steps = nullptr;
  // Rows.
  const TapRange* rows = nullptr;
  std::size_t row_taps = 0;
  const std::int16_t* row_weights = nullptr;        // of 2^15; null: see fine_row_weights
  const std::uint32_t* fine_row_weights = nullptr;  // of 2^24
  std::int16_t* held = nullptr;                     // held_rows (a power of two) of held_pitch
  std::size_t held_rows = 0;
  std::size_t held_pitch = 0;
  std::uint64_t* sums[2] = {};  // with fine_row_weights: of the outputs under way
};

/// Bytes of memory, aligned to Image::kAlignment, the tables of a shape take.
std::size_t antialias_bytes(const ResizeShape& shape);
/// Makes them in `memory`; they stay true until it is written to.
AntialiasTables make_antialias_tables(std::byte* memory, const ResizeShape& shape);

// One image; plain C++ and Highway give the same bytes.
void antialias_plain(const ImageSpan<std::uint8_t>& dst, const ImageView<std::uint8_t>& src,
                     const AntialiasTables& tables);
void antialias_hwy(const ImageSpan<std::uint8_t>& dst, const ImageView<std::uint8_t>& src,
                   const AntialiasTables& tables);

/// For tests: one image with its own tables, by the plain kernels, also where neither axis shrinks.
void antialias_plainly(const ImageSpan<std::uint8_t>& dst, const ImageView<std::uint8_t>& src);

/// Output columns [first, last) of one stretched row.
inline void stretch_antialias_plain(std::int16_t* to, const std::uint8_t* from,
                                    const AntialiasTables& tables, std::size_t channels,
                                    std::size_t first, std::size_t last) {
  const bool bytes = tables.byte_weights != nullptr;
  for (std::size_t x = first; x < last; ++x) {
    const TapRange taps = tables.columns[x];
    const auto count = static_cast<std::size_t>(taps.count);
    const std::uint8_t* pixel = from + static_cast<std::size_t>(taps.first) * channels;
    const std::size_t at = x * tables.column_taps;
    for (std::size_t c = 0; c < channels; ++c) {
      std::uint32_t sum = 0;
      if (bytes) {
        for (std::size_t k = 0; k < count; ++k)
          sum += std::uint32_t{tables.byte_weights[at + k]} * pixel[k * channels + c];
      } else {
        for (std::size_t k = 0; k < count; ++k)
          sum += tables.fine_weights[at + k] * pixel[k * channels + c];
        sum = (sum + (1U << 15)) >> 16;
      }
      to[x * channels + c] = static_cast<std::int16_t>(static_cast<int>(sum) - kBias);
    }
  }
}

/// Samples [first, last) of an output row: held rows by their weights, which add up to 2^15.
inline void blend_antialias_plain(std::uint8_t* to, const std::int16_t* const* rows,
                                  const std::int16_t* weights, std::size_t count, std::size_t first,
                                  std::size_t last) {
  for (std::size_t i = first; i < last; ++i) {
    int sum = kBias + 128;
    for (std::size_t k = 0; k < count; ++k)
      sum += multiply_q15(rows[k][i], weights[k]);
    to[i] = static_cast<std::uint8_t>(sum >> 8);
  }
}

/// Every stretched row is added to the outputs it counts for, two at most, and then forgotten:
/// memory does not grow with the shrink factor.
template <class Stretch>
void antialias_rows_summed(const ImageSpan<std::uint8_t>& dst, const ImageView<std::uint8_t>& src,
                           const AntialiasTables& tables, Stretch stretch) {
  const std::size_t samples = dst.row_samples();
  for (std::uint64_t* sums : tables.sums)
    std::fill_n(sums, samples, std::uint64_t{1} << (kFineBits + 7));  // a half, to round
  int done = 0;                                                       // outputs written
  for (int r = 0; r < src.height(); ++r) {
    stretch(&tables.held, r, 1);
    for (int y = done; y < dst.height() && tables.rows[y].first <= r; ++y) {
      const TapRange taps = tables.rows[y];
      std::uint64_t* sums = tables.sums[y % 2];
      const std::uint64_t weight =
          tables.fine_row_weights[static_cast<std::size_t>(y) * tables.row_taps +
                                  static_cast<std::size_t>(r - taps.first)];
      for (std::size_t i = 0; i < samples; ++i)
        sums[i] += static_cast<std::uint64_t>(tables.held[i] + kBias) * weight;
      if (r + 1 < taps.first + taps.count) continue;
      std::uint8_t* to = dst.row(y);
      for (std::size_t i = 0; i < samples; ++i) {
        to[i] = static_cast<std::uint8_t>(sums[i] >> (kFineBits + 8));
        sums[i] = std::uint64_t{1} << (kFineBits + 7);
      }
      done = y + 1;
    }
  }
}

/// The order of the work: stretch(to, row, count) makes `count` (1 or kRowsAtOnce) rows,
/// blend(to, rows, weights, count) an output. Every source row counts, and is stretched once.
template <class Stretch, class Blend>
void antialias_rows(const ImageSpan<std::uint8_t>& dst, const ImageView<std::uint8_t>& src,
                    const AntialiasTables& tables, Stretch stretch, Blend blend) {
  if (tables.row_weights == nullptr) return antialias_rows_summed(dst, src, tables, stretch);
  const auto slot = [&](int row) {
    return tables.held +
           (static_cast<std::size_t>(row) & (tables.held_rows - 1)) * tables.held_pitch;
  };
  // A crop has gaps between its rows, where prefetchers lose the track: rows are asked for early.
  const auto ask = [&](int row) {
    for (int r = row; r < std::min(row + kRowsAtOnce, src.height()); ++r)
      for (std::size_t at = 0; at < src.row_bytes(); at += 64)
        __builtin_prefetch(src.row(r) + at);
  };
  int next = 0;  // rows before this one are held, or not needed any more
  for (int y = 0; y < dst.height(); ++y) {
    const TapRange taps = tables.rows[y];
    while (next < taps.first + taps.count) {
      const int count = next + kRowsAtOnce <= src.height() ? kRowsAtOnce : 1;
      ask(next + count);
      std::int16_t* to[kRowsAtOnce];
      for (int r = 0; r < count; ++r)
        to[r] = slot(next + r);
      stretch(to, next, count);
      next += count;
    }
    const std::int16_t* rows[kMaxHeldRows];
    for (int k = 0; k < taps.count; ++k)
      rows[k] = slot(taps.first + k);
    blend(dst.row(y), rows, tables.row_weights + static_cast<std::size_t>(y) * tables.row_taps,
          static_cast<std::size_t>(taps.count));
  }
}

}  // namespace sluice::image::detail
