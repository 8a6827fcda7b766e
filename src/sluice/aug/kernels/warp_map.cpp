// sluice/aug/kernels/warp_map.cpp - source coordinates of a row, compiled once per instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/warp_map.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/warp_map.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
using V = hn::Vec<Floats>;

HWY_INLINE V set(double value) {
  return hn::Set(Floats(), static_cast<float>(value));
}

/// make(x, to_x, to_y): a vector of coordinates. Rows have room for a whole vector at their end.
template <class Make>
HWY_INLINE void for_columns(const RemapRow& row, Make make) {
  const Floats d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  V x = hn::Iota(d, 0.0F);
  const V step = set(lanes);
  for (int i = 0; i < row.width; i += lanes) {
    make(x, row.x + i, row.y + i);
    x = hn::Add(x, step);
  }
}

void matrix(const RemapRow& row, int y, const std::array<double, 9>& m) {
  const Floats d;
  const double start_x = m[1] * y + m[2], start_y = m[4] * y + m[5], start_w = m[7] * y + m[8];
  const V ax = set(m[0]), bx = set(start_x), ay = set(m[3]), by = set(start_y);
  if (m[6] == 0 && m[7] == 0 && m[8] == 1) {
    for_columns(row, [&](V x, float* to_x, float* to_y) HWY_ATTR {
      hn::StoreU(hn::MulAdd(ax, x, bx), d, to_x);
      hn::StoreU(hn::MulAdd(ay, x, by), d, to_y);
    });
    return;
  }
  const V aw = set(m[6]), bw = set(start_w), nowhere = set(-1e9);
  for_columns(row, [&](V x, float* to_x, float* to_y) HWY_ATTR {
    const V w = hn::MulAdd(aw, x, bw);
    const auto seen = hn::Gt(w, hn::Zero(d));
    const V share = hn::Div(set(1), w);
    const V from_x = hn::Mul(hn::MulAdd(ax, x, bx), share);
    const V from_y = hn::Mul(hn::MulAdd(ay, x, by), share);
    hn::StoreU(hn::IfThenElse(seen, from_x, nowhere), d, to_x);
    hn::StoreU(hn::IfThenElse(seen, from_y, nowhere), d, to_y);
  });
}

void radial(const RemapRow& row, int y, const RadialMap& map) {
  const Floats d;
  const double dy = y - map.center_y;
  const V cx = set(map.center_x), cy = set(map.center_y), vy = set(dy);
  const V start = set(map.gain * dy * dy), gain = set(map.gain);
  for_columns(row, [&](V x, float* to_x, float* to_y) HWY_ATTR {
    // x - center is exact; the coordinate is the pixel's own plus a displacement
    const V vx = hn::Sub(x, cx);
    const V grow = hn::MulAdd(hn::Mul(vx, vx), gain, start);
    hn::StoreU(hn::MulAdd(vx, grow, x), d, to_x);
    hn::StoreU(hn::MulAdd(vy, grow, hn::Add(vy, cy)), d, to_y);
  });
}

/// Of positive normal numbers, within 2e-7.
HWY_INLINE V natural_log(V v) {
  const Floats d;
  const hn::RebindToSigned<Floats> di;
  // exponent such that the mantissa lies in sqrt(1/2) to sqrt(2)
  const auto bits = hn::BitCast(di, v);
  const auto shifted = hn::Sub(bits, hn::Set(di, 0x3F3504F3));
  const auto exponent = hn::ShiftRight<23>(shifted);
  const V f = hn::Sub(hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(exponent))), set(1));
  V p = set(0.08479153648950553);
  p = hn::MulAdd(p, f, set(-0.14316772652061388));
  p = hn::MulAdd(p, f, set(0.15020804785307568));
  p = hn::MulAdd(p, f, set(-0.16574571581219502));
  p = hn::MulAdd(p, f, set(0.1995140996606278));
  p = hn::MulAdd(p, f, set(-0.25001292529460645));
  p = hn::MulAdd(p, f, set(0.33334266755623565));
  p = hn::MulAdd(p, f, set(-0.5));
  p = hn::MulAdd(hn::Mul(p, f), f, f);
  return hn::MulAdd(hn::ConvertTo(d, exponent), set(0.6931471805599453), p);
}

void spline(const RemapRow& row, int y, const SplineMap& map) {
  const Floats d;
  const auto& [px, py] = map.plane;
  const V ax = set(px[0]), bx = set(px[1] * y + px[2]);
  const V ay = set(py[0]), by = set(py[1] * y + py[2]);
  const V scale = set(map.scale_x), tiny = set(1e-30);
  const auto unit_y = static_cast<float>(y * map.scale_y);
  for_columns(row, [&](V x, float* to_x, float* to_y) HWY_ATTR {
    const V unit_x = hn::Mul(x, scale);
    V sum_x = hn::MulAdd(ax, x, bx), sum_y = hn::MulAdd(ay, x, by);
    for (const SplinePoint& point : map.points) {
      const float dy = unit_y - point.at[1];
      const V dx = hn::Sub(unit_x, hn::Set(d, point.at[0]));
      const V r2 = hn::MulAdd(dx, dx, hn::Set(d, dy * dy));
      const V bend = hn::Mul(r2, natural_log(hn::Max(r2, tiny)));
      sum_x = hn::MulAdd(bend, hn::Set(d, point.bend[0]), sum_x);
      sum_y = hn::MulAdd(bend, hn::Set(d, point.bend[1]), sum_y);
    }
    hn::StoreU(sum_x, d, to_x);
    hn::StoreU(sum_y, d, to_y);
  });
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(matrix);
HWY_EXPORT(radial);
HWY_EXPORT(spline);

void matrix_row(const RemapRow& row, int y, const std::array<double, 9>& matrix) {
  HWY_DYNAMIC_DISPATCH(matrix)(row, y, matrix);
}
void radial_row(const RemapRow& row, int y, const RadialMap& map) {
  HWY_DYNAMIC_DISPATCH(radial)(row, y, map);
}
void spline_row(const RemapRow& row, int y, const SplineMap& map) {
  HWY_DYNAMIC_DISPATCH(spline)(row, y, map);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
