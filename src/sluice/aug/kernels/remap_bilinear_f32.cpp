// sluice/aug/kernels/remap_bilinear_f32.cpp - a bilinear warp of f32 rows, compiled once per
// instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/remap.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/remap_bilinear_f32.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on
#include "sluice/aug/kernels/remap_groups-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

using Four = hn::FixedTag<float, 4>;

struct FloatTaps {
  const float* base;
  std::size_t pitch;  // samples
  const std::int32_t* offset;
  const float* wx;
  const float* wy;
};

struct FloatParts {
  hn::Vec<GroupFloat> fx, fy;  // 0 to 1
  hn::Vec<GroupInt> xi, yi;
};

HWY_INLINE FloatParts float_parts_of(hn::Vec<GroupFloat> x, hn::Vec<GroupFloat> y) {
  const GroupInt di;
  const auto wx = hn::Floor(x), wy = hn::Floor(y);
  return {hn::Sub(x, wx), hn::Sub(y, wy), hn::ConvertTo(di, wx), hn::ConvertTo(di, wy)};
}

/// Of any coordinates: those far away become near ones outside.
HWY_INLINE FloatParts float_parts(const Source src, const float* x, const float* y) {
  const GroupFloat d;
  return float_parts_of(bounded(hn::LoadU(d, x), -2.0F, static_cast<float>(src.width + 1)),
                        bounded(hn::LoadU(d, y), -2.0F, static_cast<float>(src.height + 1)));
}

HWY_INLINE hn::Vec<GroupInt> put_float_taps(const Source src, const RemapRow row, int j,
                                            const FloatParts& p) {
  const GroupFloat d;
  const GroupInt di;
  const auto offset =
      hn::Add(hn::Mul(p.yi, hn::Set(di, src.pitch)), hn::Mul(p.xi, hn::Set(di, src.step)));
  hn::StoreU(offset, di, row.offset + j);
  hn::StoreU(p.fx, d, row.share_x + j);
  hn::StoreU(p.fy, d, row.share_y + j);
  return offset;
}

void make_float_taps(const Source src, const RemapRow row) {
  const GroupFloat d;
  const GroupInt di;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for_each_block(
      src, row,
      [&](int from, int to) HWY_ATTR {
        for (int j = from; j < to; j += lanes)
          (void)put_float_taps(src, row, j,
                               float_parts_of(hn::LoadU(d, row.x + j), hn::LoadU(d, row.y + j)));
      },
      [&](int from, int to) HWY_ATTR {
        for (int i = from; i < to; i += kRemapGroup) {
          auto outside = hn::Zero(di);
          for (int j = i; j < i + kRemapGroup; j += lanes) {
            const FloatParts p = float_parts(src, row.x + j, row.y + j);
            const auto offset = put_float_taps(src, row, j, p);
            outside = hn::Or(outside, outside_lanes(src, 2, p.xi, p.yi, offset));
          }
          row.kind[i / kRemapGroup] = kind_of(src, outside);
        }
      });
}

/// Four channels at a time; the last four overlap those before.
HWY_INLINE void float_pixels(float* to, const FloatTaps taps, int count, std::size_t channels) {
  const Four d;
  for (int i = 0; i < count; ++i, to += channels) {
    const auto* from = reinterpret_cast<const float*>(
        reinterpret_cast<const std::byte*>(taps.base) + taps.offset[i]);
    const auto wx = hn::Set(d, taps.wx[i]), wy = hn::Set(d, taps.wy[i]);
    const auto chunk = [&](std::size_t c) HWY_ATTR {
      const float* p = from + c;
      const float* q = p + taps.pitch;
      const auto upper_left = hn::LoadU(d, p), lower_left = hn::LoadU(d, q);
      const auto upper =
          hn::MulAdd(hn::Sub(hn::LoadU(d, p + channels), upper_left), wx, upper_left);
      const auto lower =
          hn::MulAdd(hn::Sub(hn::LoadU(d, q + channels), lower_left), wx, lower_left);
      hn::StoreU(hn::MulAdd(hn::Sub(lower, upper), wy, upper), d, to + c);
    };
    std::size_t c = 0;
    for (; c + 4 <= channels; c += 4)
      chunk(c);
    if (c < channels) chunk(c == 0 ? 0 : channels - 4);
  }
}

HWY_INLINE void float_row(ImageSpan<float> dst, ImageView<float> src, const Source source, int y,
                          const RemapRow row, float fill, std::size_t channels) {
  const std::size_t patch_row = patch_pitch(src.channels());
  auto* const patch = reinterpret_cast<float*>(row.patch);
  std::int32_t patch_offset[kRemapGroup];
  for (int i = 0; i < kRemapGroup; ++i)
    patch_offset[i] = static_cast<std::int32_t>(2 * patch_row * sizeof(float)) * i;
  for_each_group(
      dst, src, y, row, fill,
      [&](float* to, int from, int end) HWY_ATTR {
        float_pixels(to,
                     FloatTaps{src.data(), src.pitch_bytes() / sizeof(float), row.offset + from,
                               row.share_x + from, row.share_y + from},
                     end - from, channels);
      },
      [&](float* to, int x) HWY_ATTR {
        const GroupInt di;
        std::int32_t xi[kRemapGroup], yi[kRemapGroup];
        for (int j = 0; j < kRemapGroup; j += static_cast<int>(hn::Lanes(di))) {
          const FloatParts p = float_parts(source, row.x + x + j, row.y + x + j);
          hn::StoreU(p.xi, di, xi + j);
          hn::StoreU(p.yi, di, yi + j);
        }
        bring_together(patch, src, xi, yi, fill);
        float_pixels(to,
                     FloatTaps{patch, patch_row, patch_offset, row.share_x + x, row.share_y + x},
                     kRemapGroup, channels);
      });
}

void remap_f32(const Frames<float>& frames, int y, const RemapRow row, float fill) {
  complete_row(row);
  Source source;
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const ImageView<float> src = frames.src[f];
    const auto channels = static_cast<std::size_t>(src.channels());
    if (f == 0 || src.pitch_bytes() != frames.src[f - 1].pitch_bytes()) {
      const std::size_t loads = (channels + std::max(channels, std::size_t{4})) * sizeof(float);
      source = Source::of(src, loads, 2);
      make_float_taps(source, row);
    }
    if (channels == 3)
      float_row(frames.dst[f], src, source, y, row, fill, 3);
    else
      float_row(frames.dst[f], src, source, y, row, fill, channels);
  }
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(remap_f32);

void remap_row_bilinear(const Frames<float>& frames, int y, const RemapRow& row, float fill) {
  HWY_DYNAMIC_DISPATCH(remap_f32)(frames, y, row, fill);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
