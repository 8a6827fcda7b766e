// sluice/aug/kernels/permute.cpp - the channels of pixels in another order, compiled once per
// instruction set. Versions and timings: bench/kernels/permute.md.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/permute.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/permute.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <array>

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
HWY_INLINE void permute_plain(T* dst, const T* src, std::size_t pixels, std::size_t channels,
                              const std::uint8_t* order) {
  std::array<T, 64> pixel;
  for (std::size_t p = 0; p < pixels; ++p, src += channels, dst += channels) {
    std::copy_n(src, channels, pixel.begin());
    for (std::size_t c = 0; c < channels; ++c)
      dst[c] = pixel[order[c]];
  }
}

using Bytes = hn::FixedTag<std::uint8_t, 16>;
using V = hn::Vec<Bytes>;
constexpr std::size_t kPermuteLanes = 16, kHalf = 8;
constexpr std::size_t kMostInReach = 9;  // channels

/// Bytes 16 j to 16 j + 15 of the output come from 16 j - 8 to 16 j + 23 of the input where a byte
/// moves by at most 8: two vectors, the second of which is the first of the next step. It is loaded
/// before the bytes it shares with the output are written, so dst may be src.
HWY_INLINE V look_up(V first, V second, const std::uint8_t* lower, const std::uint8_t* upper) {
  const Bytes d;
#if HWY_TARGET == HWY_NEON
  (void)upper;
  return V(vqtbl2q_u8(uint8x16x2_t{{first.raw, second.raw}}, hn::Load(d, lower).raw));
#else
  return hn::Or(hn::TableLookupBytesOr0(first, hn::Load(d, lower)),
                hn::TableLookupBytesOr0(second, hn::Load(d, upper)));
#endif
}

void permute_bytes(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                   std::size_t channels, const std::uint8_t* order) {
  const Bytes d;
  const std::size_t period = channels * kPermuteLanes;
  // The last step of the last period reads 8 bytes further.
  const std::size_t periods = channels > kMostInReach || pixels * channels < period + kHalf
                                  ? 0
                                  : (pixels * channels - kHalf) / period;
  if (periods > 0) {
    alignas(16) std::array<std::uint8_t, kMostInReach * kPermuteLanes> lower, upper;
    for (std::size_t i = 0; i < period; ++i) {
      const std::size_t from = i - i % channels + order[i % channels];
      const auto index =
          static_cast<std::uint8_t>(from + kHalf - i / kPermuteLanes * kPermuteLanes);
#if HWY_TARGET == HWY_NEON
      lower[i] = index;
#else
      lower[i] = index < kPermuteLanes ? index : 0x80;
      upper[i] = index < kPermuteLanes ? 0x80 : static_cast<std::uint8_t>(index - kPermuteLanes);
#endif
    }
    std::array<std::uint8_t, kPermuteLanes> head{};
    std::copy_n(src, kHalf, head.begin() + kHalf);
    V before = hn::LoadU(d, head.data());
    for (std::size_t p = 0; p < periods; ++p, src += period, dst += period)
      for (std::size_t k = 0; k < period; k += kPermuteLanes) {
        const V after = hn::LoadU(d, src + k + kHalf);
        hn::StoreU(look_up(before, after, lower.data() + k, upper.data() + k), d, dst + k);
        before = after;
      }
  }
  permute_plain(dst, src, pixels - periods * kPermuteLanes, channels, order);
}

void permute_floats(float* dst, const float* src, std::size_t pixels, std::size_t channels,
                    const std::uint8_t* order) {
  const hn::FixedTag<float, 4> d;
  std::size_t p = 0;
  if (channels == 3)
    for (; p + 4 <= pixels; p += 4) {
      hn::Vec<decltype(d)> c[3];
      hn::LoadInterleaved3(d, src + 3 * p, c[0], c[1], c[2]);
      hn::StoreInterleaved3(c[order[0]], c[order[1]], c[order[2]], d, dst + 3 * p);
    }
  permute_plain(dst + channels * p, src + channels * p, pixels - p, channels, order);
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(permute_bytes);
HWY_EXPORT(permute_floats);

void permute_channels(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                      std::size_t channels, const std::uint8_t* order) {
  HWY_DYNAMIC_DISPATCH(permute_bytes)(dst, src, pixels, channels, order);
}
void permute_channels(float* dst, const float* src, std::size_t pixels, std::size_t channels,
                      const std::uint8_t* order) {
  HWY_DYNAMIC_DISPATCH(permute_floats)(dst, src, pixels, channels, order);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
