// sluice/aug/kernels/byte_map.cpp - linear byte maps in 16-bit arithmetic, compiled once per
// instruction set. Versions and timings: bench/kernels/byte_map.md.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/byte_map.h"

#include "sluice/aug/kernels/lut.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/byte_map.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "sluice/aug/kernels/map_ahead-inl.h"

#include <hwy/cache_control.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using MapTag = hn::ScalableTag<std::uint8_t>;
using MapVec = hn::Vec<MapTag>;

/// t of every byte.
#if HWY_TARGET == HWY_NEON
template <bool kMinus, bool kShifted = true>
struct Scaled {
  explicit Scaled(const ByteMap& map)
      : mul(vdupq_n_u8(map.mul)),
        bias(vdupq_n_u16(map.bias)),
        back(vdupq_n_s8(static_cast<std::int8_t>(8 - map.shift))) {}

  HWY_INLINE MapVec operator()(MapVec x) const {
    const uint16x8_t low = vmull_u8(vget_low_u8(x.raw), vget_low_u8(mul));
    const uint16x8_t high = vmull_high_u8(x.raw, mul);
    // The narrowing sum takes the high bytes: the shift by 8 is free.
    const uint8x16_t t = kMinus ? vsubhn_high_u16(vsubhn_u16(bias, low), bias, high)
                                : vaddhn_high_u16(vaddhn_u16(bias, low), bias, high);
    return MapVec(kShifted ? vshlq_u8(t, back) : t);
  }

  uint8x16_t mul;
  uint16x8_t bias;
  int8x16_t back;
};
#else
template <bool kMinus, bool kShifted = true>
struct Scaled {
  using Wide = hn::Repartition<std::uint16_t, MapTag>;

  explicit Scaled(const ByteMap& map)
      : mul(hn::Set(Wide(), map.mul)), bias(hn::Set(Wide(), map.bias)), shift(map.shift) {}

  HWY_INLINE MapVec operator()(MapVec x) const {
    const auto pairs = hn::BitCast(Wide(), x);
    const auto even = scaled(hn::And(pairs, hn::Set(Wide(), 0xFF)));
    const auto odd = scaled(hn::ShiftRight<8>(pairs));
    return hn::BitCast(MapTag(), hn::Or(even, hn::ShiftLeft<8>(odd)));
  }
  template <class W>
  HWY_INLINE W scaled(W x) const {
    const auto product = hn::Mul(x, mul);
    return hn::ShiftRightSame(kMinus ? hn::Sub(bias, product) : hn::Add(bias, product), shift);
  }

  hn::Vec<Wide> mul;
  hn::Vec<Wide> bias;
  int shift;
};
#endif

template <class Op>
HWY_INLINE std::size_t each_vector(std::uint8_t* dst, const std::uint8_t* src, std::size_t count,
                                   Op op) {
  if (kAskBeforeStores && count >= kPastCaches) return map_ahead(dst, src, count, op);
  const MapTag d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t kAhead = 1024;  // bytes: the arithmetic hides no misses of its own
  std::size_t i = 0;
  // Eight results before their stores: four, or a store behind each, cost a fifth more.
  for (; i + 8 * lanes <= count; i += 8 * lanes) {
    for (std::size_t line = 0; line < 8 * lanes; line += kLine)
      hwy::Prefetch(src + i + kAhead + line);
    const std::uint8_t* from = src + i;
    const auto a = op(hn::LoadU(d, from)), b = op(hn::LoadU(d, from + lanes));
    const auto c = op(hn::LoadU(d, from + 2 * lanes)), e = op(hn::LoadU(d, from + 3 * lanes));
    const auto f = op(hn::LoadU(d, from + 4 * lanes)), g = op(hn::LoadU(d, from + 5 * lanes));
    const auto h = op(hn::LoadU(d, from + 6 * lanes)), k = op(hn::LoadU(d, from + 7 * lanes));
    std::uint8_t* to = dst + i;
    hn::StoreU(a, d, to);
    hn::StoreU(b, d, to + lanes);
    hn::StoreU(c, d, to + 2 * lanes);
    hn::StoreU(e, d, to + 3 * lanes);
    hn::StoreU(f, d, to + 4 * lanes);
    hn::StoreU(g, d, to + 5 * lanes);
    hn::StoreU(h, d, to + 6 * lanes);
    hn::StoreU(k, d, to + 7 * lanes);
  }
  return i;
}

template <bool kMinus, bool kShifted>
std::size_t linear_vectors(std::uint8_t* dst, const std::uint8_t* src, std::size_t count,
                           const ByteMap& map) {
  const Scaled<kMinus, kShifted> scaled(map);
  const auto drop = hn::Set(MapTag(), map.drop);
  if (!map.keep)
    return each_vector(dst, src, count,
                       [=](MapVec x) HWY_ATTR { return hn::SaturatedSub(scaled(x), drop); });
  if (map.drop == 0)
    return each_vector(dst, src, count,
                       [=](MapVec x) HWY_ATTR { return hn::SaturatedAdd(x, scaled(x)); });
  return each_vector(dst, src, count, [=](MapVec x) HWY_ATTR {
    // One of the two differences is 0, so that only the end result saturates.
    const auto t = scaled(x);
    return hn::SaturatedSub(hn::SaturatedAdd(x, hn::SaturatedSub(t, drop)),
                            hn::SaturatedSub(drop, t));
  });
}

void linear_bytes(std::uint8_t* dst, const std::uint8_t* src, std::size_t count,
                  const ByteMap& map) {
  const std::size_t done = map.minus        ? linear_vectors<true, true>(dst, src, count, map)
                           : map.shift == 8 ? linear_vectors<false, false>(dst, src, count, map)
                                            : linear_vectors<false, true>(dst, src, count, map);
  for (std::size_t i = done; i < count; ++i)
    dst[i] = map.table[src[i]];
}

/// Whether channels(...) does these maps: each adds to x what grows with x.
HWY_INLINE bool all_add(const ByteMap* maps, std::size_t channels) {
  return std::all_of(maps, maps + channels, [](const ByteMap& map) {
    return map.kind == ByteMap::Kind::same ||
           (map.kind == ByteMap::Kind::linear && map.keep && !map.minus);
  });
}

/// Multipliers, biases, shifts repeat with the channels: patterns of as many vectors. False where
/// this target has nothing better than the tables (no shift per byte).
bool linear_channels(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                     std::size_t channels, const ByteMap* maps) {
#if HWY_TARGET == HWY_NEON
  constexpr std::size_t kLanes = 16, kMostChannels = 16;
  if (channels > kMostChannels || !all_add(maps, channels)) return false;
  const std::size_t period = channels * kLanes, count = pixels * channels;
  std::array<std::uint8_t, kMostChannels * kLanes> mul, drop;
  std::array<std::int8_t, kMostChannels * kLanes> back;
  std::array<std::uint16_t, kMostChannels * kLanes> bias;
  for (std::size_t i = 0; i < period; ++i) {
    const ByteMap& map = maps[i % channels];  // `same` has multiplier and bias 0
    mul[i] = map.mul;
    drop[i] = map.drop;
    bias[i] = map.bias;
    back[i] = static_cast<std::int8_t>(8 - map.shift);
  }
  std::size_t i = 0;
  for (; i + period <= count; i += period)
    for (std::size_t k = 0; k < period; k += kLanes) {
      const uint8x16_t x = vld1q_u8(src + i + k), m = vld1q_u8(mul.data() + k);
      const uint16x8_t low = vmull_u8(vget_low_u8(x), vget_low_u8(m));
      const uint8x16_t sum = vaddhn_high_u16(vaddhn_u16(vld1q_u16(bias.data() + k), low),
                                             vld1q_u16(bias.data() + k + 8), vmull_high_u8(x, m));
      const uint8x16_t t = vshlq_u8(sum, vld1q_s8(back.data() + k));
      const uint8x16_t less = vld1q_u8(drop.data() + k);
      vst1q_u8(dst + i + k, vqsubq_u8(vqaddq_u8(x, vqsubq_u8(t, less)), vqsubq_u8(less, t)));
    }
  for (std::size_t k = 0; i + k < count; ++k)
    dst[i + k] = maps[k % channels].table[src[i + k]];
  return true;
#else
  (void)dst, (void)src, (void)pixels, (void)channels, (void)maps;
  return false;
#endif
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {
namespace {

/// Fills the linear members and says whether they give the table. Every value of x allows a range
/// of biases; the map is right where they all meet.
bool plan_with_shift(ByteMap& map, double slope, bool keep, int shift) {
  const int step = 1 << shift;
  const auto mul = static_cast<int>(std::lround(std::abs(slope) * step));
  const int per_level = slope < 0 ? -mul : mul;

  constexpr int kFar = std::numeric_limits<int>::max() / 2;
  int low = -kFar, high = kFar;
  for (int x = 0; x < 256; ++x) {
    const int result = map.table[static_cast<std::size_t>(x)];
    const int from = (result - (keep ? x : 0)) * step - per_level * x;
    if (result > 0) low = std::max(low, from);
    if (result < 255 || !keep) high = std::min(high, from + step - 1);
  }
  if (low > high || low == -kFar || high == kFar) return false;
  const int bias = low + (high - low) / 2;
  const int smallest = bias + std::min(0, per_level * 255);
  const int largest = bias + std::max(0, per_level * 255);
  const int drop = smallest < 0 ? (-smallest + step - 1) / step : 0;
  if (drop > 255 || largest + drop * step > 0xFFFF) return false;

  map.keep = keep;
  map.minus = per_level < 0;
  map.mul = static_cast<std::uint8_t>(mul);
  map.shift = static_cast<std::uint8_t>(shift);
  map.drop = static_cast<std::uint8_t>(drop);
  map.bias = static_cast<std::uint16_t>(bias + drop * step);
  return true;
}

/// A shift by 8 where it is exact, as that takes the high byte and no more; else the finest.
bool plan_linear(ByteMap& map, double gain, bool keep) {
  const double slope = keep ? gain - 1 : gain;
  int finest = 15;
  while (finest >= 8 && std::abs(slope) * (1 << finest) > 255)
    --finest;
  if (finest < 8) return false;
  return plan_with_shift(map, slope, keep, 8) || plan_with_shift(map, slope, keep, finest);
}

}  // namespace

HWY_EXPORT(linear_bytes);
HWY_EXPORT(linear_channels);

ByteMap plan_byte_map(const std::array<std::uint8_t, 256>& table, double gain) {
  ByteMap map;
  map.table = table;
  bool same = true;
  for (std::size_t x = 0; x < table.size(); ++x)
    same = same && table[x] == x;
  if (same)
    map.kind = ByteMap::Kind::same;
  else if (plan_linear(map, gain, true) || plan_linear(map, gain, false))
    map.kind = ByteMap::Kind::linear;
  return map;
}

void map_byte_channels(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                       std::size_t channels, const ByteMap* maps) {
  if (std::all_of(maps, maps + channels,
                  [&](const ByteMap& map) { return map.table == maps[0].table; }))
    return map_bytes(dst, src, pixels * channels, maps[0]);
  if (HWY_DYNAMIC_DISPATCH(linear_channels)(dst, src, pixels, channels, maps)) return;
  std::array<std::uint8_t, 64 * kLevels> tables;
  for (std::size_t c = 0; c < channels; ++c)
    std::copy(maps[c].table.begin(), maps[c].table.end(),
              tables.begin() + static_cast<std::ptrdiff_t>(kLevels * c));
  lut_channels(dst, src, pixels, channels, tables.data());
}

void map_bytes(std::uint8_t* dst, const std::uint8_t* src, std::size_t count, const ByteMap& map) {
  switch (map.kind) {
    case ByteMap::Kind::same:
      if (dst != src) std::memcpy(dst, src, count);
      return;
    case ByteMap::Kind::linear:
      return HWY_DYNAMIC_DISPATCH(linear_bytes)(dst, src, count, map);
    case ByteMap::Kind::table:
      return lut(dst, src, count, map.table.data());
  }
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
