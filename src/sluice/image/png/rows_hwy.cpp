// sluice/image/png/rows_hwy.cpp - PNG filters undone, compiled once per instruction set.
// SPDX-License-Identifier: Apache-2.0
//
// Sub, Average and Paeth depend on the pixel to the left, so a row is one chain of instructions and
// time is latency, not work. Sub is a prefix sum, made for 16 bytes at once. Average and Paeth rows
// that follow each other are undone together, the lower one pixel behind: two chains side by side.
#include "sluice/image/png/rows.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/image/png/rows_hwy.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sluice::image::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Block = hn::FixedTag<std::uint8_t, 16>;
using Pixel8 = hn::FixedTag<std::uint8_t, 4>;
using Pixel16 = hn::FixedTag<std::int16_t, 4>;
using Pixel = hn::Vec<Pixel8>;

enum Filter { kNone, kSub, kUp, kAverage, kPaeth };

int paeth_predictor(int a, int b, int c) {
  const int pa = b > c ? b - c : c - b;
  const int pb = a > c ? a - c : c - a;
  const int pc = a + b > 2 * c ? a + b - 2 * c : 2 * c - a - b;
  if (pa <= pb && pa <= pc) return a;
  return pb <= pc ? b : c;
}

/// Samples `first` to `count` of a row, as the standard writes it: for tails and narrow pixels.
void undo_plain(std::uint8_t* row, const std::uint8_t* above, std::size_t first, std::size_t count,
                std::size_t pixel, Filter filter) {
  for (std::size_t i = first; i < count; ++i) {
    const int a = i < pixel ? 0 : row[i - pixel];
    const int b = above[i];
    const int c = i < pixel ? 0 : above[i - pixel];
    const int guess = filter == kSub       ? a
                      : filter == kUp      ? b
                      : filter == kAverage ? (a + b) / 2
                                           : paeth_predictor(a, b, c);
    row[i] = static_cast<std::uint8_t>(row[i] + guess);
  }
}

void undo_up(std::uint8_t* row, const std::uint8_t* above, std::size_t count) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::Add(hn::LoadU(d, row + i), hn::LoadU(d, above + i)), d, row + i);
  undo_plain(row, above, i, count, 1, kUp);
}

/// Sums of pixels over those to the left, within a block; then of the blocks.
template <int kPixel>
void undo_sub(std::uint8_t* row, const std::uint8_t* above, std::size_t count) {
  constexpr int kUsed = kPixel == 3 ? 12 : 16;  // bytes of whole pixels, 4 at least
  const Block d;
  alignas(16) std::uint8_t last[16];
  for (int i = 0; i < 16; ++i)
    last[i] = static_cast<std::uint8_t>(kUsed - kPixel + i % kPixel);
  const auto spread = hn::Load(d, last);
  auto carry = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 16 <= count; i += kUsed) {
    auto sums = hn::LoadU(d, row + i);
    sums = hn::Add(sums, hn::ShiftLeftBytes<kPixel>(sums));
    sums = hn::Add(sums, hn::ShiftLeftBytes<2 * kPixel>(sums));
    if constexpr (kPixel <= 2) sums = hn::Add(sums, hn::ShiftLeftBytes<4 * kPixel>(sums));
    if constexpr (kPixel == 1) sums = hn::Add(sums, hn::ShiftLeftBytes<8>(sums));
    sums = hn::Add(sums, carry);
    carry = hn::TableLookupBytes(sums, spread);
    if constexpr (kUsed == 16) {
      hn::StoreU(sums, d, row + i);
    } else {  // not the next pixels, which are still to be read
      const hn::FixedTag<std::uint8_t, 8> half;
      hn::StoreU(hn::LowerHalf(half, sums), half, row + i);
      const std::uint32_t rest =
          hn::ExtractLane(hn::BitCast(hn::FixedTag<std::uint32_t, 4>(), sums), 2);
      std::memcpy(row + i + 8, &rest, sizeof rest);
    }
  }
  undo_plain(row, above, i, count, kPixel, kSub);
}

/// (a + b) / 2, cut down. Kept inverted, it is two instructions from pixel to pixel: the average of
/// the inverted values, rounded up, is the inverted average cut down.
struct Average {
  Pixel inverted_left;
  HWY_INLINE Average() : inverted_left(hn::Set(Pixel8(), 255)) {}
  HWY_INLINE Pixel step(Pixel x, Pixel up) {
    const auto ones = hn::Set(Pixel8(), 255);
    inverted_left = hn::Sub(hn::AverageRound(inverted_left, hn::Xor(up, ones)), x);
    return hn::Xor(inverted_left, ones);
  }
};

/// Of a, b and c the nearest to a + b - c. With t = 3c - a - b: the smaller of a and b where the
/// larger is at most t, the larger where the smaller is at least t, else c.
struct Paeth {
  hn::Vec<Pixel16> left, corner;
  HWY_INLINE Paeth() : left(hn::Zero(Pixel16())), corner(left) {}
  HWY_INLINE Pixel step(Pixel x, Pixel up) {
    const Pixel16 d;
    const auto b = hn::PromoteTo(d, up);
    const auto rest = hn::Sub(hn::Add(hn::Add(corner, corner), corner), b);
    const auto threshold = hn::Sub(rest, left);
    const auto low = hn::Min(left, b);
    const auto high = hn::Max(left, b);
    auto guess = hn::IfThenElse(hn::Gt(high, threshold), corner, low);
    guess = hn::IfThenElse(hn::Gt(threshold, low), guess, high);
    left = hn::And(hn::Add(guess, hn::PromoteTo(d, x)), hn::Set(d, 255));
    corner = b;
    return hn::DemoteTo(Pixel8(), left);
  }
};

HWY_INLINE Pixel load(const std::uint8_t* from) {
  return hn::LoadU(Pixel8(), from);
}

/// Writes four bytes: with 3 a pixel also one of the next, which must have been read.
HWY_INLINE void store(std::uint8_t* to, Pixel pixel) {
  hn::StoreU(pixel, Pixel8(), to);
}

template <int kPixel>
HWY_INLINE void store_last(std::uint8_t* to, Pixel pixel) {
  std::uint8_t bytes[4];
  hn::StoreU(pixel, Pixel8(), bytes);
  std::memcpy(to, bytes, kPixel);
}

template <int kPixel, class Upper>
void undo_one(std::uint8_t* row, const std::uint8_t* above, std::size_t pixels) {
  Upper upper;
  Pixel next = load(row);
  for (std::size_t i = 0; i + 1 < pixels; ++i, row += kPixel, above += kPixel) {
    const Pixel now = next;
    next = load(row + kPixel);
    store(row, upper.step(now, load(above)));
  }
  store_last<kPixel>(row, upper.step(next, load(above)));
}

/// Two rows, the lower one pixel behind the upper.
template <int kPixel, class Upper, class Lower>
void undo_two(std::uint8_t* row, std::uint8_t* below, const std::uint8_t* above,
              std::size_t pixels) {
  Upper upper;
  Lower lower;
  Pixel done = upper.step(load(row), load(above));
  if (pixels == 1) {
    store_last<kPixel>(row, done);
    store_last<kPixel>(below, lower.step(load(below), done));
    return;
  }
  Pixel next = load(row + kPixel);
  Pixel next_below = load(below);
  for (std::size_t i = 1; i < pixels; ++i, row += kPixel, below += kPixel) {
    above += kPixel;
    const Pixel now = next;
    const Pixel now_below = next_below;
    next = load(row + 2 * kPixel);  // past the last pixel: the row below, or slack
    next_below = load(below + kPixel);
    store(row, done);
    store(below, lower.step(now_below, done));
    done = upper.step(now, load(above));
  }
  store_last<kPixel>(row, done);
  store_last<kPixel>(below, lower.step(next_below, done));
}

template <int kPixel>
void undo_chained(std::uint8_t* row, const std::uint8_t* above, std::size_t count, Filter filter) {
  if constexpr (kPixel < 3) {
    undo_plain(row, above, 0, count, kPixel, filter);
  } else if (filter == kAverage) {
    undo_one<kPixel, Average>(row, above, count / kPixel);
  } else {
    undo_one<kPixel, Paeth>(row, above, count / kPixel);
  }
}

template <int kPixel>
void undo_pair(std::uint8_t* row, std::uint8_t* below, const std::uint8_t* above, std::size_t count,
               Filter upper, Filter lower) {
  const std::size_t pixels = count / kPixel;
  if (upper == kAverage && lower == kAverage)
    undo_two<kPixel, Average, Average>(row, below, above, pixels);
  else if (upper == kAverage)
    undo_two<kPixel, Average, Paeth>(row, below, above, pixels);
  else if (lower == kAverage)
    undo_two<kPixel, Paeth, Average>(row, below, above, pixels);
  else
    undo_two<kPixel, Paeth, Paeth>(row, below, above, pixels);
}

template <int kPixel>
bool undo_rows(std::uint8_t* rows, std::size_t row_bytes, int count, const std::uint8_t* above) {
  const std::size_t stride = row_bytes + 1;
  for (int y = 0; y < count; ++y, rows += stride) {
    std::uint8_t* row = rows + 1;
    if (rows[0] > kPaeth) return false;
    const auto filter = static_cast<Filter>(rows[0]);
    if (filter == kSub) {
      undo_sub<kPixel>(row, above, row_bytes);
    } else if (filter == kUp) {
      undo_up(row, above, row_bytes);
    } else if (filter != kNone) {
      const int after = kPixel >= 3 && y + 1 < count ? rows[stride] : 0;
      if (after == kAverage || after == kPaeth) {
        undo_pair<kPixel>(row, row + stride, above, row_bytes, filter, static_cast<Filter>(after));
        ++y;
        rows += stride;
        row += stride;
      } else {
        undo_chained<kPixel>(row, above, row_bytes, filter);
      }
    }
    above = row;
  }
  return true;
}

bool unfilter(std::uint8_t* rows, std::size_t row_bytes, int count, int pixel_bytes,
              const std::uint8_t* above) {
  switch (pixel_bytes) {
    case 1:
      return undo_rows<1>(rows, row_bytes, count, above);
    case 2:
      return undo_rows<2>(rows, row_bytes, count, above);
    case 3:
      return undo_rows<3>(rows, row_bytes, count, above);
    default:
      return undo_rows<4>(rows, row_bytes, count, above);
  }
}

void to_rgb(std::uint8_t* rgb, const std::uint8_t* samples, std::size_t pixels, int channels) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto step = static_cast<std::size_t>(channels);
  std::size_t x = 0;
  for (; x + lanes <= pixels; x += lanes) {
    auto r = hn::Zero(d), g = r, b = r, a = r;
    if (channels == 4) {
      hn::LoadInterleaved4(d, samples + 4 * x, r, g, b, a);
    } else {
      if (channels == 2)
        hn::LoadInterleaved2(d, samples + 2 * x, r, a);
      else
        r = hn::LoadU(d, samples + x);
      g = r;
      b = r;
    }
    hn::StoreInterleaved3(r, g, b, d, rgb + 3 * x);
  }
  for (; x < pixels; ++x)
    for (std::size_t c = 0; c < 3; ++c)
      rgb[3 * x + c] = samples[step * x + (channels == 4 ? c : 0)];
}

}  // namespace sluice::image::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::image::detail {

HWY_EXPORT(unfilter);
HWY_EXPORT(to_rgb);

bool png_unfilter(std::uint8_t* rows, std::size_t row_bytes, int count, int pixel_bytes,
                  const std::uint8_t* above) {
  return HWY_DYNAMIC_DISPATCH(unfilter)(rows, row_bytes, count, pixel_bytes, above);
}

void png_to_rgb(std::uint8_t* rgb, const std::uint8_t* samples, std::size_t pixels, int channels) {
  if (channels == 3)
    std::memcpy(rgb, samples, 3 * pixels);
  else
    HWY_DYNAMIC_DISPATCH(to_rgb)(rgb, samples, pixels, channels);
}

}  // namespace sluice::image::detail
#endif  // HWY_ONCE
