// sluice/aug/kernels/shuffle_index.cpp - the first places of a random order, compiled once per
// instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/shuffle_index.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/shuffle_index.cpp"
// clang-format off
#include <hwy/foreach_target.h>  // compiles this file once per target and must come first
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void shuffled_indices_u32(std::uint32_t* dst, std::size_t count, const ShuffledIndex& order,
                          std::uint32_t size) {
  const hn::ScalableTag<std::uint32_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto f0 = hn::Set(d, order.factor[0]), a0 = hn::Set(d, order.add[0]);
  const auto f1 = hn::Set(d, order.factor[1]), a1 = hn::Set(d, order.add[1]);
  const auto f2 = hn::Set(d, order.factor[2]), a2 = hn::Set(d, order.add[2]);
  const auto mask = hn::Set(d, order.mask), limit = hn::Set(d, size);
  const int fold = order.fold;
  const auto round = [&](auto x, auto factor, auto add) HWY_ATTR {
    x = hn::And(hn::Add(hn::Mul(x, factor), add), mask);
    return hn::Xor(x, hn::ShiftRightSame(x, fold));
  };
  std::size_t found = 0;
  HWY_ALIGN std::uint32_t one[HWY_MAX_BYTES / 4];
  for (std::uint32_t i = 0; found < count; i += static_cast<std::uint32_t>(lanes)) {
    const auto x = round(round(round(hn::Iota(d, i), f0, a0), f1, a1), f2, a2);
    const auto below = hn::Lt(x, limit);
    if (found + lanes <= count) {
      found += hn::CompressStore(x, below, d, dst + found);
      continue;
    }
    const std::size_t more = hn::CompressStore(x, below, d, one);
    for (std::size_t k = 0; k < more && found < count; ++k)
      dst[found++] = one[k];
  }
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(shuffled_indices_u32);

void shuffled_indices(std::uint32_t* dst, std::size_t count, const ShuffledIndex& order,
                      std::uint32_t size) {
  HWY_DYNAMIC_DISPATCH(shuffled_indices_u32)(dst, count, order, size);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
