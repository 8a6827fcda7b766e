// sluice/image/planes_hwy.cpp - three planes of bytes on Highway, compiled once per instruction
// set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/planes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/image/planes_hwy.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sluice::image::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void split_byte_planes(std::uint8_t* out, std::size_t stride, ImageView<std::uint8_t> pixels) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto width = static_cast<std::size_t>(pixels.width());
  for (int y = 0; y < pixels.height(); ++y) {
    const std::uint8_t* row = pixels.row(y);
    std::uint8_t* to = out + static_cast<std::size_t>(y) * width;
    std::size_t x = 0;
    for (; x + lanes <= width; x += lanes) {
      hn::Vec<decltype(d)> r, g, b;
      hn::LoadInterleaved3(d, row + 3 * x, r, g, b);
      hn::StoreU(r, d, to + x);
      hn::StoreU(g, d, to + stride + x);
      hn::StoreU(b, d, to + 2 * stride + x);
    }
    for (; x < width; ++x)
      for (std::size_t c = 0; c < 3; ++c)
        to[c * stride + x] = row[3 * x + c];
  }
}

}  // namespace sluice::image::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::image {
namespace detail {
HWY_EXPORT(split_byte_planes);
}  // namespace detail

void split_planes(std::uint8_t* out, std::size_t stride, ImageView<std::uint8_t> pixels) {
  using namespace detail;  // where the table of HWY_EXPORT is
  HWY_DYNAMIC_DISPATCH(split_byte_planes)(out, stride, pixels);
}

void split_planes_reference(std::uint8_t* out, std::size_t stride, ImageView<std::uint8_t> pixels) {
  const auto width = static_cast<std::size_t>(pixels.width());
  for (int y = 0; y < pixels.height(); ++y)
    for (std::size_t x = 0; x < width; ++x)
      for (std::size_t c = 0; c < 3; ++c)
        out[c * stride + static_cast<std::size_t>(y) * width + x] = pixels.row(y)[3 * x + c];
}

}  // namespace sluice::image
#endif  // HWY_ONCE
