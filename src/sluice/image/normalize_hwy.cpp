// sluice/image/normalize_hwy.cpp - the normalisation kernels on Highway, compiled once per
// instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/normalize.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/image/normalize_hwy.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sluice::image::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Ints = hn::Rebind<std::int32_t, Floats>;
using FloatBytes = hn::Rebind<std::uint8_t, Floats>;  // as many bytes as a vector has floats

template <class V>
HWY_INLINE hn::Vec<Floats> to_float(V bytes) {
  return hn::ConvertTo(Floats(), hn::PromoteTo(Ints(), bytes));
}

using Bytes16 = hn::FixedTag<std::uint8_t, 16>;

/// Part `kPart` of sixteen bytes: as many as a vector has floats (4, 8 or 16).
template <std::size_t kPart, class V>
HWY_INLINE hn::Vec<FloatBytes> part_of(V bytes) {
  constexpr std::size_t kLanes = hn::MaxLanes(Floats());
  const auto shifted =
      hn::ShiftRightBytes<static_cast<int>((kPart * kLanes) % 16)>(Bytes16(), bytes);
  if constexpr (kLanes == 4) {
    const hn::Half<Bytes16> half;
    return hn::LowerHalf(hn::Half<decltype(half)>(), hn::LowerHalf(half, shifted));
  } else if constexpr (kLanes == 8) {
    return hn::LowerHalf(hn::Half<Bytes16>(), shifted);
  } else {
    return shifted;
  }
}

/// Sixteen bytes of one channel to its plane.
template <class V>
HWY_INLINE void store_plane(float* to, V bytes, float scale, float offset) {
  constexpr std::size_t kLanes = hn::MaxLanes(Floats());
  const auto s = hn::Set(Floats(), scale);
  const auto o = hn::Set(Floats(), offset);
  const auto store = [&](std::size_t i, auto part) HWY_ATTR {
    hn::StoreU(hn::MulAdd(to_float(part), s, o), Floats(), to + i * kLanes);
  };
  store(0, part_of<0>(bytes));
  if constexpr (kLanes <= 8) store(1, part_of<1>(bytes));
  if constexpr (kLanes == 4) {
    store(2, part_of<2>(bytes));
    store(3, part_of<3>(bytes));
  }
}

alignas(16) constexpr std::uint8_t kReversed[16] = {15, 14, 13, 12, 11, 10, 9, 8,
                                                    7,  6,  5,  4,  3,  2,  1, 0};

/// One row of `width` pixels to kChannels planes that are `plane` floats apart.
template <std::size_t kChannels, bool kMirrored>
void planes(float* to, std::size_t plane, const std::uint8_t* from, std::size_t width,
            const Normalization& n) {
  const Bytes16 d;
  std::size_t x = 0;
  for (; x + 16 <= width; x += 16) {
    hn::Vec<decltype(d)> c0, c1, c2, c3;
    const std::uint8_t* p = from + x * kChannels;
    if constexpr (kChannels == 1) c0 = hn::LoadU(d, p);
    if constexpr (kChannels == 2) hn::LoadInterleaved2(d, p, c0, c1);
    if constexpr (kChannels == 3) hn::LoadInterleaved3(d, p, c0, c1, c2);
    if constexpr (kChannels == 4) hn::LoadInterleaved4(d, p, c0, c1, c2, c3);
    const auto put = [&](std::size_t c, auto bytes) HWY_ATTR {
      if constexpr (kMirrored)
        store_plane(to + c * plane + (width - 16 - x),
                    hn::TableLookupBytes(bytes, hn::Load(d, kReversed)), n.scale[c], n.offset[c]);
      else
        store_plane(to + c * plane + x, bytes, n.scale[c], n.offset[c]);
    };
    put(0, c0);
    if constexpr (kChannels > 1) put(1, c1);
    if constexpr (kChannels > 2) put(2, c2);
    if constexpr (kChannels > 3) put(3, c3);
  }
  for (; x < width; ++x)
    for (std::size_t c = 0; c < kChannels; ++c)
      to[c * plane + (kMirrored ? width - 1 - x : x)] =
          static_cast<float>(from[x * kChannels + c]) * n.scale[c] + n.offset[c];
}

/// The same for nine channels: every third byte thrice, then of each third again.
template <bool kMirrored>
void nine_planes(float* to, std::size_t plane, const std::uint8_t* from, std::size_t width,
                 const Normalization& n) {
  const Bytes16 d;
  std::size_t x = 0;
  alignas(16) std::uint8_t thirds[3][48];  // channels 0 3 6, 1 4 7 and 2 5 8 of sixteen pixels
  for (; x + 16 <= width; x += 16) {
    for (std::size_t part = 0; part < 3; ++part) {
      hn::Vec<decltype(d)> a, b, c;
      hn::LoadInterleaved3(d, from + x * 9 + part * 48, a, b, c);
      hn::Store(a, d, thirds[0] + part * 16);
      hn::Store(b, d, thirds[1] + part * 16);
      hn::Store(c, d, thirds[2] + part * 16);
    }
    for (std::size_t third = 0; third < 3; ++third) {
      hn::Vec<decltype(d)> a, b, c;
      hn::LoadInterleaved3(d, thirds[third], a, b, c);
      const auto put = [&](std::size_t channel, auto bytes) HWY_ATTR {
        if constexpr (kMirrored)
          store_plane(to + channel * plane + (width - 16 - x),
                      hn::TableLookupBytes(bytes, hn::Load(d, kReversed)), n.scale[channel],
                      n.offset[channel]);
        else
          store_plane(to + channel * plane + x, bytes, n.scale[channel], n.offset[channel]);
      };
      put(third, a);
      put(third + 3, b);
      put(third + 6, c);
    }
  }
  for (; x < width; ++x)
    for (std::size_t c = 0; c < 9; ++c)
      to[c * plane + (kMirrored ? width - 1 - x : x)] =
          static_cast<float>(from[x * 9 + c]) * n.scale[c] + n.offset[c];
}

template <bool kMirrored>
void rows_to_planes(float* dst, ImageView<std::uint8_t> src, const Normalization& n) {
  const auto width = static_cast<std::size_t>(src.width());
  const std::size_t plane = width * static_cast<std::size_t>(src.height());
  for (int y = 0; y < src.height(); ++y) {
    float* to = dst + static_cast<std::size_t>(y) * width;
    const std::uint8_t* from = src.row(y);
    switch (src.channels()) {
      case 1:
        planes<1, kMirrored>(to, plane, from, width, n);
        break;
      case 2:
        planes<2, kMirrored>(to, plane, from, width, n);
        break;
      case 3:
        planes<3, kMirrored>(to, plane, from, width, n);
        break;
      case 4:
        planes<4, kMirrored>(to, plane, from, width, n);
        break;
      default:
        nine_planes<kMirrored>(to, plane, from, width, n);
        break;
    }
  }
}

void normalize_chw(float* dst, ImageView<std::uint8_t> src, const Normalization& n, bool mirrored) {
  if (src.channels() > 4 && src.channels() != 9) return normalize_chw_plain(dst, src, n, mirrored);
  return mirrored ? rows_to_planes<true>(dst, src, n) : rows_to_planes<false>(dst, src, n);
}

/// The scales of consecutive samples repeat with the channel count: a table of them, read at i mod
/// channels.
void normalize_hwc(ImageSpan<float> dst, ImageView<std::uint8_t> src, const Normalization& n) {
  constexpr std::size_t kMostLanes = 64;  // floats of a 2048-bit vector
  const std::size_t lanes = hn::Lanes(Floats());
  const auto channels = static_cast<std::size_t>(src.channels());
  if (lanes > kMostLanes) return normalize_hwc_plain(dst, src, n);
  float scale[kMaxChannels + kMostLanes];
  float offset[kMaxChannels + kMostLanes];
  for (std::size_t i = 0; i < channels + lanes; ++i) {
    scale[i] = n.scale[i % channels];
    offset[i] = n.offset[i % channels];
  }
  const std::size_t step = lanes % channels;
  for (int y = 0; y < src.height(); ++y) {
    const std::uint8_t* from = src.row(y);
    float* to = dst.row(y);
    std::size_t i = 0;
    std::size_t c = 0;
    for (; i + lanes <= src.row_samples(); i += lanes) {
      const auto value = to_float(hn::LoadU(FloatBytes(), from + i));
      hn::StoreU(hn::MulAdd(value, hn::LoadU(Floats(), scale + c), hn::LoadU(Floats(), offset + c)),
                 Floats(), to + i);
      c += step;
      if (c >= channels) c -= channels;
    }
    for (; i < src.row_samples(); ++i)
      to[i] = static_cast<float>(from[i]) * n.scale[i % channels] + n.offset[i % channels];
  }
}

}  // namespace sluice::image::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::image::detail {

HWY_EXPORT(normalize_chw);
HWY_EXPORT(normalize_hwc);

void normalize_chw_hwy(float* dst, ImageView<std::uint8_t> src, const Normalization& normalization,
                       bool mirrored) {
  HWY_DYNAMIC_DISPATCH(normalize_chw)(dst, src, normalization, mirrored);
}
void normalize_hwc_hwy(ImageSpan<float> dst, ImageView<std::uint8_t> src,
                       const Normalization& normalization) {
  HWY_DYNAMIC_DISPATCH(normalize_hwc)(dst, src, normalization);
}

}  // namespace sluice::image::detail
#endif  // HWY_ONCE
