// sluice/aug/kernels/lab_rows.cpp - RGB to L*a*b* and back, compiled once per instruction set.
// SPDX-License-Identifier: Apache-2.0
//
// Tables are read one sample at a time (no instruction set here gathers 16 bits well); everything
// between is 16-bit lanes. The three products of a sample with its column of the matrix lie in one
// 64-bit table entry, so that XYZ is three loads and two additions. Ladder: bench/kernels/clahe.md.
#include "sluice/aug/kernels/lab_rows.h"

#include "sluice/aug/filters/lab.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/lab_rows.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on
#include "sluice/aug/kernels/filter-inl.h"

#include <array>

#ifndef SLUICE_AUG_KERNELS_LAB_ROWS_ONCE
#define SLUICE_AUG_KERNELS_LAB_ROWS_ONCE
namespace sluice::aug::kernels {

/// X, Y and Z of one level of one channel, 21 bits each; those of red hold the rounding.
struct PackedShares {
  std::array<std::array<std::uint64_t, 256>, 3> of{};
  std::array<std::uint32_t, 2048> f_and_l{};  // f below, lightness above
};
inline const PackedShares& packed_shares() {
  static const PackedShares shares = [] {
    PackedShares made;
    const LabTables& tables = lab_tables();
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t level = 0; level < 256; ++level)
        for (std::size_t i = 0; i < 3; ++i)
          made.of[c][level] += std::uint64_t{tables.share[i][c][level] + (c == 0 ? 512U : 0U)}
                               << (21 * i);
    for (std::size_t t = 0; t < made.f_and_l.size(); ++t)
      made.f_and_l[t] = tables.f[t] | std::uint32_t{tables.lightness[t]} << 16;
    return made;
  }();
  return shares;
}

}  // namespace sluice::aug::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

HWY_INLINE VI16 times(VI16 v, int factor) {
  return hn::MulFixedPoint15(v, hn::Set(DI16(), static_cast<std::int16_t>(factor)));
}
HWY_INLINE void store_half(VI16 v, std::uint8_t* to) {
  hn::StoreU(hn::DemoteTo(D8Half(), v), D8Half(), to);
}
HWY_INLINE VI16 load_half(const std::uint8_t* from) {
  return hn::BitCast(DI16(), hn::PromoteTo(D16(), hn::LoadU(D8Half(), from)));
}

void rgb_to_lab_row(std::uint8_t* l, std::uint8_t* a, std::uint8_t* b, const std::uint8_t* rgb,
                    std::size_t width, std::byte* memory) {
  const DI16 d;
  const PackedShares& shares = packed_shares();
  const std::uint64_t *red = shares.of[0].data(), *green = shares.of[1].data(),
                      *blue = shares.of[2].data();
  const std::uint32_t* f_and_l = shares.f_and_l.data();
  auto* found = reinterpret_cast<std::uint64_t*>(memory);  // f of Y, L, f of X, f of Z
  for (std::size_t x = 0; x < width; ++x) {
    const std::uint64_t xyz = red[rgb[3 * x]] + green[rgb[3 * x + 1]] + blue[rgb[3 * x + 2]];
    const std::uint64_t fx = f_and_l[(xyz >> 10) & 2047] & 65535, fz = f_and_l[xyz >> 52];
    found[x] = f_and_l[(xyz >> 31) & 2047] | fx << 32 | fz << 48;
  }
  const auto middle = hn::Set(d, 128);
  for (std::size_t x = 0; x < width; x += hn::Lanes(d)) {
    VI16 vy, lightness, vx, vz;
    hn::LoadInterleaved4(d, reinterpret_cast<const std::int16_t*>(found + x), vy, lightness, vx,
                         vz);
    store_half(lightness, l + x);
    store_half(hn::Add(middle, times(hn::Sub(vx, vy), 500)), a + x);
    store_half(hn::Add(middle, times(hn::Sub(vy, vz), 200)), b + x);
  }
}

void blend_levels_row(std::uint8_t* l, const std::uint64_t* tables, const BlendColumns& columns,
                      std::int16_t above, std::int16_t below, std::size_t width,
                      std::byte* memory) {
  const DI16 d;
  auto* found = reinterpret_cast<std::uint64_t*>(memory);
  for (std::size_t cell = 0; cell < columns.cells; ++cell, tables += 256) {
    std::size_t x = columns.starts[cell];
    const std::size_t end = columns.starts[cell + 1];
    for (; x + 4 <= end; x += 4) {
      std::uint32_t four;
      std::memcpy(&four, l + x, sizeof(four));
      found[x] = tables[four & 255];
      found[x + 1] = tables[(four >> 8) & 255];
      found[x + 2] = tables[(four >> 16) & 255];
      found[x + 3] = tables[four >> 24];
    }
    for (; x < end; ++x)
      found[x] = tables[l[x]];
  }
  const auto upper = hn::Set(d, above), lower = hn::Set(d, below), half = hn::Set(d, 64);
  for (std::size_t x = 0; x < width; x += hn::Lanes(d)) {
    VI16 a, b, c, e;
    hn::LoadInterleaved4(d, reinterpret_cast<const std::int16_t*>(found + x), a, b, c, e);
    const auto left = hn::Add(hn::MulFixedPoint15(a, upper), hn::MulFixedPoint15(c, lower));
    const auto right = hn::Add(hn::MulFixedPoint15(b, upper), hn::MulFixedPoint15(e, lower));
    const auto sum = hn::Add(hn::MulFixedPoint15(left, hn::LoadU(d, columns.left + x)),
                             hn::MulFixedPoint15(right, hn::LoadU(d, columns.right + x)));
    store_half(hn::ShiftRight<7>(hn::Add(sum, half)), l + x);
  }
}

/// q to v: its cube, or the straight part near black.
HWY_INLINE VI16 cubed(VI16 q) {
  const DI16 d;
  const auto cube = hn::MulFixedPoint15(hn::MulFixedPoint15(q, q), q);
  const auto straight =
      hn::Sub(times(q, kLabSlope), hn::Set(d, static_cast<std::int16_t>(kLabOffset)));
  return hn::IfThenElse(hn::Lt(q, hn::Set(d, static_cast<std::int16_t>(kLabLinear))), straight,
                        cube);
}

/// Levels of `count` indices, eight to a store.
HWY_INLINE void encode_levels(std::uint8_t* to, const std::uint16_t* index, std::size_t count,
                              const std::uint8_t* encode) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    std::uint64_t low, high;
    std::memcpy(&low, index + i, sizeof(low));
    std::memcpy(&high, index + i + 4, sizeof(high));
    const std::uint64_t eight =
        std::uint64_t{encode[low & 4095]} | std::uint64_t{encode[(low >> 16) & 4095]} << 8 |
        std::uint64_t{encode[(low >> 32) & 4095]} << 16 | std::uint64_t{encode[low >> 48]} << 24 |
        std::uint64_t{encode[high & 4095]} << 32 |
        std::uint64_t{encode[(high >> 16) & 4095]} << 40 |
        std::uint64_t{encode[(high >> 32) & 4095]} << 48 | std::uint64_t{encode[high >> 48]} << 56;
    std::memcpy(to + i, &eight, sizeof(eight));
  }
  for (; i < count; ++i)
    to[i] = encode[index[i]];
}

/// XYZ to RGB, the factors of the matrix in vectors; two of them exceed 16 bits and are applied in
/// two parts.
struct FromXyz {
  VI16 rx, ry, rz, gx, gy, gz, bx, by, bz, whole;
  explicit FromXyz(const std::array<std::array<std::int32_t, 3>, 3>& m)
      : rx(set(m[0][0] - 32767)),
        ry(set(m[0][1])),
        rz(set(m[0][2])),
        gx(set(m[1][0])),
        gy(set(m[1][1] - 32767)),
        gz(set(m[1][2])),
        bx(set(m[2][0])),
        by(set(m[2][1])),
        bz(set(m[2][2])),
        whole(set(32767)) {}
  static HWY_INLINE VI16 set(std::int32_t factor) {
    return hn::Set(DI16(), static_cast<std::int16_t>(factor));
  }
  static HWY_INLINE VI16 sum(VI16 x, VI16 fx, VI16 y, VI16 fy, VI16 z, VI16 fz) {
    return hn::Add(hn::MulFixedPoint15(x, fx),
                   hn::Add(hn::MulFixedPoint15(y, fy), hn::MulFixedPoint15(z, fz)));
  }
};

void lab_to_rgb_row(std::uint8_t* rgb, const std::uint8_t* l, const std::uint8_t* a,
                    const std::uint8_t* b, std::size_t width, std::byte* memory) {
  const DI16 d;
  const D16 du;
  const LabTables& tables = lab_tables();
  const FromXyz m(tables.from_xyz);
  auto* index = reinterpret_cast<std::uint16_t*>(memory);
  const auto middle = hn::Set(d, 128), first = hn::Set(d, kLabYFirst);
  const auto zero = hn::Zero(d), last = hn::Set(d, 4095);
  const auto bounded = [=](VI16 v)
                           HWY_ATTR { return hn::BitCast(du, hn::Min(hn::Max(v, zero), last)); };
  for (std::size_t x = 0; x < width; x += hn::Lanes(d)) {
    const auto qy = hn::Add(first, times(hn::ShiftLeft<7>(load_half(l + x)), kLabYStep));
    const auto da = hn::ShiftLeft<7>(hn::Sub(load_half(a + x), middle));
    const auto db = hn::ShiftLeft<7>(hn::Sub(load_half(b + x), middle));
    const auto vx = cubed(hn::Add(qy, times(da, kLabXStep)));
    const auto vy = cubed(qy);
    const auto vz = cubed(hn::Sub(qy, times(db, kLabZStep)));
    const auto red =
        hn::Add(hn::MulFixedPoint15(vx, m.whole), FromXyz::sum(vx, m.rx, vy, m.ry, vz, m.rz));
    const auto green =
        hn::Add(hn::MulFixedPoint15(vy, m.whole), FromXyz::sum(vx, m.gx, vy, m.gy, vz, m.gz));
    const auto blue = FromXyz::sum(vx, m.bx, vy, m.by, vz, m.bz);
    hn::StoreInterleaved3(bounded(red), bounded(green), bounded(blue), du, index + 3 * x);
  }
  encode_levels(rgb, index, 3 * width, tables.encode.data());
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(rgb_to_lab_row);
HWY_EXPORT(blend_levels_row);
HWY_EXPORT(lab_to_rgb_row);

void rgb_to_lab(std::uint8_t* l, std::uint8_t* a, std::uint8_t* b, const std::uint8_t* rgb,
                std::size_t width, std::byte* memory) {
  HWY_DYNAMIC_DISPATCH(rgb_to_lab_row)(l, a, b, rgb, width, memory);
}
void blend_levels(std::uint8_t* l, const std::uint64_t* tables, const BlendColumns& columns,
                  std::int16_t above, std::int16_t below, std::size_t width, std::byte* memory) {
  HWY_DYNAMIC_DISPATCH(blend_levels_row)(l, tables, columns, above, below, width, memory);
}
void lab_to_rgb(std::uint8_t* rgb, const std::uint8_t* l, const std::uint8_t* a,
                const std::uint8_t* b, std::size_t width, std::byte* memory) {
  HWY_DYNAMIC_DISPATCH(lab_to_rgb_row)(rgb, l, a, b, width, memory);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
