// sluice/aug/kernels/channel_stats.cpp - sums, ranges and histograms of channels, compiled once per
// instruction set. Versions and timings: bench/kernels/channel_stats.md.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/channel_stats.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/channel_stats.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <array>

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Lane l of vector k of a period always holds channel (k * lanes + l) mod channels, a period being
// as many vectors as there are channels. So channels need not be taken apart: each vector of the
// period has its own accumulators, and lanes find their channel at the end of a chunk, which stays
// in the first cache while its periods are walked once per vector.

using Bytes = hn::FixedTag<std::uint8_t, 16>;
using Pairs = hn::FixedTag<std::uint16_t, 8>;
constexpr std::size_t kStatsLanes = 16;
constexpr std::size_t kPeriods = 256;  // 256 * 255 fits 16 bits

HWY_INLINE void add_bytes(hn::Vec<Pairs>& even, hn::Vec<Pairs>& odd, hn::Vec<Bytes> x) {
#if HWY_TARGET == HWY_NEON  // low and high halves rather than even and odd lanes
  even.raw = vaddw_u8(even.raw, vget_low_u8(x.raw));
  odd.raw = vaddw_high_u8(odd.raw, x.raw);
#else
  const auto pairs = hn::BitCast(Pairs(), x);
  even = hn::Add(even, hn::And(pairs, hn::Set(Pairs(), 0xFF)));
  odd = hn::Add(odd, hn::ShiftRight<8>(pairs));
#endif
}

/// Where lane i of even (then of odd) lies in the vector.
HWY_INLINE std::size_t lane_of(std::size_t i) {
#if HWY_TARGET == HWY_NEON
  return i;
#else
  return i < 8 ? 2 * i : 2 * (i - 8) + 1;
#endif
}

/// Three channels in one walk, in the order of the memory: prefetchers follow no strides of 48.
/// Returns the periods done.
std::size_t sum_rgb(std::uint64_t* sums, const std::uint8_t* src, std::size_t periods) {
  const Bytes d;
  const Pairs dp;
  for (std::size_t done = 0; done < periods;) {
    const std::size_t end = std::min(periods, done + kPeriods);
    auto a0 = hn::Zero(dp), a1 = a0, b0 = a0, b1 = a0, c0 = a0, c1 = a0;
    for (; done < end; ++done, src += 3 * kStatsLanes) {
      add_bytes(a0, a1, hn::LoadU(d, src));
      add_bytes(b0, b1, hn::LoadU(d, src + kStatsLanes));
      add_bytes(c0, c1, hn::LoadU(d, src + 2 * kStatsLanes));
    }
    std::array<std::uint16_t, 3 * kStatsLanes> lanes;
    hn::StoreU(a0, dp, lanes.data());
    hn::StoreU(a1, dp, lanes.data() + 8);
    hn::StoreU(b0, dp, lanes.data() + 16);
    hn::StoreU(b1, dp, lanes.data() + 24);
    hn::StoreU(c0, dp, lanes.data() + 32);
    hn::StoreU(c1, dp, lanes.data() + 40);
    for (std::size_t i = 0; i < lanes.size(); ++i)
      sums[(i / kStatsLanes * kStatsLanes + lane_of(i % kStatsLanes)) % 3] += lanes[i];
  }
  return periods;
}

std::size_t range_rgb(std::uint8_t* low, std::uint8_t* above, const std::uint8_t* src,
                      std::size_t periods) {
  const Bytes d;
  const auto one = hn::Set(d, 1);  // 255 wraps to 0 and so does not count
  auto la = hn::Set(d, 255), lb = la, lc = la;
  auto ha = hn::Zero(d), hb = ha, hc = ha;
  for (std::size_t p = 0; p < periods; ++p, src += 3 * kStatsLanes) {
    const auto a = hn::LoadU(d, src), b = hn::LoadU(d, src + kStatsLanes);
    const auto c = hn::LoadU(d, src + 2 * kStatsLanes);
    la = hn::Min(la, a);
    lb = hn::Min(lb, b);
    lc = hn::Min(lc, c);
    ha = hn::Max(ha, hn::Add(a, one));
    hb = hn::Max(hb, hn::Add(b, one));
    hc = hn::Max(hc, hn::Add(c, one));
  }
  std::array<std::uint8_t, 3 * kStatsLanes> lows, aboves;
  hn::StoreU(la, d, lows.data());
  hn::StoreU(lb, d, lows.data() + kStatsLanes);
  hn::StoreU(lc, d, lows.data() + 2 * kStatsLanes);
  hn::StoreU(ha, d, aboves.data());
  hn::StoreU(hb, d, aboves.data() + kStatsLanes);
  hn::StoreU(hc, d, aboves.data() + 2 * kStatsLanes);
  for (std::size_t i = 0; i < lows.size(); ++i) {
    low[i % 3] = std::min(low[i % 3], lows[i]);
    above[i % 3] = std::max(above[i % 3], aboves[i]);
  }
  return periods;
}

/// One channel in one walk. Returns the periods done.
std::size_t sum_plain(std::uint64_t* sum, const std::uint8_t* src, std::size_t periods) {
  const hn::ScalableTag<std::uint8_t> d;
  const hn::Repartition<std::uint64_t, decltype(d)> d64;
  const std::size_t lanes = hn::Lanes(d), count = periods * kStatsLanes;
  auto a = hn::Zero(d64), b = a;
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    a = hn::Add(a, hn::SumsOf8(hn::LoadU(d, src + i)));
    b = hn::Add(b, hn::SumsOf8(hn::LoadU(d, src + i + lanes)));
  }
  *sum += hn::GetLane(hn::SumOfLanes(d64, hn::Add(a, b)));
  for (; i < count; ++i)
    *sum += src[i];
  return periods;
}

void sum_bytes(std::uint64_t* sums, const std::uint8_t* src, std::size_t pixels,
               std::size_t channels) {
  const Bytes d;
  const Pairs dp;
  const std::size_t period = channels * kStatsLanes;
  std::size_t left = pixels / kStatsLanes;  // periods
  if (channels == 3) {
    src += sum_rgb(sums, src, left) * period;
    left = 0;
  } else if (channels == 1) {
    src += sum_plain(sums, src, left) * period;
    left = 0;
  }
  for (; left > 0; src += std::min(left, kPeriods) * period, left -= std::min(left, kPeriods)) {
    const std::size_t periods = std::min(left, kPeriods);
    for (std::size_t k = 0; k < channels; ++k) {
      const std::uint8_t* from = src + k * kStatsLanes;
      auto even0 = hn::Zero(dp), odd0 = hn::Zero(dp), even1 = hn::Zero(dp), odd1 = hn::Zero(dp);
      std::size_t p = 0;
      for (; p + 2 <= periods; p += 2) {
        add_bytes(even0, odd0, hn::LoadU(d, from + p * period));
        add_bytes(even1, odd1, hn::LoadU(d, from + (p + 1) * period));
      }
      if (p < periods) add_bytes(even0, odd0, hn::LoadU(d, from + p * period));
      std::array<std::uint16_t, kStatsLanes> lanes;
      hn::StoreU(hn::Add(even0, even1), dp, lanes.data());
      hn::StoreU(hn::Add(odd0, odd1), dp, lanes.data() + 8);
      for (std::size_t i = 0; i < kStatsLanes; ++i)
        sums[(k * kStatsLanes + lane_of(i)) % channels] += lanes[i];
    }
  }
  for (std::size_t i = 0; i < pixels % kStatsLanes * channels; ++i)
    sums[i % channels] += src[i];
}

void sum_floats(double* sums, const float* src, std::size_t pixels, std::size_t channels) {
  const hn::FixedTag<float, 4> d;
  constexpr std::size_t kFloats = 4, kFew = 32;  // single precision for 32 terms a lane
  const std::size_t period = channels * kFloats;
  std::size_t left = pixels / kFloats;
  for (; left > 0; src += std::min(left, kFew) * period, left -= std::min(left, kFew))
    for (std::size_t k = 0; k < channels; ++k) {
      auto sum = hn::Zero(d);
      for (std::size_t p = 0; p < std::min(left, kFew); ++p)
        sum = hn::Add(sum, hn::LoadU(d, src + p * period + k * kFloats));
      std::array<float, kFloats> lanes;
      hn::StoreU(sum, d, lanes.data());
      for (std::size_t i = 0; i < kFloats; ++i)
        sums[(k * kFloats + i) % channels] += static_cast<double>(lanes[i]);
    }
  for (std::size_t i = 0; i < pixels % kFloats * channels; ++i)
    sums[i % channels] += static_cast<double>(src[i]);
}

void range_bytes(std::uint8_t* low, std::uint8_t* above, const std::uint8_t* src,
                 std::size_t pixels, std::size_t channels) {
  const Bytes d;
  const auto one = hn::Set(d, 1);  // 255 wraps to 0 and so does not count
  const std::size_t period = channels * kStatsLanes;
  std::size_t left = pixels / kStatsLanes;
  if (channels == 3) {
    src += range_rgb(low, above, src, left) * period;
    left = 0;
  }
  for (; left > 0; src += std::min(left, kPeriods) * period, left -= std::min(left, kPeriods)) {
    const std::size_t periods = std::min(left, kPeriods);
    for (std::size_t k = 0; k < channels; ++k) {
      const std::uint8_t* from = src + k * kStatsLanes;
      auto low0 = hn::Set(d, 255), low1 = low0, above0 = hn::Zero(d), above1 = above0;
      std::size_t p = 0;
      for (; p + 2 <= periods; p += 2) {
        const auto a = hn::LoadU(d, from + p * period), b = hn::LoadU(d, from + (p + 1) * period);
        low0 = hn::Min(low0, a);
        above0 = hn::Max(above0, hn::Add(a, one));
        low1 = hn::Min(low1, b);
        above1 = hn::Max(above1, hn::Add(b, one));
      }
      if (p < periods) {
        const auto last = hn::LoadU(d, from + p * period);
        low0 = hn::Min(low0, last);
        above0 = hn::Max(above0, hn::Add(last, one));
      }
      std::array<std::uint8_t, kStatsLanes> lows, aboves;
      hn::StoreU(hn::Min(low0, low1), d, lows.data());
      hn::StoreU(hn::Max(above0, above1), d, aboves.data());
      for (std::size_t i = 0; i < kStatsLanes; ++i) {
        const std::size_t c = (k * kStatsLanes + i) % channels;
        low[c] = std::min(low[c], lows[i]);
        above[c] = std::max(above[c], aboves[i]);
      }
    }
  }
  for (std::size_t i = 0; i < pixels % kStatsLanes * channels; ++i) {
    low[i % channels] = std::min(low[i % channels], src[i]);
    above[i % channels] = std::max(above[i % channels], static_cast<std::uint8_t>(src[i] + 1));
  }
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(sum_bytes);
HWY_EXPORT(sum_floats);
HWY_EXPORT(range_bytes);

void add_channel_sums(std::uint64_t* sums, const std::uint8_t* src, std::size_t pixels,
                      std::size_t channels) {
  HWY_DYNAMIC_DISPATCH(sum_bytes)(sums, src, pixels, channels);
}
void add_channel_sums(double* sums, const float* src, std::size_t pixels, std::size_t channels) {
  HWY_DYNAMIC_DISPATCH(sum_floats)(sums, src, pixels, channels);
}
void widen_channel_ranges(std::uint8_t* low, std::uint8_t* above, const std::uint8_t* src,
                          std::size_t pixels, std::size_t channels) {
  HWY_DYNAMIC_DISPATCH(range_bytes)(low, above, src, pixels, channels);
}

namespace {

/// Neighbours often have the same level, and a count must be stored before it can be loaded again:
/// four histograms take turns.
void histogram_of_one(std::uint32_t* counts, const std::uint8_t* src, std::size_t pixels) {
  std::array<std::array<std::uint32_t, 256>, 4> turns{};
  for (std::size_t p = 0; p < pixels; ++p)
    ++turns[p % 4][src[p]];
  for (std::size_t i = 0; i < 256; ++i)
    counts[i] += turns[0][i] + turns[1][i] + turns[2][i] + turns[3][i];
}

/// Three channels are turns enough: more histograms only cost addresses. The arrays are local so
/// that no count can lie in `src`.
void histograms_of_three(std::uint32_t* counts, const std::uint8_t* src, std::size_t pixels) {
  std::array<std::uint32_t, 3 * 256> local{};
  for (std::size_t p = 0; p < pixels; ++p, src += 3) {
    ++local[src[0]];
    ++local[256 + src[1]];
    ++local[512 + src[2]];
  }
  for (std::size_t i = 0; i < local.size(); ++i)
    counts[i] += local[i];
}

}  // namespace

void add_channel_histograms(std::uint32_t* counts, const std::uint8_t* src, std::size_t pixels,
                            std::size_t channels) {
  if (channels == 1) return histogram_of_one(counts, src, pixels);
  if (channels == 3) return histograms_of_three(counts, src, pixels);
  for (std::size_t p = 0; p < pixels; ++p, src += channels)
    for (std::size_t c = 0; c < channels; ++c)
      ++counts[256 * c + src[c]];
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
