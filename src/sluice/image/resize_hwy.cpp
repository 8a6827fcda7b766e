// sluice/image/resize_hwy.cpp - the bilinear kernels on Highway, compiled once per instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/resize_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/image/resize_hwy.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sluice::image::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

void resize_u8(const ResizeJobU8& job) {
  resize_plain(job);
}
void resize_f32(const ResizeJobF32& job) {
  resize_plain(job);
}

#else

/// row = top + (bottom - top) * weight, with kFraction more bits. Equal to blend_plain, bit for
/// bit.
void blend(std::int16_t* HWY_RESTRICT row, const std::uint8_t* top, const std::uint8_t* bottom,
           std::size_t count, std::int16_t weight) {
  const hn::ScalableTag<std::int16_t> d16;
  const hn::Rebind<std::uint8_t, decltype(d16)> d8;
  const std::size_t lanes = hn::Lanes(d16);
  const auto w = hn::Set(d16, weight);
  const auto step = [&](std::size_t i) HWY_ATTR {
    const auto a = hn::ShiftLeft<kFraction>(hn::PromoteTo(d16, hn::LoadU(d8, top + i)));
    const auto b = hn::ShiftLeft<kFraction>(hn::PromoteTo(d16, hn::LoadU(d8, bottom + i)));
    hn::StoreU(hn::Add(a, hn::MulFixedPoint15(hn::Sub(b, a), w)), d16, row + i);
  };
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    step(i);
    step(i + lanes);
  }
  for (; i < count; ++i)
    row[i] = static_cast<std::int16_t>(
        (top[i] << kFraction) + multiply_q15((bottom[i] - top[i]) * (1 << kFraction), weight));
}

void blend(float* HWY_RESTRICT row, const float* top, const float* bottom, std::size_t count,
           float weight) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto w = hn::Set(d, weight);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto a = hn::LoadU(d, top + i);
    hn::StoreU(hn::MulAdd(hn::Sub(hn::LoadU(d, bottom + i), a), w, a), d, row + i);
  }
  for (; i < count; ++i)
    row[i] = top[i] + (bottom[i] - top[i]) * weight;
}

using I16x8 = hn::FixedTag<std::int16_t, 8>;
using I16x4 = hn::FixedTag<std::int16_t, 4>;
using U8x8 = hn::FixedTag<std::uint8_t, 8>;
using U8x16 = hn::FixedTag<std::uint8_t, 16>;

/// Eight blended samples to the right of eight, weighed and rounded to bytes.
template <class V>
HWY_INLINE hn::Vec<U8x8> mix(V left, V right, V weight) {
  const I16x8 d;
  const auto value = hn::Add(left, hn::MulFixedPoint15(hn::Sub(right, left), weight));
  return hn::DemoteTo(U8x8(),
                      hn::ShiftRight<kFraction>(hn::Add(value, hn::Set(d, 1 << (kFraction - 1)))));
}

/// 3 or 4 channels: a pixel is one load of four samples, two pixels are a vector, four are one
/// store.
template <std::size_t kChannels>
void gather_pixels(std::uint8_t* HWY_RESTRICT to, const ResizeJobU8& job) {
  const I16x8 d;
  const I16x4 half;
  const U8x16 bytes;
  alignas(16) static constexpr std::uint8_t kPack[16] = {0,  1,  2,  4,  5, 6, 8,  9,
                                                         10, 12, 13, 14, 3, 7, 11, 15};
  const auto pack = hn::Load(bytes, kPack);
  const auto two = [&](std::size_t x) HWY_ATTR {
    const std::int16_t* p0 = job.row + job.offsets[x];
    const std::int16_t* p1 = job.row + job.offsets[x + 1];
    const auto left = hn::Combine(d, hn::LoadU(half, p1), hn::LoadU(half, p0));
    const auto right =
        hn::Combine(d, hn::LoadU(half, p1 + kChannels), hn::LoadU(half, p0 + kChannels));
    return mix(left, right, hn::LoadU(d, job.weights + x * kWeightCopies));
  };
  const auto width = static_cast<std::size_t>(job.dst.width());
  std::size_t x = 0;
  for (; x * kChannels + 16 <= width * kChannels; x += 4) {
    const auto four = hn::Combine(bytes, two(x + 2), two(x));
    hn::StoreU(kChannels == 3 ? hn::TableLookupBytes(four, pack) : four, bytes, to + x * kChannels);
  }
  gather_plain(to, job, static_cast<int>(x));
}

/// 5 channels or more: eight samples at a time; the last store of a pixel may run into the next,
/// which comes after.
void gather_wide(std::uint8_t* HWY_RESTRICT to, const ResizeJobU8& job) {
  const I16x8 d;
  const auto channels = static_cast<std::size_t>(job.dst.channels());
  const std::size_t written = (channels + 7) / 8 * 8;
  const auto samples = job.dst.row_samples();
  std::size_t x = 0;
  for (; x * channels + written <= samples; ++x) {
    const std::int16_t* left = job.row + job.offsets[x];
    const auto weight = hn::Set(d, job.weights[x * kWeightCopies]);
    for (std::size_t c = 0; c < channels; c += 8)
      hn::StoreU(mix(hn::LoadU(d, left + c), hn::LoadU(d, left + c + channels), weight), U8x8(),
                 to + x * channels + c);
  }
  gather_plain(to, job, static_cast<int>(x));
}

void gather(std::uint8_t* to, const ResizeJobU8& job) {
  switch (job.dst.channels()) {
    case 1:
    case 2:
      return gather_plain(to, job, 0);
    case 3:
      return gather_pixels<3>(to, job);
    case 4:
      return gather_pixels<4>(to, job);
    default:
      return gather_wide(to, job);
  }
}

void gather(float* HWY_RESTRICT to, const ResizeJobF32& job) {
  const auto channels = static_cast<std::size_t>(job.dst.channels());
  if (channels < 3) return gather_plain(to, job, 0);
  const hn::FixedTag<float, 4> d;
  const std::size_t written = (channels + 3) / 4 * 4;
  const auto samples = job.dst.row_samples();
  std::size_t x = 0;
  for (; x * channels + written <= samples; ++x) {
    const float* left = job.row + job.offsets[x];
    const auto weight = hn::LoadU(d, job.weights + x * kWeightCopies);
    for (std::size_t c = 0; c < channels; c += 4) {
      const auto a = hn::LoadU(d, left + c);
      hn::StoreU(hn::MulAdd(hn::Sub(hn::LoadU(d, left + c + channels), a), weight, a), d,
                 to + x * channels + c);
    }
  }
  gather_plain(to, job, static_cast<int>(x));
}

template <class Job, class Weight>
void resize_rows(const Job& job, Weight weight) {
  for (int y = 0; y < job.dst.height(); ++y) {
    const Tap tap = make_tap(y, job.dst.height(), job.src.height());
    set_weight(weight, tap, job.dst.height());
    const auto* top = job.src.row(tap.index);
    blend(job.row, top, tap.part == 0 ? top : job.src.row(tap.index + 1), job.src.row_samples(),
          weight);
    gather(job.dst.row(y), job);
  }
}

void resize_u8(const ResizeJobU8& job) {
  resize_rows(job, std::int16_t{0});
}
void resize_f32(const ResizeJobF32& job) {
  resize_rows(job, 0.0F);
}

#endif  // HWY_SCALAR

}  // namespace sluice::image::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::image::detail {

HWY_EXPORT(resize_u8);
HWY_EXPORT(resize_f32);

void resize_hwy(const ResizeJobU8& job) {
  HWY_DYNAMIC_DISPATCH(resize_u8)(job);
}
void resize_hwy(const ResizeJobF32& job) {
  HWY_DYNAMIC_DISPATCH(resize_f32)(job);
}

}  // namespace sluice::image::detail
#endif  // HWY_ONCE
