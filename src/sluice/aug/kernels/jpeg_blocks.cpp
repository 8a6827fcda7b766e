// sluice/aug/kernels/jpeg_blocks.cpp - 8 x 8 blocks through the integer DCT, quantisation and back,
// compiled once per instruction set. Versions and timings: bench/kernels/jpeg.md.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/jpeg.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/jpeg_blocks.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "sluice/aug/kernels/widening-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Constants of Loeffler, Ligtenberg and Moschytz in 1/8192.
constexpr int k0_298 = 2446, k0_390 = 3196, k0_541 = 4433, k0_765 = 6270, k0_899 = 7373,
              k1_175 = 9633, k1_501 = 12299, k1_847 = 15137, k1_961 = 16069, k2_053 = 16819,
              k2_562 = 20995, k3_072 = 25172;

struct OddSums {
  Wide a, b, c, d;
};
/// What both directions do with their odd inputs; products are regrouped by input.
HWY_INLINE OddSums odd_sums(S16 a, S16 b, S16 c, S16 d) {
  const S16 ac = hn::Add(a, c), bd = hn::Add(b, d);
  const Wide z3 = products<k1_175 - k1_961, k1_175>(ac, bd);
  const Wide z4 = products<k1_175, k1_175 - k0_390>(ac, bd);
  return {add_products<k0_298 - k0_899, -k0_899>(z3, a, d),
          add_products<k2_053 - k2_562, -k2_562>(z4, b, c),
          add_products<-k2_562, k3_072 - k2_562>(z3, b, c),
          add_products<-k0_899, k1_501 - k0_899>(z4, a, d)};
}

/// Down the columns. The first pass keeps 2 fraction bits, the second drops them.
template <bool kFirst>
HWY_INLINE void forward_pass(S16 (&v)[8]) {
  constexpr int kBits = kFirst ? 11 : 15;
  const S16 t0 = hn::Add(v[0], v[7]), t7 = hn::Sub(v[0], v[7]);
  const S16 t1 = hn::Add(v[1], v[6]), t6 = hn::Sub(v[1], v[6]);
  const S16 t2 = hn::Add(v[2], v[5]), t5 = hn::Sub(v[2], v[5]);
  const S16 t3 = hn::Add(v[3], v[4]), t4 = hn::Sub(v[3], v[4]);
  const S16 t10 = hn::Add(t0, t3), t13 = hn::Sub(t0, t3);
  const S16 t11 = hn::Add(t1, t2), t12 = hn::Sub(t1, t2);
  if constexpr (kFirst) {
    v[0] = hn::ShiftLeft<2>(hn::Add(t10, t11));
    v[4] = hn::ShiftLeft<2>(hn::Sub(t10, t11));
  } else {
    const auto half = hn::Set(DS16(), 2);
    v[0] = hn::ShiftRight<2>(hn::Add(hn::Add(t10, t11), half));
    v[4] = hn::ShiftRight<2>(hn::Add(hn::Sub(t10, t11), half));
  }
  v[2] = descaled<kBits>(products<k0_541, k0_541 + k0_765>(t12, t13));
  v[6] = descaled<kBits>(products<k0_541 - k1_847, k0_541>(t12, t13));
  const OddSums odd = odd_sums(t4, t5, t6, t7);
  v[7] = descaled<kBits>(odd.a);
  v[5] = descaled<kBits>(odd.b);
  v[3] = descaled<kBits>(odd.c);
  v[1] = descaled<kBits>(odd.d);
}

/// odd_sums with a and b zero.
HWY_INLINE OddSums odd_sums_low(S16 c, S16 d) {
  return {products<k1_175 - k1_961, k1_175 - k0_899>(c, d),
          products<k1_175 - k2_562, k1_175 - k0_390>(c, d),
          products<k1_175 - k1_961 + k3_072 - k2_562, k1_175>(c, d),
          products<k1_175, k1_175 - k0_390 + k1_501 - k0_899>(c, d)};
}

template <int kBits>
HWY_INLINE void inverse_sums(S16 (&v)[8], const Wide& t0, const Wide& t1, const Wide& t2,
                             const Wide& t3, const OddSums& odd) {
  const Wide t10 = t0 + t3, t13 = t0 - t3, t11 = t1 + t2, t12 = t1 - t2;
  v[0] = descaled<kBits>(t10 + odd.d);
  v[7] = descaled<kBits>(t10 - odd.d);
  v[1] = descaled<kBits>(t11 + odd.c);
  v[6] = descaled<kBits>(t11 - odd.c);
  v[2] = descaled<kBits>(t12 + odd.b);
  v[5] = descaled<kBits>(t12 - odd.b);
  v[3] = descaled<kBits>(t13 + odd.a);
  v[4] = descaled<kBits>(t13 - odd.a);
}

/// kLow: the upper four inputs are zero.
template <int kBits, bool kLow>
HWY_INLINE void inverse_pass(S16 (&v)[8]) {
  if constexpr (kLow) {
    const Wide t0 = shifted<13>(v[0]);
    inverse_sums<kBits>(v, t0, t0, product<k0_541>(v[2]), product<k0_541 + k0_765>(v[2]),
                        odd_sums_low(v[3], v[1]));
  } else {
    inverse_sums<kBits>(v, shifted<13>(hn::Add(v[0], v[4])), shifted<13>(hn::Sub(v[0], v[4])),
                        products<k0_541, k0_541 - k1_847>(v[2], v[6]),
                        products<k0_541 + k0_765, k0_541>(v[2], v[6]),
                        odd_sums(v[7], v[5], v[3], v[1]));
  }
}

using DPair = hn::ScalableTag<std::uint16_t>;  // two neighbouring samples

constexpr std::size_t kMaxLanes = HWY_MAX_BYTES / 2;

/// The quantiser, each value in all lanes.
struct Spread {
  HWY_ALIGN std::int16_t bias[64][kMaxLanes];
  HWY_ALIGN std::int16_t reciprocal[64][kMaxLanes];
  HWY_ALIGN std::int16_t shift[64][kMaxLanes];
  HWY_ALIGN std::int16_t factor[64][kMaxLanes];
};

void spread(Spread& to, const JpegQuantiser& from) {
  const DS16 d;
  for (std::size_t i = 0; i < 64; ++i) {
    hn::Store(hn::Set(d, from.bias[i]), d, to.bias[i]);
    hn::Store(hn::Set(d, from.reciprocal[i]), d, to.reciprocal[i]);
#if HWY_TARGET == HWY_NEON
    hn::Store(hn::Set(d, static_cast<std::int16_t>(-from.shift[i])), d, to.shift[i]);
#else
    hn::Store(hn::Set(d, static_cast<std::int16_t>(1 << (16 - from.shift[i]))), d, to.shift[i]);
#endif
    hn::Store(hn::Set(d, from.factor[i]), d, to.factor[i]);
  }
}

/// Coefficient i of every block to what the decoder makes of it.
HWY_INLINE S16 quantised(S16 c, const Spread& q, std::size_t i) {
  const DS16 d;
  const auto size = hn::Add(hn::Abs(c), hn::Load(d, q.bias[i]));
#if HWY_TARGET == HWY_NEON
  const S16 part = S16(vqdmulhq_s16(size.raw, hn::Load(d, q.reciprocal[i]).raw));
  const S16 level = S16(vshlq_s16(part.raw, hn::Load(d, q.shift[i]).raw));
#else
  const auto part = hn::MulHigh(hn::Add(size, size), hn::Load(d, q.reciprocal[i]));
  const auto level = hn::MulHigh(part, hn::Load(d, q.shift[i]));
#endif
  const auto back = hn::Mul(level, hn::Load(d, q.factor[i]));
  const auto sign = hn::ShiftRight<15>(c);
  return hn::Sub(hn::Xor(back, sign), sign);
}

/// As many blocks side by side as a vector has lanes; lane j belongs to block j, so nothing is ever
/// transposed.
struct Group {
  HWY_ALIGN std::int16_t work[64][kMaxLanes];
};

HWY_INLINE void forward_rows(Group& group, const std::uint8_t* at, std::size_t stride) {
  const DS16 d;
  const DPair du;
  const auto centre = hn::Set(d, 128);
  const auto low = hn::Set(du, 255);
  for (std::size_t y = 0; y < 8; ++y) {
    hn::Vec<DPair> pairs[4];
    hn::LoadInterleaved4(du, reinterpret_cast<const std::uint16_t*>(at + y * stride), pairs[0],
                         pairs[1], pairs[2], pairs[3]);
    S16 v[8];
    for (std::size_t k = 0; k < 4; ++k) {
      v[2 * k] = hn::Sub(hn::BitCast(d, hn::And(pairs[k], low)), centre);
      v[2 * k + 1] = hn::Sub(hn::BitCast(d, hn::ShiftRight<8>(pairs[k])), centre);
    }
    forward_pass<true>(v);
    for (std::size_t x = 0; x < 8; ++x)
      hn::Store(v[x], d, group.work[8 * y + x]);
  }
}

/// True when the upper four columns of every block are zero afterwards.
HWY_INLINE bool columns_there_and_back(Group& group, const Spread& quantiser) {
  const DS16 d;
  bool low = true;
  for (std::size_t x = 0; x < 8; ++x) {
    S16 v[8];
    for (std::size_t y = 0; y < 8; ++y)
      v[y] = hn::Load(d, group.work[8 * y + x]);
    forward_pass<false>(v);
    for (std::size_t y = 0; y < 8; ++y)
      v[y] = quantised(v[y], quantiser, 8 * y + x);
    const auto lower = hn::Or(hn::Or(v[0], v[1]), hn::Or(v[2], v[3]));
    const auto upper = hn::Or(hn::Or(v[4], v[5]), hn::Or(v[6], v[7]));
    // zeros stay zeros, and at common qualities most high frequencies are
    if (!hn::AllTrue(d, hn::Eq(upper, hn::Zero(d)))) {
      inverse_pass<11, false>(v);
      low = low && x < 4;
    } else if (!hn::AllTrue(d, hn::Eq(lower, hn::Zero(d)))) {
      inverse_pass<11, true>(v);
      low = low && x < 4;
    }
    for (std::size_t y = 0; y < 8; ++y)
      hn::Store(v[y], d, group.work[8 * y + x]);
  }
  return low;
}

template <bool kLow>
HWY_INLINE void inverse_rows(std::uint8_t* at, std::size_t stride, const Group& group) {
  const DS16 d;
  const DPair du;
  const auto centre = hn::Set(d, 128);
  const auto level = [&](S16 t) HWY_ATTR {
    return hn::BitCast(du, hn::Min(hn::Max(hn::Add(t, centre), hn::Zero(d)), hn::Set(d, 255)));
  };
  for (std::size_t y = 0; y < 8; ++y) {
    S16 v[8];
    for (std::size_t x = 0; x < 8; ++x)
      v[x] = hn::Load(d, group.work[8 * y + x]);
    inverse_pass<18, kLow>(v);
    const auto pair = [&](std::size_t k) HWY_ATTR {
      return hn::Or(level(v[2 * k]), hn::ShiftLeft<8>(level(v[2 * k + 1])));
    };
    hn::StoreInterleaved4(pair(0), pair(1), pair(2), pair(3), du,
                          reinterpret_cast<std::uint16_t*>(at + y * stride));
  }
}

void all_blocks(std::uint8_t* plane, std::size_t stride, std::size_t width, std::size_t height,
                const JpegQuantiser& quantiser) {
  Spread in_lanes;
  Group group;
  spread(in_lanes, quantiser);
  for (std::size_t y = 0; y < height; y += 8)
    for (std::size_t x = 0; x < width; x += 8 * hn::Lanes(DS16())) {
      std::uint8_t* at = plane + y * stride + x;
      forward_rows(group, at, stride);
      if (columns_there_and_back(group, in_lanes))
        inverse_rows<true>(at, stride, group);
      else
        inverse_rows<false>(at, stride, group);
    }
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(all_blocks);

JpegQuantiser JpegQuantiser::make(const std::array<int, 64>& table) {
  JpegQuantiser made;
  for (std::size_t i = 0; i < 64; ++i) {
    const int divisor = 8 * table[i];
    int shift = 0;
    while ((2 << shift) < divisor)
      ++shift;  // 2^shift < divisor <= 2^(shift + 1)
    made.bias[i] = static_cast<std::int16_t>(divisor / 2);
    made.reciprocal[i] = static_cast<std::int16_t>(((1 << (15 + shift)) + divisor - 1) / divisor);
    made.shift[i] = static_cast<std::int16_t>(shift);
    made.factor[i] = static_cast<std::int16_t>(table[i]);
  }
  return made;
}

void jpeg_blocks(std::uint8_t* plane, std::size_t stride, std::size_t width, std::size_t height,
                 const JpegQuantiser& quantiser) {
  HWY_DYNAMIC_DISPATCH(all_blocks)(plane, stride, width, height, quantiser);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
