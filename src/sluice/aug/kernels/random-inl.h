// sluice/aug/kernels/random-inl.h - aug/procedural/noise.h in vectors, for other kernels to hold in
// registers.
// SPDX-License-Identifier: Apache-2.0
//
// Included once per instruction set, after hwy/highway.h.
#if defined(SLUICE_AUG_KERNELS_RANDOM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_AUG_KERNELS_RANDOM_INL_H_
#undef SLUICE_AUG_KERNELS_RANDOM_INL_H_
#else
#define SLUICE_AUG_KERNELS_RANDOM_INL_H_
#endif

#include "sluice/aug/procedural/noise.h"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The words of a stream from `first` on, a vector at a time.
class NoiseWords {
 public:
  using D = hn::ScalableTag<std::uint32_t>;
  using V = hn::Vec<D>;

  HWY_INLINE NoiseWords(NoiseStream stream, std::uint32_t first) {
    const D d;
    const V weyl = hn::Set(d, kNoiseWeyl);
    state_ = hn::Add(hn::Mul(hn::Iota(d, first), weyl), hn::Set(d, stream.start));
    step_ = hn::Set(d, static_cast<std::uint32_t>(hn::Lanes(d)) * kNoiseWeyl);
    middle_ = hn::Set(d, stream.middle);
  }
  HWY_INLINE V next() {
    const D d;
    V x = state_;
    state_ = hn::Add(state_, step_);
    x = hn::Xor(x, hn::ShiftRight<16>(x));
    x = hn::Add(hn::Mul(x, hn::Set(d, kNoiseMix1)), middle_);
    x = hn::Xor(x, hn::ShiftRight<15>(x));
    x = hn::Mul(x, hn::Set(d, kNoiseMix2));
    return hn::Xor(x, hn::ShiftRight<16>(x));
  }

 private:
  V state_, step_, middle_;
};

/// NormalNoise from a word on: two vectors of i16 at a time, in order.
class NormalValues {
 public:
  using D = hn::ScalableTag<std::int16_t>;

  HWY_INLINE NormalValues(const NormalNoise& noise, std::uint32_t first_word)
      : low_(noise.low, first_word), high_(noise.high, first_word) {
    const D8 d8;
    table0_ = hn::LoadDup128(d8, kNormalTables[0].data());
    table1_ = hn::LoadDup128(d8, kNormalTables[1].data());
    table2_ = hn::LoadDup128(d8, kNormalTables[2].data());
    table3_ = hn::LoadDup128(d8, kNormalTables[3].data());
  }
  HWY_INLINE void next(hn::Vec<D>& first, hn::Vec<D>& second) {
    const D8 d8;
    const hn::Repartition<std::uint8_t, D8> du;
    const hn::Half<D8> half;
    const D d;
    const auto nibble = hn::Set(du, 15);
    const auto a = hn::BitCast(du, low_.next());
    const auto b = hn::BitCast(du, high_.next());
    const auto entry = [&](auto table, auto index)
                           HWY_ATTR { return hn::TableLookupBytes(table, hn::BitCast(d8, index)); };
    const auto coarse =
        hn::Add(hn::Add(entry(table0_, hn::And(a, nibble)), entry(table1_, hn::ShiftRight<4>(a))),
                entry(table2_, hn::And(b, nibble)));
    const auto fine = entry(table3_, hn::ShiftRight<4>(b));
    first = hn::Add(hn::ShiftLeft<2>(hn::PromoteTo(d, hn::LowerHalf(half, coarse))),
                    hn::PromoteTo(d, hn::LowerHalf(half, fine)));
    second = hn::Add(hn::ShiftLeft<2>(hn::PromoteTo(d, hn::UpperHalf(half, coarse))),
                     hn::PromoteTo(d, hn::UpperHalf(half, fine)));
  }

 private:
  using D8 = hn::ScalableTag<std::int8_t>;
  NoiseWords low_, high_;
  hn::Vec<D8> table0_, table1_, table2_, table3_;
};

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
