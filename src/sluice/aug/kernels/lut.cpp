// sluice/aug/kernels/lut.cpp - bytes through tables of 256 bytes, compiled once per instruction
// set. Versions and timings: bench/kernels/lut.md.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/lut.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/lut.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Loads of four before stores of four: the compiler may not assume that dst is not the table.
void lut_plain(std::uint8_t* dst, const std::uint8_t* src, std::size_t count,
               const std::uint8_t* table) {
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const std::uint8_t a = src[i], b = src[i + 1], c = src[i + 2], d = src[i + 3];
    dst[i] = table[a];
    dst[i + 1] = table[b];
    dst[i + 2] = table[c];
    dst[i + 3] = table[d];
  }
  for (; i < count; ++i)
    dst[i] = table[src[i]];
}

void lut_channels_plain(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                        std::size_t channels, const std::uint8_t* tables) {
  for (std::size_t p = 0; p < pixels; ++p, dst += channels, src += channels)
    for (std::size_t c = 0; c < channels; ++c)
      dst[c] = tables[kLevels * c + src[c]];
}

// Four vectors through one table, which is loaded for them: where a table does not fit the
// registers beside the data, or several take turns, this is what it costs anyway.
#if HWY_TARGET == HWY_NEON
#define SLUICE_LUT_VECTORS_ 1
using D = hn::Full128<std::uint8_t>;
using V = hn::Vec<D>;

template <int kFirst>  // the first level of these 32
HWY_INLINE void two_registers(const std::uint8_t* table, V* index, V* out) {
  const uint8x16x2_t part = vld1q_u8_x2(table + kFirst);
  // Indices fall by 64, then by 32: those outside the part give 0.
  const uint8x16_t back = vdupq_n_u8(kFirst == 64 ? 64 : 32);
  index[0].raw = vsubq_u8(index[0].raw, back);
  index[1].raw = vsubq_u8(index[1].raw, back);
  index[2].raw = vsubq_u8(index[2].raw, back);
  index[3].raw = vsubq_u8(index[3].raw, back);
  out[0].raw = vorrq_u8(out[0].raw, vqtbl2q_u8(part, index[0].raw));
  out[1].raw = vorrq_u8(out[1].raw, vqtbl2q_u8(part, index[1].raw));
  out[2].raw = vorrq_u8(out[2].raw, vqtbl2q_u8(part, index[2].raw));
  out[3].raw = vorrq_u8(out[3].raw, vqtbl2q_u8(part, index[3].raw));
}

HWY_INLINE void look_up(const std::uint8_t* table, V* v) {
  const uint8x16x4_t first = vld1q_u8_x4(table);
  V out[4] = {V(vqtbl4q_u8(first, v[0].raw)), V(vqtbl4q_u8(first, v[1].raw)),
              V(vqtbl4q_u8(first, v[2].raw)), V(vqtbl4q_u8(first, v[3].raw))};
  two_registers<64>(table, v, out);
  two_registers<96>(table, v, out);
  two_registers<128>(table, v, out);
  two_registers<160>(table, v, out);
  two_registers<192>(table, v, out);
  two_registers<224>(table, v, out);
  v[0] = out[0];
  v[1] = out[1];
  v[2] = out[2];
  v[3] = out[3];
}
#elif HWY_TARGET == HWY_AVX3_DL
#define SLUICE_LUT_VECTORS_ 1
using D = hn::Full512<std::uint8_t>;
using V = hn::Vec<D>;

HWY_INLINE void look_up(const std::uint8_t* table, V* v) {
  const __m512i t0 = _mm512_loadu_si512(table), t1 = _mm512_loadu_si512(table + 64);
  const __m512i t2 = _mm512_loadu_si512(table + 128), t3 = _mm512_loadu_si512(table + 192);
  const auto one = [&](V x) HWY_ATTR {
    return V{_mm512_mask_blend_epi8(_mm512_movepi8_mask(x.raw),
                                    _mm512_permutex2var_epi8(t0, x.raw, t1),
                                    _mm512_permutex2var_epi8(t2, x.raw, t3))};
  };
  v[0] = one(v[0]);
  v[1] = one(v[1]);
  v[2] = one(v[2]);
  v[3] = one(v[3]);
}
#elif HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#define SLUICE_LUT_VECTORS_ 1
using D = hn::ScalableTag<std::uint8_t>;
using V = hn::Vec<D>;

HWY_INLINE void look_up(const std::uint8_t* table, V* v) {
  const D d;
  const auto beyond = hn::Set(d, 0x70);
  V out[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  for (std::size_t k = 0; k < kLevels; k += 16) {
    const auto part = hn::LoadDup128(d, table + k);
    const auto first = hn::Set(d, static_cast<std::uint8_t>(k));
    // Indices outside the sixteen get their high bit, which gives 0.
    const auto one = [&](V index) HWY_ATTR {
      return hn::TableLookupBytesOr0(part, hn::SaturatedAdd(hn::Xor(index, first), beyond));
    };
    out[0] = hn::Or(out[0], one(v[0]));
    out[1] = hn::Or(out[1], one(v[1]));
    out[2] = hn::Or(out[2], one(v[2]));
    out[3] = hn::Or(out[3], one(v[3]));
  }
  v[0] = out[0];
  v[1] = out[1];
  v[2] = out[2];
  v[3] = out[3];
}
#else
#define SLUICE_LUT_VECTORS_ 0  // 16 byte shuffles per 16 bytes are no faster than 16 loads
#endif

#if SLUICE_LUT_VECTORS_

void lut_bytes(std::uint8_t* dst, const std::uint8_t* src, std::size_t count,
               const std::uint8_t* table) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    V v[4] = {hn::LoadU(d, src + i), hn::LoadU(d, src + i + lanes),
              hn::LoadU(d, src + i + 2 * lanes), hn::LoadU(d, src + i + 3 * lanes)};
    look_up(table, v);
    hn::StoreU(v[0], d, dst + i);
    hn::StoreU(v[1], d, dst + i + lanes);
    hn::StoreU(v[2], d, dst + i + 2 * lanes);
    hn::StoreU(v[3], d, dst + i + 3 * lanes);
  }
  lut_plain(dst + i, src + i, count - i, table);
}

void lut_rgb(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
             const std::uint8_t* tables) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t p = 0;
  for (; p + 4 * lanes <= pixels; p += 4 * lanes) {
    V r[4], g[4], b[4];
    for (std::size_t k = 0; k < 4; ++k)
      hn::LoadInterleaved3(d, src + 3 * (p + k * lanes), r[k], g[k], b[k]);
    look_up(tables, r);
    look_up(tables + kLevels, g);
    look_up(tables + 2 * kLevels, b);
    for (std::size_t k = 0; k < 4; ++k)
      hn::StoreInterleaved3(r[k], g[k], b[k], d, dst + 3 * (p + k * lanes));
  }
  lut_channels_plain(dst + 3 * p, src + 3 * p, pixels - p, 3, tables);
}

void lut_each(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels, std::size_t channels,
              const std::uint8_t* tables) {
  if (channels == 1) return lut_bytes(dst, src, pixels, tables);
  if (channels == 3) return lut_rgb(dst, src, pixels, tables);
  lut_channels_plain(dst, src, pixels, channels, tables);
}

#else

void lut_bytes(std::uint8_t* dst, const std::uint8_t* src, std::size_t count,
               const std::uint8_t* table) {
  lut_plain(dst, src, count, table);
}
void lut_each(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels, std::size_t channels,
              const std::uint8_t* tables) {
  lut_channels_plain(dst, src, pixels, channels, tables);
}

#endif
#undef SLUICE_LUT_VECTORS_

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(lut_bytes);
HWY_EXPORT(lut_each);

void lut(std::uint8_t* dst, const std::uint8_t* src, std::size_t count, const std::uint8_t* table) {
  HWY_DYNAMIC_DISPATCH(lut_bytes)(dst, src, count, table);
}
void lut_channels(std::uint8_t* dst, const std::uint8_t* src, std::size_t pixels,
                  std::size_t channels, const std::uint8_t* tables) {
  HWY_DYNAMIC_DISPATCH(lut_each)(dst, src, pixels, channels, tables);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
