// sluice/aug/kernels/colour_planes-inl.h - pixels taken apart into three planes of 8 bits and put
// together again. Part of colour_steps.cpp, compiled once per instruction set.
// SPDX-License-Identifier: Apache-2.0

#if defined(SLUICE_AUG_COLOUR_PLANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_AUG_COLOUR_PLANES_INL_H
#undef SLUICE_AUG_COLOUR_PLANES_INL_H
#else
#define SLUICE_AUG_COLOUR_PLANES_INL_H
#endif

#include "sluice/aug/kernels/colour_hsv-inl.h"
#include "sluice/aug/kernels/colour_steps.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kChunk = 512;  // pixels

/// Three planes; steps may write up to a vector behind `count`.
struct Planes {
  HWY_ALIGN std::uint8_t rows[3][kChunk];
  std::size_t count = 0;

  /// Black behind the last pixel, so that whole vectors can be taken.
  void pad() {
    const std::size_t lanes = hn::Lanes(D8());
    const std::size_t end = std::min(kChunk, (count + lanes - 1) / lanes * lanes);
    for (auto& row : rows)
      std::memset(row + count, 0, end - count);
  }
};

inline void load_planes(Planes& to, const std::uint8_t* src, std::size_t count) {
  const D8 d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    V8 r, g, b;
    hn::LoadInterleaved3(d, src + 3 * i, r, g, b);
    hn::Store(r, d, to.rows[0] + i);
    hn::Store(g, d, to.rows[1] + i);
    hn::Store(b, d, to.rows[2] + i);
  }
  for (; i < count; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      to.rows[c][i] = src[3 * i + c];
  to.count = count;
  to.pad();
}

inline void store_planes(std::uint8_t* dst, const Planes& from, ChannelOrder order) {
  const D8 d;
  const std::size_t lanes = hn::Lanes(d);
  const std::uint8_t* r = from.rows[order[0]];
  const std::uint8_t* g = from.rows[order[1]];
  const std::uint8_t* b = from.rows[order[2]];
  std::size_t i = 0;
  for (; i + lanes <= from.count; i += lanes)
    hn::StoreInterleaved3(hn::Load(d, r + i), hn::Load(d, g + i), hn::Load(d, b + i), d,
                          dst + 3 * i);
  for (; i < from.count; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      dst[3 * i + c] = from.rows[order[c]][i];
}

inline void load_planes(Planes& to, const float* src, std::size_t count) {
  const DF d;
  const hn::Rebind<std::uint8_t, DF> d8;
  const std::size_t lanes = hn::Lanes(d);
  const auto scale = hn::Set(d, 255.0F);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    VF r, g, b;
    hn::LoadInterleaved3(d, src + 3 * i, r, g, b);
    hn::StoreU(hn::DemoteTo(d8, hn::NearestInt(hn::Mul(r, scale))), d8, to.rows[0] + i);
    hn::StoreU(hn::DemoteTo(d8, hn::NearestInt(hn::Mul(g, scale))), d8, to.rows[1] + i);
    hn::StoreU(hn::DemoteTo(d8, hn::NearestInt(hn::Mul(b, scale))), d8, to.rows[2] + i);
  }
  const hn::CappedTag<float, 1> d1;
  const hn::Rebind<std::uint8_t, decltype(d1)> d81;
  for (; i < count; ++i)
    for (std::size_t c = 0; c < 3; ++c) {
      const auto level =
          hn::NearestInt(hn::Mul(hn::LoadU(d1, src + 3 * i + c), hn::Set(d1, 255.0F)));
      hn::StoreU(hn::DemoteTo(d81, level), d81, to.rows[c] + i);
    }
  to.count = count;
  to.pad();
}

inline void store_planes(float* dst, const Planes& from, ChannelOrder order) {
  const DF d;
  const hn::ScalableTag<std::int32_t> d32;
  const hn::Rebind<std::uint8_t, DF> d8;
  const std::size_t lanes = hn::Lanes(d);
  const auto scale = hn::Set(d, 1.0F / 255.0F);
  const auto plane = [&](std::size_t c, std::size_t i) HWY_ATTR {
    const auto level = hn::PromoteTo(d32, hn::LoadU(d8, from.rows[order[c]] + i));
    return hn::Mul(hn::ConvertTo(d, level), scale);
  };
  std::size_t i = 0;
  for (; i + lanes <= from.count; i += lanes)
    hn::StoreInterleaved3(plane(0, i), plane(1, i), plane(2, i), d, dst + 3 * i);
  for (; i < from.count; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      dst[3 * i + c] = static_cast<float>(from.rows[order[c]][i]) * (1.0F / 255.0F);
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
