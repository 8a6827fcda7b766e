// sluice/aug/kernels/remap_bilinear_u8.cpp - a bilinear warp of u8 rows, compiled once per
// instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/remap.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/remap_bilinear_u8.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on
#include "sluice/aug/kernels/remap_groups-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

using Bytes = hn::FixedTag<std::uint8_t, 16>;
using HalfBytes = hn::FixedTag<std::uint8_t, 8>;
using Words = hn::FixedTag<std::uint16_t, 8>;
using SignedWords = hn::FixedTag<std::int16_t, 8>;

/// What the taps of a group are read from: the source itself, or a patch.
struct Taps {
  const std::uint8_t* base;
  std::size_t pitch;
  const std::int32_t* offset;
  const std::uint8_t* wx;
  const std::int16_t* wy;
};

constexpr int kBitsX = 8, kBitsY = 10;
constexpr int kShiftY = 15 - kBitsY;  // rows' weights are in 1 / 32,768

struct Whole {
  hn::Vec<GroupInt> x, y;    // in 1 / 2^bits
  hn::Vec<GroupInt> xi, yi;  // rounded down
};

HWY_INLINE Whole whole_parts_of(hn::Vec<GroupFloat> x, hn::Vec<GroupFloat> y) {
  const GroupFloat d;
  const auto qx = hn::NearestInt(hn::Mul(x, hn::Set(d, 1 << kBitsX)));
  const auto qy = hn::NearestInt(hn::Mul(y, hn::Set(d, 1 << kBitsY)));
  return {qx, qy, hn::ShiftRight<kBitsX>(qx), hn::ShiftRight<kBitsY>(qy)};
}

/// Of any coordinates: those far away become near ones outside.
HWY_INLINE Whole whole_parts(const Source src, const float* x, const float* y) {
  const GroupFloat d;
  return whole_parts_of(bounded(hn::LoadU(d, x), -2.0F, static_cast<float>(src.width + 1)),
                        bounded(hn::LoadU(d, y), -2.0F, static_cast<float>(src.height + 1)));
}

HWY_INLINE hn::Vec<GroupInt> offset_of(const Source src, const Whole& w) {
  const GroupInt d;
  return hn::Add(hn::Mul(w.yi, hn::Set(d, src.pitch)), hn::Mul(w.xi, hn::Set(d, src.step)));
}

/// Writes the weights of the group at j: low bits of both halves, brought together.
HWY_INLINE void put_weights(const RemapRow row, int j, const Whole& a, const Whole& b) {
  const SignedWords d;
  const Words du;
  const auto x = hn::ConcatEven(du, hn::BitCast(du, b.x), hn::BitCast(du, a.x));
  const auto y = hn::ConcatEven(d, hn::BitCast(d, b.y), hn::BitCast(d, a.y));
#if HWY_TARGET == HWY_NEON
  vst1_u8(row.wx + j, vmovn_u16(x.raw));
#else
  const auto low = hn::And(x, hn::Set(du, (1 << kBitsX) - 1));
  hn::StoreU(hn::DemoteTo(HalfBytes(), hn::BitCast(d, low)), HalfBytes(), row.wx + j);
#endif
  hn::StoreU(hn::ShiftLeft<kShiftY>(hn::And(y, hn::Set(d, (1 << kBitsY) - 1))), d, row.wy + j);
}

/// Taps of pixels from..to, which lie inside.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
HWY_INLINE void inside_taps(const Source src, const RemapRow row, int from, int to) {
  const hn::FixedTag<float, kRemapGroup> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto pitch = hn::Set(di, src.pitch), step = hn::Set(di, src.step);
  for (int j = from; j < to; j += kRemapGroup) {
    const auto x = hn::NearestInt(hn::Mul(hn::LoadU(d, row.x + j), hn::Set(d, 1 << kBitsX)));
    const auto y = hn::NearestInt(hn::Mul(hn::LoadU(d, row.y + j), hn::Set(d, 1 << kBitsY)));
    const auto offset = hn::Add(hn::Mul(hn::ShiftRight<kBitsY>(y), pitch),
                                hn::Mul(hn::ShiftRight<kBitsX>(x), step));
    hn::StoreU(offset, di, row.offset + j);
    const auto wx = hn::And(x, hn::Set(di, (1 << kBitsX) - 1));
    const auto wy = hn::ShiftLeft<kShiftY>(hn::And(y, hn::Set(di, (1 << kBitsY) - 1)));
    hn::StoreU(hn::DemoteTo(HalfBytes(), wx), HalfBytes(), row.wx + j);
    hn::StoreU(hn::DemoteTo(SignedWords(), wy), SignedWords(), row.wy + j);
  }
}
#else
HWY_INLINE void inside_taps(const Source src, const RemapRow row, int from, int to) {
  const GroupFloat d;
  const GroupInt di;
  for (int j = from; j < to; j += kRemapGroup) {
    const float *x = row.x + j, *y = row.y + j;
    const Whole a = whole_parts_of(hn::LoadU(d, x), hn::LoadU(d, y));
    const Whole b = whole_parts_of(hn::LoadU(d, x + 4), hn::LoadU(d, y + 4));
    hn::StoreU(offset_of(src, a), di, row.offset + j);
    hn::StoreU(offset_of(src, b), di, row.offset + j + 4);
    put_weights(row, j, a, b);
  }
}
#endif

void make_taps(const Source src, const RemapRow row) {
  const GroupInt di;
  for_each_block(
      src, row, [&](int from, int to) HWY_ATTR { inside_taps(src, row, from, to); },
      [&](int from, int to) HWY_ATTR {
        for (int j = from; j < to; j += kRemapGroup) {
          const Whole a = whole_parts(src, row.x + j, row.y + j);
          const Whole b = whole_parts(src, row.x + j + 4, row.y + j + 4);
          const auto first = offset_of(src, a), second = offset_of(src, b);
          hn::StoreU(first, di, row.offset + j);
          hn::StoreU(second, di, row.offset + j + 4);
          put_weights(row, j, a, b);
          row.kind[j / kRemapGroup] =
              kind_of(src, hn::Or(outside_lanes(src, 2, a.xi, a.yi, first),
                                  outside_lanes(src, 2, b.xi, b.yi, second)));
        }
      });
}

/// taps: left pixels in the lower half, right ones in the upper; w: weight of the right, in both
/// halves. In 1/256.
HWY_INLINE hn::Vec<Words> across(hn::Vec<Bytes> taps, hn::Vec<Bytes> w) {
#if HWY_TARGET == HWY_NEON
  const uint8x8_t left = vget_low_u8(taps.raw);
  const uint16x8_t sum = vmlal_high_u8(vshll_n_u8(left, 8), taps.raw, w.raw);
  return hn::Vec<Words>(vmlsl_u8(sum, left, vget_low_u8(w.raw)));
#else
  const Words d;
  const HalfBytes dh;
  const auto left = hn::PromoteTo(d, hn::LowerHalf(dh, taps));
  const auto right = hn::PromoteTo(d, hn::UpperHalf(dh, taps));
  const auto weight = hn::PromoteTo(d, hn::LowerHalf(dh, w));
  return hn::Add(hn::ShiftLeft<8>(left), hn::Mul(hn::Sub(right, left), weight));
#endif
}

/// Half of lower - upper, which needs 17 bits before it is halved.
HWY_INLINE hn::Vec<SignedWords> half_difference(hn::Vec<Words> lower, hn::Vec<Words> upper) {
  const SignedWords di;
#if HWY_TARGET == HWY_NEON
  return hn::BitCast(di, hn::Vec<Words>(vhsubq_u16(lower.raw, upper.raw)));
#else
  const Words d;
  // the average with the complement: 0x8000 too much
  return hn::BitCast(di, hn::Xor(hn::AverageRound(lower, hn::Not(upper)), hn::Set(d, 0x8000)));
#endif
}

/// Blends two rows in 1/256 and rounds to bytes.
HWY_INLINE hn::Vec<HalfBytes> down(hn::Vec<Words> upper, hn::Vec<Words> lower,
                                   hn::Vec<SignedWords> w) {
  const SignedWords di;
  const auto start = hn::BitCast(di, hn::ShiftRight<1>(upper));
  const auto sum = hn::Add(start, hn::MulFixedPoint15(half_difference(lower, upper), w));
#if HWY_TARGET == HWY_NEON
  return hn::Vec<HalfBytes>(vqrshrun_n_s16(sum.raw, 7));
#else
  return hn::DemoteTo(HalfBytes(), hn::ShiftRight<7>(hn::Add(sum, hn::Set(di, 64))));
#endif
}

HWY_INLINE hn::Vec<Bytes> two_loads(const std::uint8_t* first, const std::uint8_t* second) {
  const HalfBytes d;
  return hn::Combine(Bytes(), hn::LoadU(d, second), hn::LoadU(d, first));
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2

using Bytes32 = hn::FixedTag<std::uint8_t, 32>;
using Words16 = hn::FixedTag<std::uint16_t, 16>;
using SignedWords16 = hn::FixedTag<std::int16_t, 16>;

/// The 16-bit arithmetic of across() and down() below, on twice as many pixels.
HWY_INLINE hn::Vec<Words16> across(hn::Vec<Words16> left, hn::Vec<Words16> right,
                                   hn::Vec<Words16> w) {
  return hn::Add(hn::ShiftLeft<8>(left), hn::Mul(hn::Sub(right, left), w));
}
HWY_INLINE hn::Vec<Words16> down(hn::Vec<Words16> upper, hn::Vec<Words16> lower,
                                 hn::Vec<SignedWords16> w) {
  const SignedWords16 di;
  const Words16 d;
  const auto half = hn::Xor(hn::AverageRound(lower, hn::Not(upper)), hn::Set(d, 0x8000));
  const auto start = hn::BitCast(di, hn::ShiftRight<1>(upper));
  const auto sum = hn::Add(start, hn::MulFixedPoint15(hn::BitCast(di, half), w));
  return hn::BitCast(d, hn::ShiftRight<7>(hn::Add(sum, hn::Set(di, 64))));  // 0 to 255
}

/// Pixels of three channels, four at a time, two in each 16 bytes: a load of eight bytes brings
/// both taps of a row, and a lookup widens them.
HWY_INLINE void pixels_rgb(std::uint8_t* to, const Taps taps, int count) {
  const Bytes32 d;
  const Bytes d16;
  constexpr std::uint8_t kNone = 0x80;
  alignas(16) static constexpr std::uint8_t kLeft[16] = {
      0, kNone, 1, kNone, 2, kNone, kNone, kNone, 8, kNone, 9, kNone, 10, kNone, kNone, kNone};
  alignas(16) static constexpr std::uint8_t kRight[16] = {
      3, kNone, 4, kNone, 5, kNone, kNone, kNone, 11, kNone, 12, kNone, 13, kNone, kNone, kNone};
  // Bytes of the pixels 0, 1 (even) and 2, 3 (odd) of 16.
  alignas(16) static constexpr std::uint8_t kPack[16] = {0, 2, 4,  8,  10, 12, 1,  3,
                                                         5, 9, 11, 13, 13, 13, 13, 13};
  // Weights of the pixels 0, 1, 4, 5 and of 2, 3, 6, 7 of a group.
  alignas(32) static constexpr std::uint8_t kTimesX[2][32] = {
      {0, kNone, 0, kNone, 0, kNone, 0, kNone, 1, kNone, 1, kNone, 1, kNone, 1, kNone,
       4, kNone, 4, kNone, 4, kNone, 4, kNone, 5, kNone, 5, kNone, 5, kNone, 5, kNone},
      {2, kNone, 2, kNone, 2, kNone, 2, kNone, 3, kNone, 3, kNone, 3, kNone, 3, kNone,
       6, kNone, 6, kNone, 6, kNone, 6, kNone, 7, kNone, 7, kNone, 7, kNone, 7, kNone}};
  alignas(32) static constexpr std::uint8_t kTimesY[2][32] = {
      {0, 1, 0, 1, 0, 1, 0, 1, 2,  3,  2,  3,  2,  3,  2,  3,
       8, 9, 8, 9, 8, 9, 8, 9, 10, 11, 10, 11, 10, 11, 10, 11},
      {4,  5,  4,  5,  4,  5,  4,  5,  6,  7,  6,  7,  6,  7,  6,  7,
       12, 13, 12, 13, 12, 13, 12, 13, 14, 15, 14, 15, 14, 15, 14, 15}};
  const auto left = hn::LoadDup128(d, kLeft), right = hn::LoadDup128(d, kRight);
  const auto pack = hn::LoadDup128(d, kPack);
  const hn::Repartition<std::uint64_t, Bytes32> d64;
  const Words16 dw;
  for (int i = 0; i < count; i += kRemapGroup, to += 3 * kRemapGroup) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, taps.wx + i, sizeof(eight));
    const auto wx = hn::BitCast(d, hn::Set(d64, eight));
    const auto wy = hn::BitCast(d, hn::LoadDup128(SignedWords16(), taps.wy + i));
    const auto four = [&](int k) HWY_ATTR {
      const std::int32_t* offset = taps.offset + i + 2 * k;
      const auto row = [&](const std::uint8_t* base, hn::Vec<Words16> weight) HWY_ATTR {
        const auto pixels = hn::Combine(d, two_loads(base + offset[4], base + offset[5]),
                                        two_loads(base + offset[0], base + offset[1]));
        return across(hn::BitCast(dw, hn::TableLookupBytesOr0(pixels, left)),
                      hn::BitCast(dw, hn::TableLookupBytesOr0(pixels, right)), weight);
      };
      const auto weight = hn::BitCast(dw, hn::TableLookupBytesOr0(wx, hn::Load(d, kTimesX[k])));
      const auto weight_y =
          hn::BitCast(SignedWords16(), hn::TableLookupBytes(wy, hn::Load(d, kTimesY[k])));
      return down(row(taps.base, weight), row(taps.base + taps.pitch, weight), weight_y);
    };
    const auto both = hn::Or(four(0), hn::ShiftLeft<8>(four(1)));
    const auto bytes = hn::TableLookupBytes(hn::BitCast(d, both), pack);
    hn::StoreU(hn::LowerHalf(d16, bytes), d16, to);
    hn::StoreU(hn::UpperHalf(d16, bytes), d16, to + 12);
  }
}

#else

/// Pixels of three channels, two at a time: a load of eight bytes brings both taps of a row.
HWY_INLINE void pixels_rgb(std::uint8_t* to, const Taps taps, int count) {
  const Bytes d;
  alignas(16) static constexpr std::uint8_t kSplit[16] = {0, 1, 2, 6, 8,  9,  10, 14,
                                                          3, 4, 5, 7, 11, 12, 13, 15};
  alignas(16) static constexpr std::uint8_t kPack[16] = {0,  1,  2,  4,  5,  6,  8,  9,
                                                         10, 12, 13, 14, 14, 14, 14, 14};
  alignas(16) static constexpr std::uint8_t kTimesX[4][16] = {
      {0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1},
      {2, 2, 2, 2, 3, 3, 3, 3, 2, 2, 2, 2, 3, 3, 3, 3},
      {4, 4, 4, 4, 5, 5, 5, 5, 4, 4, 4, 4, 5, 5, 5, 5},
      {6, 6, 6, 6, 7, 7, 7, 7, 6, 6, 6, 6, 7, 7, 7, 7}};
  alignas(16) static constexpr std::uint8_t kTimesY[4][16] = {
      {0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3},
      {4, 5, 4, 5, 4, 5, 4, 5, 6, 7, 6, 7, 6, 7, 6, 7},
      {8, 9, 8, 9, 8, 9, 8, 9, 10, 11, 10, 11, 10, 11, 10, 11},
      {12, 13, 12, 13, 12, 13, 12, 13, 14, 15, 14, 15, 14, 15, 14, 15}};
  const auto split = hn::Load(d, kSplit), pack = hn::Load(d, kPack);
  for (int i = 0; i < count; i += kRemapGroup, to += 3 * kRemapGroup) {
    const auto wx = hn::Combine(d, hn::Zero(HalfBytes()), hn::LoadU(HalfBytes(), taps.wx + i));
    const auto wy = hn::BitCast(d, hn::LoadU(SignedWords(), taps.wy + i));
    const auto pair = [&](int k) HWY_ATTR {
      const std::uint8_t* first = taps.base + taps.offset[i + 2 * k];
      const std::uint8_t* second = taps.base + taps.offset[i + 2 * k + 1];
      const auto weight = hn::TableLookupBytes(wx, hn::Load(d, kTimesX[k]));
      const auto upper = across(hn::TableLookupBytes(two_loads(first, second), split), weight);
      const auto lower = across(
          hn::TableLookupBytes(two_loads(first + taps.pitch, second + taps.pitch), split), weight);
      const auto weight_y = hn::TableLookupBytes(wy, hn::Load(d, kTimesY[k]));
      return down(upper, lower, hn::BitCast(SignedWords(), weight_y));
    };
    const auto low = hn::Combine(d, pair(1), pair(0)), high = hn::Combine(d, pair(3), pair(2));
    hn::StoreU(hn::TableLookupBytes(low, pack), d, to);
    hn::StoreU(hn::TableLookupBytes(high, pack), d, to + 12);
  }
}

#endif

/// Any number of channels, eight at a time; the last eight overlap those before.
HWY_INLINE void pixels_any(std::uint8_t* to, const Taps taps, int count, std::size_t channels) {
  const Bytes d;
  for (int i = 0; i < count; ++i, to += channels) {
    const std::uint8_t* from = taps.base + taps.offset[i];
    const auto weight = hn::Set(d, taps.wx[i]);
    const auto weight_y = hn::Set(SignedWords(), taps.wy[i]);
    const auto chunk = [&](std::size_t c) HWY_ATTR {
      const std::uint8_t* p = from + c;
      const auto upper = across(two_loads(p, p + channels), weight);
      const auto lower = across(two_loads(p + taps.pitch, p + taps.pitch + channels), weight);
      hn::StoreU(down(upper, lower, weight_y), HalfBytes(), to + c);
    };
    std::size_t c = 0;
    for (; c + 8 <= channels; c += 8)
      chunk(c);
    if (c < channels) chunk(c == 0 ? 0 : channels - 8);
  }
}

template <class GroupOf>
HWY_INLINE void row_of_frame(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src,
                             const Source source, int y, const RemapRow row, std::uint8_t fill,
                             GroupOf group) {
  const std::size_t patch_row = patch_pitch(src.channels());
  auto* const patch = reinterpret_cast<std::uint8_t*>(row.patch);
  std::int32_t patch_offset[kRemapGroup];
  for (int i = 0; i < kRemapGroup; ++i)
    patch_offset[i] = static_cast<std::int32_t>(2 * patch_row) * i;
  for_each_group(
      dst, src, y, row, fill,
      [&](std::uint8_t* to, int from, int end) HWY_ATTR {
        group(to,
              Taps{src.data(), src.pitch_bytes(), row.offset + from, row.wx + from, row.wy + from},
              end - from);
      },
      [&](std::uint8_t* to, int x) HWY_ATTR {
        const GroupInt di;
        std::int32_t xi[kRemapGroup], yi[kRemapGroup];
        for (int j = 0; j < kRemapGroup; j += static_cast<int>(hn::Lanes(di))) {
          const Whole w = whole_parts(source, row.x + x + j, row.y + x + j);
          hn::StoreU(w.xi, di, xi + j);
          hn::StoreU(w.yi, di, yi + j);
        }
        bring_together(patch, src, xi, yi, fill);
        group(to, Taps{patch, patch_row, patch_offset, row.wx + x, row.wy + x}, kRemapGroup);
      });
}

void remap_u8(const Frames<std::uint8_t>& frames, int y, const RemapRow row, std::uint8_t fill) {
  complete_row(row);
  Source source;
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const ImageView<std::uint8_t> src = frames.src[f];
    const auto channels = static_cast<std::size_t>(src.channels());
    if (f == 0 || src.pitch_bytes() != frames.src[f - 1].pitch_bytes()) {
      const std::size_t loads = channels == 3 ? 8 : channels + std::max(channels, std::size_t{8});
      source = Source::of(src, loads, 2);
      make_taps(source, row);
    }
    if (channels == 3)
      row_of_frame(frames.dst[f], src, source, y, row, fill,
                   [](std::uint8_t* to, const Taps& taps, int count)
                       HWY_ATTR { pixels_rgb(to, taps, count); });
    else
      row_of_frame(frames.dst[f], src, source, y, row, fill,
                   [=](std::uint8_t* to, const Taps& taps, int count)
                       HWY_ATTR { pixels_any(to, taps, count, channels); });
  }
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(remap_u8);

void remap_row_bilinear(const Frames<std::uint8_t>& frames, int y, const RemapRow& row,
                        std::uint8_t fill) {
  HWY_DYNAMIC_DISPATCH(remap_u8)(frames, y, row, fill);
}

RemapRow take_remap_row(Scratch& scratch, int width, int channels, std::size_t sample_bytes) {
  const auto padded =
      static_cast<std::size_t>((width + kRemapGroup - 1) / kRemapGroup) * std::size_t{kRemapGroup};
  const auto pixel = static_cast<std::size_t>(channels);
  RemapRow row;
  row.width = width;
  row.x = scratch.take<float>(padded).data();
  row.y = scratch.take<float>(padded).data();
  row.offset = scratch.take<std::int32_t>(padded).data();
  row.share_x = scratch.take<float>(padded).data();
  row.share_y = scratch.take<float>(padded).data();
  row.wx = scratch.take<std::uint8_t>(padded).data();
  row.wy = scratch.take<std::int16_t>(padded).data();
  row.kind = scratch.take<std::uint8_t>(padded / kRemapGroup).data();
  row.patch = scratch.take<std::byte>(kRemapGroup * 2 * (2 * pixel + 16) * sample_bytes).data();
  row.tail = scratch.take<std::byte>((kRemapGroup * pixel + 16) * sample_bytes).data();
  return row;
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
