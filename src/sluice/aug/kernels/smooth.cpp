// sluice/aug/kernels/smooth.cpp - a Gaussian blur of f32 rows, compiled once per instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/smooth.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/smooth.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
using V = hn::Vec<Floats>;

/// Four vectors at a time: sums that do not wait for each other. Stores may go a vector beyond
/// `count`: the slack of scratch memory.
template <class AddUp>
HWY_INLINE void sums(float* dst, int count, AddUp add_up) {
  const Floats d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int i = 0;
  for (; i + 3 * lanes < count; i += 4 * lanes) {
    V a = hn::Zero(d), b = a, c = a, e = a;
    add_up([&](const float* from, float tap) HWY_ATTR {
      const V t = hn::Set(d, tap);
      from += i;
      a = hn::MulAdd(hn::LoadU(d, from), t, a);
      b = hn::MulAdd(hn::LoadU(d, from + lanes), t, b);
      c = hn::MulAdd(hn::LoadU(d, from + 2 * lanes), t, c);
      e = hn::MulAdd(hn::LoadU(d, from + 3 * lanes), t, e);
    });
    hn::StoreU(a, d, dst + i);
    hn::StoreU(b, d, dst + i + lanes);
    hn::StoreU(c, d, dst + i + 2 * lanes);
    hn::StoreU(e, d, dst + i + 3 * lanes);
  }
  for (; i < count; i += lanes) {
    V a = hn::Zero(d);
    add_up([&](const float* from, float tap)
               HWY_ATTR { a = hn::MulAdd(hn::LoadU(d, from + i), hn::Set(d, tap), a); });
    hn::StoreU(a, d, dst + i);
  }
}

void smooth_across(float* dst, const float* even, const float* odd, int count,
                   std::span<const float> even_taps, std::span<const float> odd_taps) {
  sums(dst, count, [=](auto add) HWY_ATTR {
    for (std::size_t k = 0; k < even_taps.size(); ++k)
      add(even + k, even_taps[k]);
    for (std::size_t k = 0; k < odd_taps.size(); ++k)
      add(odd + k, odd_taps[k]);
  });
}

void smooth_down(float* dst, std::span<const float* const> rows, int count,
                 std::span<const float> taps) {
  sums(dst, count, [=](auto add) HWY_ATTR {
    for (std::size_t k = 0; k < taps.size(); ++k)
      add(rows[k], taps[k]);
  });
}

void between(float* dst, const float* src, int count, const std::array<float, 6>& w) {
  const Floats d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int i = 0; 2 * i < count; i += lanes) {
    const float* p = src + i;
    const auto at = [&](int k) HWY_ATTR { return hn::LoadU(d, p + k); };
    V sum = hn::Mul(at(0), hn::Set(d, w[0]));
    for (int k = 1; k < 6; ++k)
      sum = hn::MulAdd(at(k), hn::Set(d, w[static_cast<std::size_t>(k)]), sum);
    hn::StoreInterleaved2(at(2), sum, d, dst + 2 * i);
  }
}

void displaced(const RemapRow& row, int y, const float* dx, const float* dy) {
  const Floats d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  V x = hn::Iota(d, 0.0F);
  const V step = hn::Set(d, static_cast<float>(lanes)), vy = hn::Set(d, static_cast<float>(y));
  for (int i = 0; i < row.width; i += lanes) {
    hn::StoreU(hn::Add(x, hn::LoadU(d, dx + i)), d, row.x + i);
    hn::StoreU(hn::Add(vy, hn::LoadU(d, dy + i)), d, row.y + i);
    x = hn::Add(x, step);
  }
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(smooth_across);
HWY_EXPORT(smooth_down);
HWY_EXPORT(between);
HWY_EXPORT(displaced);

void blur_across(float* dst, const float* even, const float* odd, int count,
                 std::span<const float> even_taps, std::span<const float> odd_taps) {
  HWY_DYNAMIC_DISPATCH(smooth_across)(dst, even, odd, count, even_taps, odd_taps);
}
void blur_down(float* dst, std::span<const float* const> rows, int count,
               std::span<const float> taps) {
  HWY_DYNAMIC_DISPATCH(smooth_down)(dst, rows, count, taps);
}
void fill_between(float* dst, const float* src, int count, const std::array<float, 6>& w) {
  HWY_DYNAMIC_DISPATCH(between)(dst, src, count, w);
}
void displaced_row(const RemapRow& row, int y, const float* dx, const float* dy) {
  HWY_DYNAMIC_DISPATCH(displaced)(row, y, dx, dy);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
