// sluice/aug/kernels/plasma.cpp - the fractal lattice and what is done with it, compiled once per
// instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/plasma.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/plasma.cpp"
// clang-format off
#include <hwy/foreach_target.h>  // compiles this file once per target and must come first
#include <hwy/highway.h>
// clang-format on
#include "sluice/aug/kernels/random-inl.h"
#include "sluice/aug/kernels/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

using U16 = hn::ScalableTag<std::uint16_t>;
using I16 = hn::ScalableTag<std::int16_t>;

/// row[x] += noise * amplitude >> 16
HWY_INLINE void add_octave(std::uint16_t* row, std::size_t side, NoiseStream stream,
                           std::uint32_t first_word, std::uint16_t amplitude) {
  const U16 d;
  const auto scale = hn::Set(d, amplitude);
  NoiseWords words(stream, first_word);
  for (std::size_t x = 0; x < side; x += hn::Lanes(d)) {
    const auto noise = hn::MulHigh(hn::BitCast(d, words.next()), scale);
    hn::StoreU(hn::Add(hn::LoadU(d, row + x), noise), d, row + x);
  }
}

/// One row of twice the cells: points, and points between them, of the mean of two rows.
HWY_INLINE void double_row(std::uint16_t* dst, const std::uint16_t* above,
                           const std::uint16_t* below, std::size_t side) {
  const U16 d;
  for (std::size_t x = 0; x < side; x += hn::Lanes(d)) {
    const auto here = hn::AverageRound(hn::LoadU(d, above + x), hn::LoadU(d, below + x));
    const auto next = hn::AverageRound(hn::LoadU(d, above + x + 1), hn::LoadU(d, below + x + 1));
    hn::StoreInterleaved2(here, hn::AverageRound(here, next), d, dst + 2 * x);
  }
}

void stretch_lattice(std::uint16_t* lattice) {
  const U16 d;
  auto low = hn::Set(d, 65535), high = hn::Zero(d);
  std::uint16_t lowest = 65535, highest = 0;
  for (std::size_t y = 0; y < kPlasmaSide; ++y) {
    const std::uint16_t* const row = lattice + y * kPlasmaPitch;
    for (std::size_t x = 0; x + 1 < kPlasmaSide; x += hn::Lanes(d)) {
      const auto v = hn::LoadU(d, row + x);
      low = hn::Min(low, v);
      high = hn::Max(high, v);
    }
    lowest = std::min(lowest, row[kPlasmaSide - 1]);
    highest = std::max(highest, row[kPlasmaSide - 1]);
  }
  HWY_ALIGN std::uint16_t lows[HWY_MAX_BYTES / 2], highs[HWY_MAX_BYTES / 2];
  hn::Store(low, d, lows);
  hn::Store(high, d, highs);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
    lowest = std::min(lowest, lows[i]);
    highest = std::max(highest, highs[i]);
  }
  const PlasmaStretch stretch = plasma_stretch_of(lowest, highest);
  const auto base = hn::Set(d, lowest), factor = hn::Set(d, stretch.factor);
  const int shift = stretch.shift;
  for (std::size_t y = 0; y < kPlasmaSide; ++y)
    for (std::size_t x = 0; x < kPlasmaSide; x += hn::Lanes(d)) {
      std::uint16_t* const at = lattice + y * kPlasmaPitch + x;
      const auto above = hn::ShiftLeftSame(hn::Sub(hn::LoadU(d, at), base), shift);
      hn::StoreU(hn::MulHigh(above, factor), d, at);
    }
}

const std::uint16_t* make_lattice(std::uint16_t* one, std::uint16_t* other, std::uint64_t key,
                                  const std::uint16_t* amplitudes) {
  std::uint16_t *fine = one, *coarse = other;
  for (std::size_t y = 0; y < 3; ++y) {
    std::fill_n(fine + y * kPlasmaPitch, 3, std::uint16_t{0});
    add_octave(fine + y * kPlasmaPitch, 3, noise_stream(key, 0), static_cast<std::uint32_t>(2 * y),
               amplitudes[0]);
  }
  std::size_t side = 3;
  for (std::uint32_t octave = 1; octave < kPlasmaOctaves; ++octave) {
    std::swap(fine, coarse);
    const std::size_t before = side;
    side = 2 * side - 1;
    const std::size_t row_words = (side + 1) / 2;
    const NoiseStream stream = noise_stream(key, octave);
    for (std::size_t y = 0; y < side; ++y) {
      const std::uint16_t* const above = coarse + y / 2 * kPlasmaPitch;
      std::uint16_t* const row = fine + y * kPlasmaPitch;
      double_row(row, above, above + y % 2 * kPlasmaPitch, before);
      add_octave(row, side, stream, static_cast<std::uint32_t>(y * row_words), amplitudes[octave]);
    }
  }
  stretch_lattice(fine);
  return fine;
}

void stretch_row(std::int16_t* dst, const std::uint16_t* lattice_row,
                 const PlasmaColumns& columns) {
  const auto* const row = reinterpret_cast<const std::int16_t*>(lattice_row);
  if (!columns.near) {
    for (std::size_t i = 0; i < columns.count; ++i) {
      const int left = row[columns.index[i]], right = row[columns.index[i] + 1];
      dst[i] = static_cast<std::int16_t>(
          left + (((right - left) * columns.fraction[i] + (1 << 14)) >> 15));
    }
    return;
  }
  const hn::FixedTag<std::int16_t, 8> d;
  const hn::FixedTag<std::uint8_t, 16> d8;
  for (std::size_t i = 0; i < columns.count; i += 8) {
    const std::int16_t* const from = row + columns.index[i];
    const auto shuffle = hn::Load(d8, columns.shuffle + 2 * i);
    const auto pick = [&](const std::int16_t* at) HWY_ATTR {
      return hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(d8, hn::LoadU(d, at)), shuffle));
    };
    const auto left = pick(from), right = pick(from + 1);
    const auto fraction = hn::Load(d, columns.fraction + i);
    hn::StoreU(hn::Add(left, hn::MulFixedPoint15(hn::Sub(right, left), fraction)), d, dst + i);
  }
}

/// The pattern from sample i on, 0 to 1 in steps of 2^-15.
class Pattern {
 public:
  HWY_INLINE explicit Pattern(const PlasmaRow& row)
      : above_(row.above), below_(row.below), fraction_(hn::Set(I16(), row.fraction)) {}
  HWY_INLINE hn::Vec<I16> at(std::size_t i) const {
    const I16 d;
    const auto above = hn::LoadU(d, above_ + i);
    return hn::Add(above, hn::MulFixedPoint15(hn::Sub(hn::LoadU(d, below_ + i), above), fraction_));
  }
  /// As single precision, a quarter of the bytes at a time.
  HWY_INLINE hn::Vec<hn::ScalableTag<float>> single(std::size_t i) const {
    const hn::ScalableTag<float> d;
    const hn::RebindToSigned<decltype(d)> di;
    const hn::Rebind<std::int16_t, decltype(d)> dh;
    const auto part = [&](const std::int16_t* from) HWY_ATTR {
      return hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(dh, from + i)));
    };
    const auto above = part(above_);
    const auto weight = hn::Set(d, static_cast<float>(hn::GetLane(fraction_)) * 0x1p-15F);
    const auto mixed = hn::MulAdd(hn::Sub(part(below_), above), weight, above);
    return hn::Mul(mixed, hn::Set(d, 0x1p-15F));
  }

 private:
  const std::int16_t* above_;
  const std::int16_t* below_;
  hn::Vec<I16> fraction_;
};

/// each(x, p) makes a result with `kBits` fraction bits of samples with as many.
template <int kBits, class Each>
HWY_INLINE void apply_u8(std::uint8_t* dst, const std::uint8_t* src, const PlasmaRow& row,
                         std::size_t count, Each each) {
  const hn::ScalableTag<std::uint8_t> d;
  const Pattern pattern(row);
  each_vector(dst, src, count, hn::Lanes(d),
              [&](std::uint8_t* to, const std::uint8_t* from, std::size_t i) HWY_ATTR {
                const auto x = hn::LoadU(d, from);
                const auto low = each(hn::ShiftLeft<kBits>(lower_i16(x)), pattern.at(i));
                const auto high =
                    each(hn::ShiftLeft<kBits>(upper_i16(x)), pattern.at(i + hn::Lanes(I16())));
                hn::StoreU(join_u8(hn::ShiftRight<kBits>(low), hn::ShiftRight<kBits>(high)), d, to);
              });
}
template <class Each>
HWY_INLINE void apply_f32(float* dst, const float* src, const PlasmaRow& row, std::size_t count,
                          Each each) {
  const hn::ScalableTag<float> d;
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0F);
  const Pattern pattern(row);
  each_vector(dst, src, count, hn::Lanes(d),
              [&](float* to, const float* from, std::size_t i) HWY_ATTR {
                const auto value = each(hn::LoadU(d, from), pattern.single(i));
                hn::StoreU(hn::Min(hn::Max(value, zero), one), d, to);
              });
}

void brighten_u8(std::uint8_t* dst, const std::uint8_t* src, const PlasmaRow& row,
                 std::size_t count, std::int16_t strength) {
  const I16 d;
  const auto scale = hn::Set(d, strength), half = hn::Set(d, 32);
  apply_u8<6>(dst, src, row, count, [&](auto x, auto p) HWY_ATTR {
    return hn::Add(hn::Add(x, half), hn::MulFixedPoint15(p, scale));
  });
}
void contrast_u8(std::uint8_t* dst, const std::uint8_t* src, const PlasmaRow& row,
                 std::size_t count, std::int16_t strength, std::int16_t mean) {
  const I16 d;
  const auto scale = hn::Set(d, strength), middle = hn::Set(d, mean), half = hn::Set(d, 32);
  apply_u8<6>(dst, src, row, count, [&](auto x, auto p) HWY_ATTR {
    const auto part = hn::MulFixedPoint15(hn::Sub(x, middle), hn::MulFixedPoint15(p, scale));
    return hn::Add(hn::Add(x, half), part);
  });
}
void shade_u8(std::uint8_t* dst, const std::uint8_t* src, const PlasmaRow& row, std::size_t count,
              std::int16_t strength) {
  const I16 d;
  const auto scale = hn::Set(d, strength);
  apply_u8<7>(dst, src, row, count, [&](auto x, auto p) HWY_ATTR {
    return hn::Sub(x, hn::MulFixedPoint15(x, hn::MulFixedPoint15(p, scale)));
  });
}

void brighten_f32(float* dst, const float* src, const PlasmaRow& row, std::size_t count,
                  float strength) {
  const auto scale = hn::Set(hn::ScalableTag<float>(), strength);
  apply_f32(dst, src, row, count, [&](auto x, auto p) HWY_ATTR { return hn::MulAdd(p, scale, x); });
}
void contrast_f32(float* dst, const float* src, const PlasmaRow& row, std::size_t count,
                  float strength, float mean) {
  const hn::ScalableTag<float> d;
  const auto scale = hn::Set(d, strength), middle = hn::Set(d, mean);
  apply_f32(dst, src, row, count, [&](auto x, auto p) HWY_ATTR {
    return hn::MulAdd(hn::Mul(p, scale), hn::Sub(x, middle), x);
  });
}
void shade_f32(float* dst, const float* src, const PlasmaRow& row, std::size_t count,
               float strength) {
  const auto scale = hn::Set(hn::ScalableTag<float>(), strength);
  apply_f32(dst, src, row, count,
            [&](auto x, auto p) HWY_ATTR { return hn::NegMulAdd(hn::Mul(p, scale), x, x); });
}

double sum_u8(const std::uint8_t* src, std::size_t count) {
  const hn::ScalableTag<std::uint8_t> d;
  const hn::ScalableTag<std::uint64_t> d64;
  auto sums = hn::Zero(d64);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d))
    sums = hn::Add(sums, hn::SumsOf8(hn::LoadU(d, src + i)));
  std::uint64_t total = hn::GetLane(hn::SumOfLanes(d64, sums));
  for (; i < count; ++i)
    total += src[i];
  return static_cast<double>(total);
}

double sum_f32(const float* src, std::size_t count) {
  const hn::ScalableTag<float> d;
  double total = 0;
  constexpr std::size_t kStretch =
      1024;  // short, so that single precision loses nothing that counts
  for (std::size_t start = 0; start < count; start += kStretch) {
    const std::size_t end = std::min(count, start + kStretch);
    auto sums = hn::Zero(d);
    std::size_t i = start;
    for (; i + hn::Lanes(d) <= end; i += hn::Lanes(d))
      sums = hn::Add(sums, hn::LoadU(d, src + i));
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sums)));
    for (; i < end; ++i)
      total += static_cast<double>(src[i]);
  }
  return total;
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(make_lattice);
HWY_EXPORT(stretch_row);
HWY_EXPORT(brighten_u8);
HWY_EXPORT(brighten_f32);
HWY_EXPORT(contrast_u8);
HWY_EXPORT(contrast_f32);
HWY_EXPORT(shade_u8);
HWY_EXPORT(shade_f32);
HWY_EXPORT(sum_u8);
HWY_EXPORT(sum_f32);

namespace {
std::int16_t fixed(double value, double one) {
  return static_cast<std::int16_t>(std::clamp(std::floor(value * one + 0.5), -32767.0, 32767.0));
}
}  // namespace

const std::uint16_t* plasma_lattice(std::uint16_t* one, std::uint16_t* other, std::uint64_t key,
                                    const std::uint16_t* amplitudes) {
  return HWY_DYNAMIC_DISPATCH(make_lattice)(one, other, key, amplitudes);
}

PlasmaColumns plasma_columns(const std::uint16_t* index, const std::int16_t* fraction,
                             std::uint8_t* shuffle, std::size_t count) {
  PlasmaColumns columns{index, fraction, shuffle, count, true};
  for (std::size_t i = 0; i < count; ++i) {
    const int off = index[i] - index[i / 8 * 8];
    columns.near = columns.near && off < 8;
    shuffle[2 * i] = static_cast<std::uint8_t>(2 * off);
    shuffle[2 * i + 1] = static_cast<std::uint8_t>(2 * off + 1);
  }
  return columns;
}
void plasma_stretch_row(std::int16_t* dst, const std::uint16_t* lattice_row,
                        const PlasmaColumns& columns) {
  HWY_DYNAMIC_DISPATCH(stretch_row)(dst, lattice_row, columns);
}

void plasma_brighten(std::uint8_t* dst, const std::uint8_t* src, const PlasmaRow& row,
                     std::size_t count, double strength) {
  HWY_DYNAMIC_DISPATCH(brighten_u8)(dst, src, row, count, fixed(strength, 255 * 64));
}
void plasma_brighten(float* dst, const float* src, const PlasmaRow& row, std::size_t count,
                     double strength) {
  HWY_DYNAMIC_DISPATCH(brighten_f32)(dst, src, row, count, static_cast<float>(strength));
}
void plasma_contrast(std::uint8_t* dst, const std::uint8_t* src, const PlasmaRow& row,
                     std::size_t count, double strength, double mean) {
  HWY_DYNAMIC_DISPATCH(contrast_u8)
  (dst, src, row, count, fixed(strength, 32768), fixed(mean, 64));
}
void plasma_contrast(float* dst, const float* src, const PlasmaRow& row, std::size_t count,
                     double strength, double mean) {
  HWY_DYNAMIC_DISPATCH(contrast_f32)
  (dst, src, row, count, static_cast<float>(strength), static_cast<float>(mean));
}
void plasma_shade(std::uint8_t* dst, const std::uint8_t* src, const PlasmaRow& row,
                  std::size_t count, double strength) {
  HWY_DYNAMIC_DISPATCH(shade_u8)(dst, src, row, count, fixed(strength, 32768));
}
void plasma_shade(float* dst, const float* src, const PlasmaRow& row, std::size_t count,
                  double strength) {
  HWY_DYNAMIC_DISPATCH(shade_f32)(dst, src, row, count, static_cast<float>(strength));
}
double sum_of(const std::uint8_t* src, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(sum_u8)(src, count);
}
double sum_of(const float* src, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(sum_f32)(src, count);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
