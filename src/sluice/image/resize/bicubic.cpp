// sluice/image/resize/bicubic.cpp - a source row becomes as wide as the output once; every output
// row blends those around its centre.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/resize/bicubic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

namespace sluice::image {
namespace {

double keys(double distance) {
  const double d = std::abs(distance);
  if (d < 1) return (1.5 * d - 2.5) * d * d + 1;
  return d < 2 ? ((-0.5 * d + 2.5) * d - 4) * d + 2 : 0;
}

struct CubicBlend {
  int first = 0;
  std::vector<double> weights;
};

CubicBlend cubic_blend(int at, int dst, int src) {
  const double scale = static_cast<double>(src) / dst;
  const double shrink = std::max(1.0, scale);
  const double centre = (at + 0.5) * scale;
  CubicBlend blend;
  blend.first = std::max(0, static_cast<int>(std::floor(centre - 2 * shrink)));
  double sum = 0;
  for (int i = blend.first; i < src && i + 0.5 < centre + 2 * shrink; ++i) {
    blend.weights.push_back(keys((i + 0.5 - centre) / shrink));
    sum += blend.weights.back();
  }
  for (double& weight : blend.weights)
    weight /= sum;
  return blend;
}

void make_cubic_axis(BicubicResizer::Axis& axis, int dst, int src) {
  if (axis.dst == dst && axis.src == src) return;
  axis.dst = axis.src = 0;
  axis.taps = static_cast<std::size_t>(
      std::min(static_cast<std::int64_t>(src), 4 * std::int64_t{std::max(src, dst)} / dst + 2));
  axis.first.resize(static_cast<std::size_t>(dst));
  axis.count.resize(static_cast<std::size_t>(dst));
  axis.weights.assign(static_cast<std::size_t>(dst) * axis.taps, 0.0F);
  for (int x = 0; x < dst; ++x) {
    const auto n = static_cast<std::size_t>(x);
    const CubicBlend blend = cubic_blend(x, dst, src);
    assert(blend.weights.size() <= axis.taps);
    axis.first[n] = blend.first;
    axis.count[n] = static_cast<int>(blend.weights.size());
    for (std::size_t k = 0; k < blend.weights.size(); ++k)
      axis.weights[n * axis.taps + k] = static_cast<float>(blend.weights[k]);
  }
  axis.dst = dst;
  axis.src = src;
}

template <class Channels>
void stretch_cubic(float* to, const std::uint8_t* from, const BicubicResizer::Axis& axis,
                   Channels channels) {
  for (std::size_t x = 0; x < axis.first.size(); ++x) {
    const std::uint8_t* pixel = from + static_cast<std::size_t>(axis.first[x]) * channels;
    const float* weights = axis.weights.data() + x * axis.taps;
    for (std::size_t c = 0; c < channels; ++c) {
      float sum = 0;
      for (std::size_t k = 0; k < static_cast<std::size_t>(axis.count[x]); ++k)
        sum += weights[k] * static_cast<float>(pixel[k * channels + c]);
      *to++ = sum;
    }
  }
}

}  // namespace

void resize_bicubic_reference(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src) {
  assert(dst.channels() == src.channels());
  const auto channels = static_cast<std::size_t>(src.channels());
  std::vector<CubicBlend> columns;
  for (int x = 0; x < dst.width(); ++x)
    columns.push_back(cubic_blend(x, dst.width(), src.width()));
  std::vector<double> row(src.row_samples());
  for (int y = 0; y < dst.height(); ++y) {
    const CubicBlend v = cubic_blend(y, dst.height(), src.height());
    std::fill(row.begin(), row.end(), 0.0);
    for (std::size_t k = 0; k < v.weights.size(); ++k)
      for (std::size_t i = 0; i < row.size(); ++i)
        row[i] += v.weights[k] * src.row(v.first + static_cast<int>(k))[i];
    std::uint8_t* to = dst.row(y);
    for (const CubicBlend& h : columns)
      for (std::size_t c = 0; c < channels; ++c) {
        double value = 0.5;
        for (std::size_t k = 0; k < h.weights.size(); ++k)
          value += h.weights[k] * row[(static_cast<std::size_t>(h.first) + k) * channels + c];
        *to++ = static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0));
      }
  }
}

Status BicubicResizer::run(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src) {
  if (dst.empty() || src.empty())
    return Error{Errc::invalid_input, "resize: an image without pixels"};
  if (dst.channels() != src.channels())
    return Error{Errc::invalid_input,
                 fmt::format("resize from {} to {} channels: they must be equal", src.channels(),
                             dst.channels())};
  make_cubic_axis(columns_, dst.width(), src.width());
  make_cubic_axis(rows_, dst.height(), src.height());
  const std::size_t samples = dst.row_samples();
  held_.resize(rows_.taps * samples);
  sums_.resize(samples);
  const auto held = [&](int row) {
    return held_.data() + static_cast<std::size_t>(row) % rows_.taps * samples;
  };
  int next = 0;  // rows before this one are held, or not needed any more
  for (int y = 0; y < dst.height(); ++y) {
    const auto n = static_cast<std::size_t>(y);
    const int first = rows_.first[n];
    for (next = std::max(next, first); next < first + rows_.count[n]; ++next) {
      if (src.channels() == 3)
        stretch_cubic(held(next), src.row(next), columns_,
                      std::integral_constant<std::size_t, 3>{});
      else
        stretch_cubic(held(next), src.row(next), columns_,
                      static_cast<std::size_t>(src.channels()));
    }
    std::fill(sums_.begin(), sums_.end(), 0.5F);
    for (int k = 0; k < rows_.count[n]; ++k) {
      const float weight = rows_.weights[n * rows_.taps + static_cast<std::size_t>(k)];
      const float* row = held(first + k);
      for (std::size_t i = 0; i < samples; ++i)
        sums_[i] += weight * row[i];
    }
    std::uint8_t* to = dst.row(y);
    for (std::size_t i = 0; i < samples; ++i)
      to[i] = static_cast<std::uint8_t>(std::clamp(sums_[i], 0.0F, 255.0F));
  }
  return ok;
}

}  // namespace sluice::image
