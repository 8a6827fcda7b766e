// sluice/aug/kernels/separable.cpp - symmetric separable blurs, compiled once per instruction set.
// SPDX-License-Identifier: Apache-2.0
//
// Per output row: five (or 3, 7) source rows become one line of column sums, which stays in L1, its
// margins are mirrored, and the row pass reads it at distances of `channels`. u8 needs 16-bit lanes
// only. Ladder: bench/kernels/separable.md.
#include "sluice/aug/kernels/separable.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/separable.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on
#include "sluice/aug/kernels/filter-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

using image::ImageSpan;
using image::ImageView;

/// Columns of u8 into 128ths, rounded half up.
template <int kRadius>
void sum_columns(std::int16_t* line, RowWindow<kRadius, ImageView<std::uint8_t>> rows,
                 std::size_t count, const SymmetricWeights& weights) {
  const D16 d;
  V16 w[kRadius + 1];
  for (int k = 0; k <= kRadius; ++k)
    w[k] = hn::Set(d, weights.columns[static_cast<std::size_t>(k)]);
  const auto zero = hn::Zero(d);
  for_vectors(count, hn::Lanes(D8()), [=](std::size_t i) HWY_ATTR {
    const Pair centre = load_pair(rows(0) + i);
    V16 low = hn::Mul(centre.low, w[0]), high = hn::Mul(centre.high, w[0]);
    for (int k = 1; k <= kRadius; ++k) {
      const Pair both = add(load_pair(rows(-k) + i), load_pair(rows(k) + i));
      low = hn::Add(low, hn::Mul(both.low, w[k]));
      high = hn::Add(high, hn::Mul(both.high, w[k]));
    }
    store_pair({hn::AverageRound(low, zero), hn::AverageRound(high, zero)},
               reinterpret_cast<std::uint16_t*>(line) + i);
  });
}

/// Rows of 128ths; finish(i, blurred) rounds them to levels and stores.
template <int kRadius, class Finish>
HWY_INLINE void sum_rows(const std::int16_t* line, std::size_t count, std::size_t channels,
                         const SymmetricWeights& weights, Finish finish) {
  const DI16 d;
  const D16 du;
  VI16 w[kRadius + 1];
  for (int k = 0; k <= kRadius; ++k)
    w[k] = hn::Set(d, weights.rows[static_cast<std::size_t>(k)]);
  const auto sum_of = [=](const std::int16_t* at) HWY_ATTR {
    VI16 sum = hn::MulFixedPoint15(hn::LoadU(d, at), w[0]);
    for (int k = 1; k <= kRadius; ++k) {
      const std::size_t away = static_cast<std::size_t>(k) * channels;
      const auto before = hn::BitCast(du, hn::LoadU(d, at - away));
      const auto behind = hn::BitCast(du, hn::LoadU(d, at + away));
      const auto mean = hn::BitCast(d, hn::AverageRound(before, behind));
      sum = hn::Add(sum, hn::MulFixedPoint15(mean, w[k]));
    }
    return sum;
  };
  for_vectors(count, hn::Lanes(D8()), [=](std::size_t i) HWY_ATTR {
    finish(i, SignedPair{sum_of(line + i), sum_of(line + i + hn::Lanes(d))});
  });
}

template <int kRadius>
void sum_columns(float* line, RowWindow<kRadius, ImageView<float>> rows, std::size_t count,
                 const SymmetricWeights& weights) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> w[kRadius + 1];
  for (int k = 0; k <= kRadius; ++k)
    w[k] = hn::Set(d, weights.exact[static_cast<std::size_t>(k)]);
  for_vectors(count, hn::Lanes(d), [=](std::size_t i) HWY_ATTR {
    auto sum = hn::Mul(hn::LoadU(d, rows(0) + i), w[0]);
    for (int k = 1; k <= kRadius; ++k)
      sum = hn::MulAdd(hn::Add(hn::LoadU(d, rows(-k) + i), hn::LoadU(d, rows(k) + i)), w[k], sum);
    hn::StoreU(sum, d, line + i);
  });
}

template <int kRadius, class Finish>
HWY_INLINE void sum_rows(const float* line, std::size_t count, std::size_t channels,
                         const SymmetricWeights& weights, Finish finish) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> w[kRadius + 1];
  for (int k = 0; k <= kRadius; ++k)
    w[k] = hn::Set(d, weights.exact[static_cast<std::size_t>(k)]);
  for_vectors(count, hn::Lanes(d), [=](std::size_t i) HWY_ATTR {
    auto sum = hn::Mul(hn::LoadU(d, line + i), w[0]);
    for (int k = 1; k <= kRadius; ++k) {
      const std::size_t away = static_cast<std::size_t>(k) * channels;
      sum = hn::MulAdd(hn::Add(hn::LoadU(d, line + i - away), hn::LoadU(d, line + i + away)), w[k],
                       sum);
    }
    finish(i, sum);
  });
}

/// finish_row(y, line) is called with column sums whose margins are filled.
template <int kRadius, class T, class L, class FinishRow>
HWY_INLINE void each_line(ImageView<T> src, const SymmetricWeights& weights, L* memory,
                          FinishRow finish_row) {
  L* line = memory + std::ptrdiff_t{kRadius} * src.channels();
  for (int y = 0; y < src.height(); ++y) {
    const RowWindow<kRadius, ImageView<T>> rows(src, y);
    sum_columns<kRadius>(line, rows, src.row_samples(), weights);
    mirror_margins(line, src.width(), src.channels(), kRadius);
    finish_row(y, line);
  }
}

template <int kRadius>
void blur_taps(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src,
               const SymmetricWeights& weights, std::int16_t* memory) {
  const auto channels = static_cast<std::size_t>(src.channels());
  each_line<kRadius>(src, weights, memory, [&](int y, const std::int16_t* line) HWY_ATTR {
    std::uint8_t* to = dst.row(y);
    sum_rows<kRadius>(line, src.row_samples(), channels, weights,
                      [to](std::size_t i, SignedPair blurred)
                          HWY_ATTR { hn::StoreU(narrow_rounded<7>(blurred), D8(), to + i); });
  });
}

template <int kRadius>
void blur_taps(ImageSpan<float> dst, ImageView<float> src, const SymmetricWeights& weights,
               float* memory) {
  const auto channels = static_cast<std::size_t>(src.channels());
  const hn::ScalableTag<float> d;
  each_line<kRadius>(src, weights, memory, [&](int y, const float* line) HWY_ATTR {
    float* to = dst.row(y);
    sum_rows<kRadius>(line, src.row_samples(), channels, weights,
                      [to, d](std::size_t i, hn::Vec<decltype(d)> blurred)
                          HWY_ATTR { hn::StoreU(blurred, d, to + i); });
  });
}

template <int kRadius>
void unsharp_taps(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src,
                  const SymmetricWeights& weights, const UnsharpRule& rule, std::int16_t* memory) {
  const auto channels = static_cast<std::size_t>(src.channels());
  const DI16 d;
  const auto threshold = hn::Set(d, rule.threshold), alpha = hn::Set(d, rule.alpha);
  const auto zero = hn::Zero(d);
  const auto sharpen = [=](VI16 x, VI16 blurred) HWY_ATTR {
    const auto off = hn::Sub(x, blurred);
    const auto added = hn::MulFixedPoint15(off, alpha);
    return hn::Add(x, hn::IfThenElseZero(hn::Gt(hn::Abs(off), threshold), added));
  };
  each_line<kRadius>(src, weights, memory, [&](int y, const std::int16_t* line) HWY_ATTR {
    std::uint8_t* to = dst.row(y);
    const std::uint8_t* from = src.row(y);
    sum_rows<kRadius>(line, src.row_samples(), channels, weights,
                      [=](std::size_t i, SignedPair blurred) HWY_ATTR {
                        const SignedPair x = as_signed(load_pair(from + i));
                        const SignedPair sharp = {
                            sharpen(x.low, add_rounded<7>(zero, blurred.low)),
                            sharpen(x.high, add_rounded<7>(zero, blurred.high))};
                        hn::StoreU(narrow(sharp), D8(), to + i);
                      });
  });
}

template <int kRadius>
void unsharp_taps(ImageSpan<float> dst, ImageView<float> src, const SymmetricWeights& weights,
                  const UnsharpRule& rule, float* memory) {
  const auto channels = static_cast<std::size_t>(src.channels());
  const hn::ScalableTag<float> d;
  const auto threshold = hn::Set(d, rule.threshold_f32), alpha = hn::Set(d, rule.alpha_f32);
  each_line<kRadius>(src, weights, memory, [&](int y, const float* line) HWY_ATTR {
    float* to = dst.row(y);
    const float* from = src.row(y);
    sum_rows<kRadius>(line, src.row_samples(), channels, weights,
                      [=](std::size_t i, hn::Vec<decltype(d)> blurred) HWY_ATTR {
                        const auto x = hn::LoadU(d, from + i);
                        const auto off = hn::Sub(x, blurred);
                        const auto sharp = hn::Min(hn::Max(hn::MulAdd(off, alpha, x), hn::Zero(d)),
                                                   hn::Set(d, 1.0F));
                        const auto above = hn::Gt(hn::Abs(off), threshold);
                        hn::StoreU(hn::IfThenElse(above, sharp, x), d, to + i);
                      });
  });
}

void blur_u8(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src, const SymmetricWeights& w,
             std::int16_t* line) {
  if (w.radius == 1) return blur_taps<1>(dst, src, w, line);
  if (w.radius == 2) return blur_taps<2>(dst, src, w, line);
  blur_taps<3>(dst, src, w, line);
}
void blur_f32(ImageSpan<float> dst, ImageView<float> src, const SymmetricWeights& w, float* line) {
  if (w.radius == 1) return blur_taps<1>(dst, src, w, line);
  if (w.radius == 2) return blur_taps<2>(dst, src, w, line);
  blur_taps<3>(dst, src, w, line);
}
void unsharp_u8(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src, const SymmetricWeights& w,
                const UnsharpRule& rule, std::int16_t* line) {
  if (w.radius == 1) return unsharp_taps<1>(dst, src, w, rule, line);
  if (w.radius == 2) return unsharp_taps<2>(dst, src, w, rule, line);
  unsharp_taps<3>(dst, src, w, rule, line);
}
void unsharp_f32(ImageSpan<float> dst, ImageView<float> src, const SymmetricWeights& w,
                 const UnsharpRule& rule, float* line) {
  if (w.radius == 1) return unsharp_taps<1>(dst, src, w, rule, line);
  if (w.radius == 2) return unsharp_taps<2>(dst, src, w, rule, line);
  unsharp_taps<3>(dst, src, w, rule, line);
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(blur_u8);
HWY_EXPORT(blur_f32);
HWY_EXPORT(unsharp_u8);
HWY_EXPORT(unsharp_f32);

void blur(image::ImageSpan<std::uint8_t> dst, image::ImageView<std::uint8_t> src,
          const SymmetricWeights& weights, std::int16_t* line) {
  HWY_DYNAMIC_DISPATCH(blur_u8)(dst, src, weights, line);
}
void blur(image::ImageSpan<float> dst, image::ImageView<float> src, const SymmetricWeights& weights,
          float* line) {
  HWY_DYNAMIC_DISPATCH(blur_f32)(dst, src, weights, line);
}
void unsharp(image::ImageSpan<std::uint8_t> dst, image::ImageView<std::uint8_t> src,
             const SymmetricWeights& weights, const UnsharpRule& rule, std::int16_t* line) {
  HWY_DYNAMIC_DISPATCH(unsharp_u8)(dst, src, weights, rule, line);
}
void unsharp(image::ImageSpan<float> dst, image::ImageView<float> src,
             const SymmetricWeights& weights, const UnsharpRule& rule, float* line) {
  HWY_DYNAMIC_DISPATCH(unsharp_f32)(dst, src, weights, rule, line);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
