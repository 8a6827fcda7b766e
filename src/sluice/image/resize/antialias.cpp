// sluice/image/resize/antialias.cpp - antialiased resize: the definition, the plain kernels, the
// object that keeps the tables.
// SPDX-License-Identifier: Apache-2.0
//
// Columns first, as in resize.cpp: a source row becomes as wide as the output once, and every
// output row blends the few rows around its centre. Kernels with intrinsics:
// antialias_hwy.cpp. Ladder: bench/kernels/resize_antialias.md.
#include "sluice/image/resize/antialias.h"

#include <fmt/format.h>

#include <cassert>
#include <cmath>
#include <vector>

namespace sluice::image {
namespace {

struct Blend {
  int first = 0;
  std::vector<double> weights;
};

std::vector<Blend> blends(int dst, int src) {
  const double scale = static_cast<double>(src) / dst;
  const double reach = std::max(1.0, scale);
  std::vector<Blend> all(static_cast<std::size_t>(dst));
  for (int x = 0; x < dst; ++x) {
    Blend& blend = all[static_cast<std::size_t>(x)];
    const double centre = (x + 0.5) * scale;
    blend.first = std::max(0, static_cast<int>(std::floor(centre - reach)));
    double sum = 0;
    for (int i = blend.first; i < src && i + 0.5 < centre + reach; ++i) {
      blend.weights.push_back(std::max(0.0, 1 - std::abs(i + 0.5 - centre) / reach));
      sum += blend.weights.back();
    }
    for (double& weight : blend.weights)
      weight /= sum;
  }
  return all;
}

/// Memory for the tables of a shape, and they in it. The image is unchanged on error.
Result<detail::AntialiasTables> tables_in(Image& memory, const ResizeShape& shape) {
  constexpr std::size_t kRow = 4096;
  const std::size_t rows = detail::antialias_bytes(shape) / kRow + 1;
  SLUICE_CHECK(memory.resize_for(static_cast<int>(kRow), static_cast<int>(rows), 1));
  return detail::make_antialias_tables(
      reinterpret_cast<std::byte*>(memory.span<std::uint8_t>().data()), shape);
}

ResizeShape shape_of(const ImageSpan<std::uint8_t>& dst, const ImageView<std::uint8_t>& src) {
  return {dst.width(), dst.height(), src.width(), src.height(), src.channels()};
}

}  // namespace

void resize_antialias_reference(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src) {
  assert(dst.channels() == src.channels());
  const std::vector<Blend> columns = blends(dst.width(), src.width());
  const std::vector<Blend> rows = blends(dst.height(), src.height());
  const auto channels = static_cast<std::size_t>(src.channels());
  std::vector<double> row(src.row_samples());
  for (int y = 0; y < dst.height(); ++y) {
    const Blend& v = rows[static_cast<std::size_t>(y)];
    std::fill(row.begin(), row.end(), 0.0);
    for (std::size_t k = 0; k < v.weights.size(); ++k)
      for (std::size_t i = 0; i < row.size(); ++i)
        row[i] += v.weights[k] * src.row(v.first + static_cast<int>(k))[i];
    std::uint8_t* to = dst.row(y);
    for (const Blend& h : columns)
      for (std::size_t c = 0; c < channels; ++c) {
        double value = 0;
        for (std::size_t k = 0; k < h.weights.size(); ++k)
          value += h.weights[k] * row[(static_cast<std::size_t>(h.first) + k) * channels + c];
        *to++ = static_cast<std::uint8_t>(value + 0.5);
      }
  }
}

void detail::antialias_plain(const ImageSpan<std::uint8_t>& dst, const ImageView<std::uint8_t>& src,
                             const AntialiasTables& tables) {
  const auto channels = static_cast<std::size_t>(src.channels());
  const auto width = static_cast<std::size_t>(dst.width());
  antialias_rows(
      dst, src, tables,
      [&](std::int16_t* const* to, int row, int count) {
        for (int r = 0; r < count; ++r)
          stretch_antialias_plain(to[r], src.row(row + r), tables, channels, 0, width);
      },
      [&](std::uint8_t* to, const std::int16_t* const* rows, const std::int16_t* weights,
          std::size_t count) {
        blend_antialias_plain(to, rows, weights, count, 0, dst.row_samples());
      });
}

void detail::antialias_plainly(const ImageSpan<std::uint8_t>& dst,
                               const ImageView<std::uint8_t>& src) {
  Image memory;
  const auto tables = tables_in(memory, shape_of(dst, src));
  assert(tables);
  antialias_plain(dst, src, *tables);
}

Status AntialiasResizer::run(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src) {
  if (dst.empty() || src.empty())
    return Error{Errc::invalid_input, "resize: an image without pixels"};
  if (dst.channels() != src.channels())
    return Error{Errc::invalid_input,
                 fmt::format("resize from {} to {} channels: they must be equal", src.channels(),
                             dst.channels())};
  if (src.width() <= dst.width() && src.height() <= dst.height()) return enlarger_.run(dst, src);
  const ResizeShape shape = shape_of(dst, src);
  if (shape != tables_of_) {
    tables_of_ = {};
    SLUICE_TRY(tables_, tables_in(memory_, shape));
    tables_of_ = shape;
  }
  detail::antialias_hwy(dst, src, tables_);
  return ok;
}

}  // namespace sluice::image
