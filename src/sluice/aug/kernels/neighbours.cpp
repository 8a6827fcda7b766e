// sluice/aug/kernels/neighbours.cpp - 3x3 sharpening, compiled once per instruction set.
// SPDX-License-Identifier: Apache-2.0
//
// Every kernel of the family is a multiple of the Laplacian plus a multiple of x, so that no 3x3
// convolution is needed: eight neighbours are a box sum (column sums of three rows in a line, then
// three of those), four are read where they lie. Ladder: bench/kernels/sharpen.md.
#include "sluice/aug/kernels/neighbours.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/neighbours.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on
#include "sluice/aug/kernels/filter-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

using image::ImageSpan;
using image::ImageView;
using Rows = RowWindow<1, ImageView<std::uint8_t>>;
using RowsF32 = RowWindow<1, ImageView<float>>;
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;

/// x + the two terms, from `lack`: neighbours - n x.
template <bool kLoss>
struct Finish {
  VI16 weight, loss;
  explicit Finish(const SharpenRule& rule)
      : weight(hn::Set(DI16(), static_cast<std::int16_t>(-rule.weight))),
        loss(hn::Set(DI16(), rule.loss)) {}
  HWY_INLINE VI16 operator()(VI16 x, VI16 lack) const {
    VI16 more = hn::MulFixedPoint15(hn::ShiftLeft<4>(lack), weight);
    if constexpr (kLoss) more = hn::Sub(more, hn::MulFixedPoint15(hn::ShiftLeft<4>(x), loss));
    return add_rounded<4>(x, more);
  }
};

template <bool kLoss>
void eight_u8(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src, const SharpenRule& rule,
              std::int16_t* memory) {
  const auto channels = static_cast<std::size_t>(src.channels());
  const std::size_t count = src.row_samples();
  auto* line = reinterpret_cast<std::uint16_t*>(memory) + channels;
  const Finish<kLoss> finish(rule);
  const auto nine = hn::Set(D16(), 9);
  for (int y = 0; y < src.height(); ++y) {
    const Rows rows(src, y);
    const std::uint8_t *above = rows(-1), *from = rows(0), *below = rows(1);
    for_vectors(count, hn::Lanes(D8()), [=](std::size_t i) HWY_ATTR {
      store_pair(add(add(load_pair(above + i), load_pair(below + i)), load_pair(from + i)),
                 line + i);
    });
    mirror_margins(line, src.width(), src.channels(), 1);
    std::uint8_t* to = dst.row(y);
    for_vectors(count, hn::Lanes(D8()), [=](std::size_t i) HWY_ATTR {
      const Pair box = add(add(load_pair(line + i - channels), load_pair(line + i + channels)),
                           load_pair(line + i));
      const Pair x = load_pair(from + i);
      const SignedPair lack = as_signed(
          {hn::Sub(box.low, hn::Mul(x.low, nine)), hn::Sub(box.high, hn::Mul(x.high, nine))});
      const SignedPair xs = as_signed(x);
      hn::StoreU(narrow({finish(xs.low, lack.low), finish(xs.high, lack.high)}), D8(), to + i);
    });
  }
}

template <bool kLoss>
void four_u8(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src, const SharpenRule& rule,
             std::int16_t* memory) {
  const auto channels = static_cast<std::size_t>(src.channels());
  const std::size_t count = src.row_samples();
  auto* line = reinterpret_cast<std::uint8_t*>(memory) + channels;
  const Finish<kLoss> finish(rule);
  for (int y = 0; y < src.height(); ++y) {
    const Rows rows(src, y);
    const std::uint8_t *above = rows(-1), *below = rows(1);
    std::memcpy(line, rows(0), count);
    mirror_margins(line, src.width(), src.channels(), 1);
    std::uint8_t* to = dst.row(y);
    for_vectors(count, hn::Lanes(D8()), [=](std::size_t i) HWY_ATTR {
      const Pair sum = add(add(load_pair(above + i), load_pair(below + i)),
                           add(load_pair(line + i - channels), load_pair(line + i + channels)));
      const Pair x = load_pair(line + i);
      const SignedPair lack = as_signed(
          {hn::Sub(sum.low, hn::ShiftLeft<2>(x.low)), hn::Sub(sum.high, hn::ShiftLeft<2>(x.high))});
      const SignedPair xs = as_signed(x);
      hn::StoreU(narrow({finish(xs.low, lack.low), finish(xs.high, lack.high)}), D8(), to + i);
    });
  }
}

void sharpen_u8(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src, const SharpenRule& rule,
                std::int16_t* line) {
  if (rule.neighbours == Neighbours::eight)
    return rule.loss != 0 ? eight_u8<true>(dst, src, rule, line)
                          : eight_u8<false>(dst, src, rule, line);
  return rule.loss != 0 ? four_u8<true>(dst, src, rule, line)
                        : four_u8<false>(dst, src, rule, line);
}

/// One row: the sum of the neighbours and n x of them.
template <bool kEight>
HWY_INLINE void row_f32(float* to, const float* line, RowsF32 rows, std::size_t count,
                        std::size_t channels, const SharpenRule& rule) {
  const DF d;
  const VF weight = hn::Set(d, rule.weight_f32), loss = hn::Set(d, rule.loss_f32);
  const VF own = hn::Set(d, kEight ? 9.0F : 4.0F), one = hn::Set(d, 1.0F);
  const float *above = rows(-1), *from = rows(0), *below = rows(1);
  for_vectors(count, hn::Lanes(d), [=](std::size_t i) HWY_ATTR {
    const VF x = hn::LoadU(d, from + i);
    VF sum = hn::Add(hn::LoadU(d, line + i - channels), hn::LoadU(d, line + i + channels));
    if constexpr (kEight)
      sum = hn::Add(sum, hn::LoadU(d, line + i));
    else
      sum = hn::Add(sum, hn::Add(hn::LoadU(d, above + i), hn::LoadU(d, below + i)));
    const VF sharp = hn::MulAdd(hn::MulSub(own, x, sum), weight, hn::NegMulAdd(loss, x, x));
    hn::StoreU(hn::Min(hn::Max(sharp, hn::Zero(d)), one), d, to + i);
  });
}

void sharpen_f32(ImageSpan<float> dst, ImageView<float> src, const SharpenRule& rule,
                 float* memory) {
  const DF d;
  const auto channels = static_cast<std::size_t>(src.channels());
  const std::size_t count = src.row_samples();
  float* line = memory + channels;
  for (int y = 0; y < src.height(); ++y) {
    const RowsF32 rows(src, y);
    const float *above = rows(-1), *from = rows(0), *below = rows(1);
    if (rule.neighbours == Neighbours::eight)
      for_vectors(count, hn::Lanes(d), [=](std::size_t i) HWY_ATTR {
        const VF ends = hn::Add(hn::LoadU(d, above + i), hn::LoadU(d, below + i));
        hn::StoreU(hn::Add(ends, hn::LoadU(d, from + i)), d, line + i);
      });
    else
      std::memcpy(line, from, count * sizeof(float));
    mirror_margins(line, src.width(), src.channels(), 1);
    if (rule.neighbours == Neighbours::eight)
      row_f32<true>(dst.row(y), line, rows, count, channels, rule);
    else
      row_f32<false>(dst.row(y), line, rows, count, channels, rule);
  }
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(sharpen_u8);
HWY_EXPORT(sharpen_f32);

void sharpen(image::ImageSpan<std::uint8_t> dst, image::ImageView<std::uint8_t> src,
             const SharpenRule& rule, std::int16_t* line) {
  HWY_DYNAMIC_DISPATCH(sharpen_u8)(dst, src, rule, line);
}
void sharpen(image::ImageSpan<float> dst, image::ImageView<float> src, const SharpenRule& rule,
             float* line) {
  HWY_DYNAMIC_DISPATCH(sharpen_f32)(dst, src, rule, line);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
