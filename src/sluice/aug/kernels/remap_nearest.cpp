// sluice/aug/kernels/remap_nearest.cpp - a warp by the nearest pixel, compiled once per instruction
// set. Pixels are only moved: bytes, whatever the samples.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/remap.h"

#include <bit>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/remap_nearest.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on
#include "sluice/aug/kernels/remap_groups-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

struct Nearest {
  hn::Vec<GroupInt> x, y;
};

HWY_INLINE Nearest nearest_parts(const Source src, const float* x, const float* y) {
  const GroupFloat d;
  const GroupInt di;
  const auto half = hn::Set(d, 0.5F);
  const auto bx = bounded(hn::LoadU(d, x), -2.0F, static_cast<float>(src.width + 1));
  const auto by = bounded(hn::LoadU(d, y), -2.0F, static_cast<float>(src.height + 1));
  return {hn::ConvertTo(di, hn::Floor(hn::Add(bx, half))),
          hn::ConvertTo(di, hn::Floor(hn::Add(by, half)))};
}

HWY_INLINE hn::Vec<GroupInt> put_offset(const Source src, const RemapRow row, int j,
                                        const Nearest& n) {
  const GroupInt di;
  const auto offset =
      hn::Add(hn::Mul(n.y, hn::Set(di, src.pitch)), hn::Mul(n.x, hn::Set(di, src.step)));
  hn::StoreU(offset, di, row.offset + j);
  return offset;
}

void make_nearest(const Source src, const RemapRow row) {
  const GroupFloat d;
  const GroupInt di;
  const int lanes = static_cast<int>(hn::Lanes(di));
  for_each_block(
      src, row,
      [&](int from, int to) HWY_ATTR {
        const auto half = hn::Set(d, 0.5F);
        for (int j = from; j < to; j += lanes) {
          // positive: rounding towards 0 is rounding down
          const Nearest n = {hn::ConvertTo(di, hn::Add(hn::LoadU(d, row.x + j), half)),
                             hn::ConvertTo(di, hn::Add(hn::LoadU(d, row.y + j), half))};
          (void)put_offset(src, row, j, n);
        }
      },
      [&](int from, int to) HWY_ATTR {
        for (int i = from; i < to; i += kRemapGroup) {
          auto outside = hn::Zero(di);
          for (int j = i; j < i + kRemapGroup; j += lanes) {
            const Nearest n = nearest_parts(src, row.x + j, row.y + j);
            const auto offset = put_offset(src, row, j, n);
            outside = hn::Or(outside, outside_lanes(src, 1, n.x, n.y, offset));
          }
          row.kind[i / kRemapGroup] = kind_of(src, outside);
        }
      });
}

/// Moves kBytes for a pixel of `step`; what is too much the next pixel overwrites.
template <std::size_t kBytes>
HWY_INLINE void move_pixels(std::byte* to, const std::byte* base, const std::int32_t* offset,
                            std::size_t step, int count) {
  for (int i = 0; i < count; i += kRemapGroup)
    for (int k = 0; k < kRemapGroup; ++k, to += step)
      std::memcpy(to, base + offset[i + k], kBytes);
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2

/// A group at a time: eight pixels gathered, the spare byte of each left out, 24 bytes of 32 kept.
HWY_INLINE void move_triples(std::byte* to, const std::byte* base, const std::int32_t* offset,
                             int count) {
  const hn::FixedTag<std::int32_t, kRemapGroup> d;
  const hn::Repartition<std::uint8_t, decltype(d)> d8;
  alignas(16) static constexpr std::uint8_t kPacked[16] = {0,  1,  2,  4,  5,  6,  8,  9,
                                                           10, 12, 13, 14, 14, 14, 14, 14};
  alignas(32) static constexpr std::int32_t kTogether[kRemapGroup] = {0, 1, 2, 4, 5, 6, 7, 7};
  const auto packed = hn::LoadDup128(d8, kPacked);
  const auto together = hn::SetTableIndices(d, kTogether);
  const auto* words = reinterpret_cast<const std::int32_t*>(base);
  for (int i = 0; i < count; i += kRemapGroup, to += 3 * kRemapGroup) {
    const auto pixels = hn::GatherOffset(d, words, hn::LoadU(d, offset + i));
    const auto bytes = hn::TableLookupBytes(hn::BitCast(d8, pixels), packed);
    hn::StoreU(hn::BitCast(d8, hn::TableLookupLanes(hn::BitCast(d, bytes), together)), d8,
               reinterpret_cast<std::uint8_t*>(to));
  }
}

#else

/// Three bytes each, packed to whole words: a third of the stores.
HWY_INLINE void move_triples(std::byte* to, const std::byte* base, const std::int32_t* offset,
                             int count) {
  for (int i = 0; i < count; i += kRemapGroup, to += 3 * kRemapGroup) {
    std::uint64_t p[kRemapGroup];
    for (int k = 0; k < kRemapGroup; ++k) {
      std::uint32_t pixel = 0;
      std::memcpy(&pixel, base + offset[i + k], 4);
      p[k] = pixel & 0xFFFFFFU;
    }
    const std::uint64_t words[3] = {p[0] | p[1] << 24 | p[2] << 48,
                                    p[2] >> 16 | p[3] << 8 | p[4] << 32 | p[5] << 56,
                                    p[5] >> 8 | p[6] << 16 | p[7] << 40};
    std::memcpy(to, words, sizeof(words));
  }
}

#endif

template <class T>
HWY_INLINE void move_any(T* to, const T* base, const std::int32_t* offset, std::size_t step,
                         int count) {
  auto* out = reinterpret_cast<std::byte*>(to);
  const auto* from = reinterpret_cast<const std::byte*>(base);
  if (step == 3 && std::endian::native == std::endian::little)
    move_triples(out, from, offset, count);
  else if (step <= 4)
    move_pixels<4>(out, from, offset, step, count);
  else if (step <= 8)
    move_pixels<8>(out, from, offset, step, count);
  else if (step == 12)
    move_pixels<16>(out, from, offset, 12, count);
  else if (step <= 16)
    move_pixels<16>(out, from, offset, step, count);
  else
    for (int i = 0; i < count; ++i, out += step)
      std::memcpy(out, from + offset[i], step);
}

template <class T>
HWY_INLINE void nearest_row(ImageSpan<T> dst, ImageView<T> src, const Source source, int y,
                            const RemapRow row, T fill) {
  const auto channels = static_cast<std::size_t>(src.channels());
  for_each_group(
      dst, src, y, row, fill,
      [&](T* to, int from, int end) HWY_ATTR {
        move_any(to, src.data(), row.offset + from, channels * sizeof(T), end - from);
      },
      [&](T* to, int x) HWY_ATTR {
        const GroupInt di;
        std::int32_t xi[kRemapGroup], yi[kRemapGroup];
        for (int j = 0; j < kRemapGroup; j += static_cast<int>(hn::Lanes(di))) {
          const Nearest n = nearest_parts(source, row.x + x + j, row.y + x + j);
          hn::StoreU(n.x, di, xi + j);
          hn::StoreU(n.y, di, yi + j);
        }
        for (int i = 0; i < kRemapGroup; ++i, to += channels) {
          if (xi[i] >= 0 && xi[i] < src.width() && yi[i] >= 0 && yi[i] < src.height())
            std::copy_n(src.row(yi[i]) + static_cast<std::size_t>(xi[i]) * channels, channels, to);
          else
            std::fill_n(to, channels, fill);
        }
      });
}

template <class T>
HWY_INLINE void nearest_frames(const Frames<T>& frames, int y, const RemapRow row, T fill) {
  complete_row(row);
  Source source;
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const ImageView<T> src = frames.src[f];
    if (f == 0 || src.pitch_bytes() != frames.src[f - 1].pitch_bytes()) {
      const std::size_t step = static_cast<std::size_t>(src.channels()) * sizeof(T);
      const std::size_t loads = step <= 4 ? 4 : step <= 8 ? 8 : std::max(step, std::size_t{16});
      source = Source::of(src, loads, 1);
      make_nearest(source, row);
    }
    nearest_row(frames.dst[f], src, source, y, row, fill);
  }
}

constexpr int kFraction = 32;

/// start + i * step, in 1 / 2^32.
struct Line {
  std::int64_t start = 0;
  std::int64_t step = 0;
};

/// Narrows first..end to the i with 0 <= line(i) < limit; end may come to lie before first.
inline void narrow(std::int64_t& first, std::int64_t& end, Line line, std::int64_t limit) {
  if (line.step == 0) {
    if (line.start < 0 || line.start >= limit) end = 0;
    return;
  }
  const auto down = [](std::int64_t a, std::int64_t b) {  // a / b, rounded down; b > 0
    return a / b - (a % b < 0 ? 1 : 0);
  };
  // the last i below 0, and the first at or beyond the limit, walking upwards
  const bool rises = line.step > 0;
  const std::int64_t step = rises ? line.step : -line.step;
  const std::int64_t to_low = rises ? -line.start : line.start - limit + 1;
  const std::int64_t to_high = rises ? limit - line.start : line.start + 1;
  first = std::max(first, down(to_low + step - 1, step));
  end = std::min(end, down(to_high + step - 1, step));
}

/// offset[k] of the pixel first + k; whole vectors.
HWY_INLINE void line_offsets(const Source src, std::int32_t* offset, Line x, Line y,
                             std::int64_t first, std::int64_t count) {
  const hn::FixedTag<std::int64_t, 2> d;
  const GroupInt di;
  const auto at = [&](Line line, std::int64_t i) HWY_ATTR {
    const std::int64_t lanes[2] = {line.start + (first + i) * line.step,
                                   line.start + (first + i + 1) * line.step};
    return hn::LoadU(d, lanes);
  };
  const auto step_x = hn::Set(d, 4 * x.step), step_y = hn::Set(d, 4 * y.step);
  auto xa = at(x, 0), xb = at(x, 2), ya = at(y, 0), yb = at(y, 2);
  const auto pitch = hn::Set(di, src.pitch), step = hn::Set(di, src.step);
  for (std::int64_t i = 0; i < count; i += 4) {
    // the upper halves are the whole pixels
    const auto xi = hn::ConcatOdd(di, hn::BitCast(di, xb), hn::BitCast(di, xa));
    const auto yi = hn::ConcatOdd(di, hn::BitCast(di, yb), hn::BitCast(di, ya));
    hn::StoreU(hn::Add(hn::Mul(yi, pitch), hn::Mul(xi, step)), di, offset + i);
    xa = hn::Add(xa, step_x);
    xb = hn::Add(xb, step_x);
    ya = hn::Add(ya, step_y);
    yb = hn::Add(yb, step_y);
  }
}

template <class T>
HWY_INLINE void line_row(ImageSpan<T> dst, ImageView<T> src, const Source source, int y,
                         const std::int32_t* offset, int first, int end, T fill) {
  const auto channels = static_cast<std::size_t>(src.channels());
  const std::size_t step = channels * sizeof(T);
  T* const out = dst.row(y);
  const auto at = [&](int x) { return out + static_cast<std::size_t>(x) * channels; };
  std::fill(out, at(first), fill);
  int x = first;
  // The corner where a load would go beyond the image can only be at an end of the stretch.
  if (first < end && offset[0] <= source.limit && offset[end - 1 - first] <= source.limit) {
    const int room = static_cast<int>((kStoreReach + channels - 1) / channels);
    const int groups = (std::min(end, dst.width() - room) - first) / kRemapGroup;
    if (groups > 0) {
      move_any(at(x), src.data(), offset, step, groups * kRemapGroup);
      x += groups * kRemapGroup;
    }
  }
  for (; x < end; ++x)
    std::memcpy(at(x), reinterpret_cast<const std::byte*>(src.data()) + offset[x - first], step);
  std::fill(at(end), out + dst.row_samples(), fill);
}

template <class T>
HWY_INLINE bool affine_frames(const Frames<T>& frames, const RemapRow row,
                              const std::array<double, 6>& m, T fill) {
  const ImageSpan<T> dst = frames.dst[0];
  const std::size_t step = static_cast<std::size_t>(dst.channels()) * sizeof(T);
  const std::size_t loads = step <= 4 ? 4 : step <= 8 ? 8 : std::max(step, std::size_t{16});
  const double w = dst.width(), h = dst.height();
  constexpr double kMost = 1 << 29;  // so that sums of both axes keep 32 bits of fraction
  for (int axis = 0; axis < 6; axis += 3)
    if (!(std::abs(m[static_cast<std::size_t>(axis)]) * w +
              std::abs(m[static_cast<std::size_t>(axis + 1)]) * h +
              std::abs(m[static_cast<std::size_t>(axis + 2)]) <
          kMost))
      return false;
  for (std::size_t f = 0; f < frames.size(); ++f)
    if (!Source::of(frames.src[f], loads, 1).addressable) return false;
  const auto fixed = [](double v) { return std::llround(std::ldexp(v, kFraction)); };
  const Line x0 = {0, fixed(m[0])}, y0 = {0, fixed(m[3])};
  for (int y = 0; y < dst.height(); ++y) {
    const Line lx = {fixed(m[1] * y + m[2] + 0.5), x0.step};
    const Line ly = {fixed(m[4] * y + m[5] + 0.5), y0.step};
    std::int64_t first = 0, end = dst.width();
    narrow(first, end, lx, std::int64_t{frames.src[0].width()} << kFraction);
    narrow(first, end, ly, std::int64_t{frames.src[0].height()} << kFraction);
    first = std::min(first, std::int64_t{dst.width()});
    end = std::max(first, end);  // at most the width, as it began
    Source source;
    for (std::size_t f = 0; f < frames.size(); ++f) {
      if (f == 0 || frames.src[f].pitch_bytes() != frames.src[f - 1].pitch_bytes()) {
        source = Source::of(frames.src[f], loads, 1);
        line_offsets(source, row.offset, lx, ly, first, end - first);
      }
      line_row(frames.dst[f], frames.src[f], source, y, row.offset, static_cast<int>(first),
               static_cast<int>(end), fill);
    }
  }
  return true;
}

void nearest_u8(const Frames<std::uint8_t>& frames, int y, const RemapRow row, std::uint8_t fill) {
  nearest_frames(frames, y, row, fill);
}
void nearest_f32(const Frames<float>& frames, int y, const RemapRow row, float fill) {
  nearest_frames(frames, y, row, fill);
}

bool affine_u8(const Frames<std::uint8_t>& frames, const RemapRow row,
               const std::array<double, 6>& matrix, std::uint8_t fill) {
  return affine_frames(frames, row, matrix, fill);
}
bool affine_f32(const Frames<float>& frames, const RemapRow row,
                const std::array<double, 6>& matrix, float fill) {
  return affine_frames(frames, row, matrix, fill);
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(affine_u8);
HWY_EXPORT(affine_f32);
HWY_EXPORT(nearest_u8);
HWY_EXPORT(nearest_f32);

void remap_row_nearest(const Frames<std::uint8_t>& frames, int y, const RemapRow& row,
                       std::uint8_t fill) {
  HWY_DYNAMIC_DISPATCH(nearest_u8)(frames, y, row, fill);
}
void remap_row_nearest(const Frames<float>& frames, int y, const RemapRow& row, float fill) {
  HWY_DYNAMIC_DISPATCH(nearest_f32)(frames, y, row, fill);
}

bool warp_nearest_affine(const Frames<std::uint8_t>& frames, const RemapRow& row,
                         const std::array<double, 6>& matrix, std::uint8_t fill) {
  return HWY_DYNAMIC_DISPATCH(affine_u8)(frames, row, matrix, fill);
}
bool warp_nearest_affine(const Frames<float>& frames, const RemapRow& row,
                         const std::array<double, 6>& matrix, float fill) {
  return HWY_DYNAMIC_DISPATCH(affine_f32)(frames, row, matrix, fill);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
