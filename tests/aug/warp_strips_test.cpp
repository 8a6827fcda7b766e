// tests/aug/warp_strips_test.cpp - warps of wide images, which are made strip by strip.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/warps/warp.h"
#include "sluice/core/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace sluice::aug::warp_strips_test {
namespace {

constexpr int kWidth = 1501, kHeight = 90;  // three strips, the last of an odd width

/// Soft, so that a place that is a little off shows as little.
image::Image picture(int width, int height, int channels, std::uint64_t seed) {
  auto made = image::Image::make(width, height, channels);
  Rng rng(RngKey{seed, 0, 0});
  const double turn = rng.uniform(0, 6);
  const auto span = made->span<std::uint8_t>();
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c)
        span.at(x, y, c) = static_cast<std::uint8_t>(128 + 60 * std::sin(x / 9.0 + c + turn) +
                                                     60 * std::cos(y / 7.0 + turn));
  return std::move(*made);
}

struct Difference {
  int most = 0;
  double share = 0;  // of samples that differ at all
};

Difference difference(image::ImageView<std::uint8_t> a, image::ImageView<std::uint8_t> b) {
  Difference found;
  for (int y = 0; y < a.height(); ++y)
    for (int x = 0; x < a.width(); ++x)
      for (int c = 0; c < a.channels(); ++c) {
        const int apart = std::abs(a.at(x, y, c) - b.at(x, y, c));
        found.most = std::max(found.most, apart);
        found.share += apart > 0 ? 1 : 0;
      }
  found.share /= static_cast<double>(a.samples());
  return found;
}

Matrix3x3 turned(double degrees, double bend = 0) {
  const Affine2x3 m = output_to_input({.degrees = degrees, .shear = {9, 12}}, {kWidth, kHeight, 3});
  return {m[0], m[1], {bend, bend / 3, 1}};
}

/// `count` frames, each against the reference.
void expect_near(const Matrix3x3& matrix, bool nearest, int channels, std::size_t count) {
  std::vector<image::Image> from, to;
  std::vector<image::ImageView<std::uint8_t>> src;
  std::vector<image::ImageSpan<std::uint8_t>> dst;
  for (std::size_t f = 0; f < count; ++f) {
    from.push_back(picture(kWidth, kHeight, channels, f));
    to.push_back(picture(kWidth, kHeight, channels, 1000 + f));
  }
  for (std::size_t f = 0; f < count; ++f) {
    src.push_back(from[f].view<std::uint8_t>());
    dst.push_back(to[f].span<std::uint8_t>());
  }
  Scratch scratch;
  warp_perspective(Frames<std::uint8_t>{dst, src}, scratch, matrix, nearest, 7);
  image::Image wanted = picture(kWidth, kHeight, channels, 9);
  for (std::size_t f = 0; f < count; ++f) {
    warp_perspective_reference(wanted.span<std::uint8_t>(), src[f], matrix, nearest, 7);
    const Difference found = difference(to[f].view<std::uint8_t>(), wanted.view<std::uint8_t>());
    if (nearest)
      EXPECT_LE(found.share, 0.001) << f;
    else
      EXPECT_LE(found.most, 1) << f;
  }
}

TEST(WarpStrips, BilinearIsTheReferenceAcrossTheirBorders) {
  for (const double degrees : {0.0, 6.0, -11.0, 60.0})
    expect_near(turned(degrees), false, 3, 1);
}

TEST(WarpStrips, NearestIsTheReferenceAcrossTheirBorders) {
  for (const double degrees : {6.0, -30.0})
    expect_near(turned(degrees), true, 3, 1);
}

TEST(WarpStrips, PerspectivesAndNineChannels) {
  expect_near(turned(7, 1e-4), false, 3, 1);
  expect_near(turned(7), false, 9, 1);
}

TEST(WarpStrips, MoreFramesThanAreMadeAtATime) {
  expect_near(turned(8), false, 3, 35);
}

}  // namespace
}  // namespace sluice::aug::warp_strips_test
