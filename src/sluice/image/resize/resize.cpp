// sluice/image/resize/resize.cpp - bilinear resize: the definition, the tables, the plain kernels.
// SPDX-License-Identifier: Apache-2.0
//
// Columns first: a source row becomes as wide as the output once, and every output row blends two
// such rows, which is a plain vector operation whatever the channel count. Enlarging, a stretched
// row serves several outputs; shrinking, rows nobody looks at are never stretched. Kernels with
// intrinsics: resize_hwy.cpp. Ladder: bench/kernels/resize_bilinear.md.
#include "sluice/image/resize/resize.h"

#include "sluice/image/resize/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

namespace sluice::image {
namespace {

struct Position {
  int index;
  int next;
  double weight;
};

Position position(int i, int dst, int src) {
  const double at = std::clamp((i + 0.5) * src / dst - 0.5, 0.0, static_cast<double>(src - 1));
  const int index = static_cast<int>(at);
  return {index, std::min(index + 1, src - 1), at - index};
}

template <class T>
void reference(ImageSpan<T> dst, ImageView<T> src) {
  assert(dst.channels() == src.channels());
  std::vector<Position> columns;
  for (int x = 0; x < dst.width(); ++x)
    columns.push_back(position(x, dst.width(), src.width()));
  for (int y = 0; y < dst.height(); ++y) {
    const Position v = position(y, dst.height(), src.height());
    const T* top = src.row(v.index);
    const T* bottom = src.row(v.next);
    T* to = dst.row(y);
    for (const Position& h : columns)
      for (int c = 0; c < dst.channels(); ++c) {
        const int left = h.index * src.channels() + c;
        const int right = h.next * src.channels() + c;
        const double above = top[left] * (1 - h.weight) + top[right] * h.weight;
        const double below = bottom[left] * (1 - h.weight) + bottom[right] * h.weight;
        const double value = above * (1 - v.weight) + below * v.weight;
        if constexpr (std::same_as<T, float>)
          *to++ = static_cast<float>(value);
        else
          *to++ = static_cast<std::uint8_t>(value + 0.5);  // not negative: rounds halves up
      }
  }
}

template <class T>
Status check(ImageSpan<T> dst, ImageView<T> src) {
  if (dst.empty() || src.empty())
    return Error{Errc::invalid_input, "resize: an image without pixels"};
  if (dst.channels() != src.channels())
    return Error{Errc::invalid_input,
                 fmt::format("resize from {} to {} channels: they must be equal", src.channels(),
                             dst.channels())};
  return ok;
}

template <class T>
void copy(ImageSpan<T> dst, ImageView<T> src) {
  for (int y = 0; y < dst.height(); ++y)
    std::memcpy(dst.row(y), src.row(y), src.row_bytes());
}

template <class T>
ResizeShape shape_of(ImageSpan<T> dst, ImageView<T> src) {
  return {dst.width(), dst.height(), src.width(), src.height(), src.channels()};
}

template <class T>
using TablesOf =
    std::conditional_t<std::same_as<T, float>, detail::ResizeTablesF32, detail::ResizeTablesU8>;
template <class T>
using WorkOf = std::conditional_t<std::same_as<T, float>, float, std::uint16_t>;

/// Where the tables of a shape lie in a block; the same every time, so that they can be found
/// again.
template <class T>
struct Layout {
  using Work = WorkOf<T>;
  std::int32_t* offsets;
  T* weights;
  Work* rows[2];
  std::int32_t* windows = nullptr;
  detail::ResizeStep* picks = nullptr;
  detail::ResizePair* pairs = nullptr;
  std::size_t bytes = 0;

  Layout(const ResizeShape& shape, std::byte* memory) {
    detail::Pieces pieces(memory);
    const auto width = static_cast<std::size_t>(shape.dst_width);
    const std::size_t row = width * static_cast<std::size_t>(shape.channels) + detail::kRowSlack;
    offsets = pieces.take<std::int32_t>(width);
    weights = pieces.take<T>(width);
    for (Work*& one : rows)
      one = pieces.take<Work>(row);
    if constexpr (sizeof(T) == 1) {
      if (shape.channels <= 4) {
        windows = pieces.take<std::int32_t>(width);
        picks = pieces.take<detail::ResizeStep>(width / 2 + 1);
      } else {
        pairs = pieces.take<detail::ResizePair>(width);
      }
    }
    bytes = pieces.used();
  }
};

/// The first kind of load that holds the neighbours everywhere.
detail::Gather gather_for(const ResizeShape& shape, const std::int32_t* offsets,
                          std::size_t per_step) {
  const auto width = static_cast<std::size_t>(shape.dst_width);
  if (shape.src_width * shape.channels < 16) return detail::Gather::plain;
  for (std::size_t x = 0; x + per_step <= width; x += per_step)
    if (offsets[x + per_step - 1] - offsets[x] + 2 * shape.channels > 16)
      return per_step == 2 ? detail::Gather::pixel : detail::Gather::plain;
  return detail::Gather::step;
}

/// Step i of the tables: its loads, and where in them its neighbours are.
void make_step(const Layout<std::uint8_t>& layout, const ResizeShape& shape, detail::Gather gather,
               std::size_t per_step, std::size_t i) {
  const std::int32_t row = shape.src_width * shape.channels;
  const auto channels = static_cast<std::size_t>(shape.channels);
  const std::size_t first = i * per_step;
  detail::ResizeStep& step = layout.picks[i];
  step = {};
  if (gather == detail::Gather::step) layout.windows[i] = std::min(layout.offsets[first], row - 16);
  for (std::size_t p = 0; p < per_step; ++p) {
    const std::size_t x = first + p;
    std::int32_t from = layout.offsets[x];
    if (gather == detail::Gather::pixel) {
      layout.windows[x] = std::min(layout.offsets[x], row - 8);
      from += static_cast<std::int32_t>(p) * 8 - layout.windows[x];
    } else {
      from -= layout.windows[i];
    }
    const std::uint8_t weight = layout.weights[x];
    const std::int32_t next = from + (weight == 0 ? 0 : shape.channels);
    for (std::size_t c = 0; c < channels; ++c) {
      const std::size_t lane = p * channels + c;
      step.left[lane] = static_cast<std::uint8_t>(from + static_cast<std::int32_t>(c));
      step.right[lane] = static_cast<std::uint8_t>(next + static_cast<std::int32_t>(c));
      step.right_weight[lane] = weight == 0 ? std::uint8_t{1} : weight;
      step.left_weight[lane] = static_cast<std::uint8_t>(256 - step.right_weight[lane]);
    }
  }
}

detail::ResizePair pair_for(std::uint8_t weight, int channels) {
  if (weight == 0) return {255, 1, 0};
  return {static_cast<std::uint8_t>(256 - weight), weight, static_cast<std::uint16_t>(channels)};
}

void make_column(std::int32_t& offset, std::uint8_t& weight, const detail::TapWalk& walk,
                 int channels) {
  const detail::Tap tap = walk.tap();
  const int of_256 = walk.weight(tap, 256);
  offset = (tap.index + of_256 / 256) * channels;  // all of the right pixel: it is the left one
  weight = static_cast<std::uint8_t>(of_256 % 256);
}
void make_column(std::int32_t& offset, float& weight, const detail::TapWalk& walk, int channels) {
  const detail::Tap tap = walk.tap();
  offset = tap.index * channels;
  weight = walk.weight(tap);
}

/// Makes the tables in `memory`, or (fill false) finds those made before.
template <class T>
TablesOf<T> tables_in(std::byte* memory, const ResizeShape& shape, bool fill) {
  const Layout<T> layout(shape, memory);
  TablesOf<T> tables;
  tables.offsets = layout.offsets;
  tables.weights = layout.weights;
  tables.rows[0] = layout.rows[0];
  tables.rows[1] = layout.rows[1];
  if (fill) {
    detail::TapWalk walk(shape.dst_width, shape.src_width);
    for (int x = 0; x < shape.dst_width; ++x, walk.next())
      make_column(layout.offsets[x], layout.weights[x], walk, shape.channels);
  }
  if constexpr (sizeof(T) == 1) {
    if (shape.channels <= 4) {
      tables.pixels_per_step = 8 / static_cast<std::size_t>(shape.channels);
      tables.gather = gather_for(shape, layout.offsets, tables.pixels_per_step);
      tables.windows = layout.windows;
      tables.picks = layout.picks;
      if (tables.gather != detail::Gather::plain)
        tables.steps = static_cast<std::size_t>(shape.dst_width) / tables.pixels_per_step;
      for (std::size_t i = 0; fill && i < tables.steps; ++i)
        make_step(layout, shape, tables.gather, tables.pixels_per_step, i);
    } else {
      tables.pairs = layout.pairs;
      for (int x = 0; fill && x < shape.dst_width; ++x)
        layout.pairs[x] = pair_for(layout.weights[x], shape.channels);
    }
  }
  return tables;
}

template <class T>
void run_plain(const ImageSpan<T>& dst, const ImageView<T>& src, const TablesOf<T>& tables) {
  using Work = WorkOf<T>;
  const auto channels = static_cast<std::size_t>(src.channels());
  const auto width = static_cast<std::size_t>(dst.width());
  detail::resize_rows(
      dst, src, tables,
      [&](Work* to, const T* from) { detail::stretch_plain(to, from, tables, channels, 0, width); },
      [&](T* to, const Work* near, const Work* far, auto weight) {
        detail::blend_plain(to, near, far, weight, 0, dst.row_samples());
      });
}

template <class T>
void run(const ImageSpan<T>& dst, const ImageView<T>& src, const TablesOf<T>& tables) {
  detail::resize_hwy(dst, src, tables);
}

template <class T>
void resize_all(std::span<const ImageSpan<T>> dst, std::span<const ImageView<T>> src,
                std::span<std::byte> memory) {
  assert(dst.size() == src.size() && !src.empty());
  const ResizeShape shape = shape_of(dst[0], src[0]);
  assert(memory.size() >= resize_bytes<T>(shape));
  if (same_shape(dst[0], src[0])) {
    for (std::size_t i = 0; i < src.size(); ++i)
      copy(dst[i], src[i]);
    return;
  }
  const auto tables = tables_in<T>(memory.data(), shape, true);
  for (std::size_t i = 0; i < src.size(); ++i)
    run(dst[i], src[i], tables);
}

}  // namespace

void detail::resize_plain(const ImageSpan<std::uint8_t>& dst, const ImageView<std::uint8_t>& src,
                          const ResizeTablesU8& tables) {
  run_plain<std::uint8_t>(dst, src, tables);
}
void detail::resize_plain(const ImageSpan<float>& dst, const ImageView<float>& src,
                          const ResizeTablesF32& tables) {
  run_plain<float>(dst, src, tables);
}

void detail::resize_plainly(const ImageSpan<std::uint8_t>& dst,
                            const ImageView<std::uint8_t>& src) {
  const ResizeShape shape = shape_of<std::uint8_t>(dst, src);
  std::vector<std::byte> memory(resize_bytes<std::uint8_t>(shape));
  run_plain<std::uint8_t>(dst, src, tables_in<std::uint8_t>(memory.data(), shape, true));
}

void resize_bilinear_reference(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src) {
  reference(dst, src);
}
void resize_bilinear_reference(ImageSpan<float> dst, ImageView<float> src) {
  reference(dst, src);
}

template <Sample T>
std::size_t resize_bytes(const ResizeShape& shape) {
  return Layout<T>(shape, nullptr).bytes;
}
template std::size_t resize_bytes<std::uint8_t>(const ResizeShape& shape);
template std::size_t resize_bytes<float>(const ResizeShape& shape);

void resize_bilinear(std::span<const ImageSpan<std::uint8_t>> dst,
                     std::span<const ImageView<std::uint8_t>> src, std::span<std::byte> memory) {
  resize_all(dst, src, memory);
}
void resize_bilinear(std::span<const ImageSpan<float>> dst, std::span<const ImageView<float>> src,
                     std::span<std::byte> memory) {
  resize_all(dst, src, memory);
}

template <Sample T>
Status BilinearResizer::run_as(ImageSpan<T> dst, ImageView<T> src) {
  SLUICE_CHECK(check(dst, src));
  if (same_shape(dst, src)) {
    copy(dst, src);
    return ok;
  }
  const ResizeShape shape = shape_of(dst, src);
  const DType type = std::same_as<T, float> ? DType::f32 : DType::u8;
  const bool known = shape == tables_of_ && type == tables_for_;
  if (!known) {
    tables_of_ = {};
    constexpr std::size_t kRow = 4096;
    const std::size_t rows = resize_bytes<T>(shape) / kRow + 1;
    SLUICE_CHECK(memory_.resize_for(static_cast<int>(kRow), static_cast<int>(rows), 1));
  }
  auto* memory = reinterpret_cast<std::byte*>(memory_.span<std::uint8_t>().data());
  image::run(dst, src, tables_in<T>(memory, shape, !known));
  tables_of_ = shape;
  tables_for_ = type;
  return ok;
}

Status BilinearResizer::run(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src) {
  return run_as(dst, src);
}

Status BilinearResizer::run(ImageSpan<float> dst, ImageView<float> src) {
  return run_as(dst, src);
}

}  // namespace sluice::image
