// sluice/image/resize.cpp - bilinear resize: the definition, the tables, the plain kernels.
// SPDX-License-Identifier: Apache-2.0
//
// Two passes per output row, rows first: blending two source rows is a plain vector operation
// whatever the channel count, and leaves one gather per output sample instead of two. Kernels with
// intrinsics: resize_hwy.cpp.
#include "sluice/image/resize.h"

#include "sluice/image/resize_kernels.h"

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
  for (int y = 0; y < dst.height(); ++y) {
    const Position v = position(y, dst.height(), src.height());
    for (int x = 0; x < dst.width(); ++x) {
      const Position h = position(x, dst.width(), src.width());
      for (int c = 0; c < dst.channels(); ++c) {
        const double top =
            src.at(h.index, v.index, c) * (1 - h.weight) + src.at(h.next, v.index, c) * h.weight;
        const double bottom =
            src.at(h.index, v.next, c) * (1 - h.weight) + src.at(h.next, v.next, c) * h.weight;
        const double value = top * (1 - v.weight) + bottom * v.weight;
        if constexpr (std::same_as<T, float>)
          dst.at(x, y, c) = static_cast<float>(value);
        else
          dst.at(x, y, c) = static_cast<std::uint8_t>(std::floor(value + 0.5));
      }
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

/// Column tables and the row buffer of a job.
template <class T, class Work>
detail::ResizeJob<T, Work> prepare(ImageSpan<T> dst, ImageView<T> src,
                                   std::vector<std::int32_t>& offsets, std::vector<Work>& weights,
                                   std::vector<Work>& row) {
  const auto width = static_cast<std::size_t>(dst.width());
  offsets.resize(width);
  weights.resize(width * detail::kWeightCopies);
  for (std::size_t x = 0; x < width; ++x) {
    const detail::Tap tap = detail::make_tap(static_cast<int>(x), dst.width(), src.width());
    offsets[x] = tap.index * src.channels();
    Work weight;
    detail::set_weight(weight, tap, dst.width());
    std::fill_n(weights.data() + x * detail::kWeightCopies, detail::kWeightCopies, weight);
  }
  row.resize(src.row_samples() + detail::kRowSlack);
  std::fill(row.end() - static_cast<std::ptrdiff_t>(detail::kRowSlack), row.end(), Work{0});
  return {dst, src, offsets.data(), weights.data(), row.data()};
}

void blend_plain(std::int16_t* row, const std::uint8_t* top, const std::uint8_t* bottom,
                 std::size_t count, std::int16_t weight) {
  for (std::size_t i = 0; i < count; ++i)
    row[i] = static_cast<std::int16_t>(
        (top[i] << detail::kFraction) +
        detail::multiply_q15((bottom[i] - top[i]) * (1 << detail::kFraction), weight));
}

void blend_plain(float* row, const float* top, const float* bottom, std::size_t count,
                 float weight) {
  for (std::size_t i = 0; i < count; ++i)
    row[i] = top[i] + (bottom[i] - top[i]) * weight;
}

template <class T, class Work>
void run_plain(const detail::ResizeJob<T, Work>& job) {
  for (int y = 0; y < job.dst.height(); ++y) {
    const detail::Tap tap = detail::make_tap(y, job.dst.height(), job.src.height());
    Work weight;
    detail::set_weight(weight, tap, job.dst.height());
    const T* top = job.src.row(tap.index);
    blend_plain(job.row, top, tap.part == 0 ? top : job.src.row(tap.index + 1),
                job.src.row_samples(), weight);
    detail::gather_plain(job.dst.row(y), job, 0);
  }
}

template <class T, class Work>
Status resize(ImageSpan<T> dst, ImageView<T> src, std::vector<std::int32_t>& offsets,
              std::vector<Work>& weights, std::vector<Work>& row) {
  SLUICE_CHECK(check(dst, src));
  if (same_shape(dst, src)) {
    copy(dst, src);
    return ok;
  }
  const auto job = prepare(dst, src, offsets, weights, row);
#ifdef SLUICE_HAVE_HWY
  detail::resize_hwy(job);
#else
  detail::resize_plain(job);
#endif
  return ok;
}

}  // namespace

void detail::resize_plain(const ResizeJobU8& job) {
  run_plain(job);
}
void detail::resize_plain(const ResizeJobF32& job) {
  run_plain(job);
}

void resize_bilinear_reference(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src) {
  reference(dst, src);
}
void resize_bilinear_reference(ImageSpan<float> dst, ImageView<float> src) {
  reference(dst, src);
}

Status BilinearResizer::run(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src) {
  return resize(dst, src, offsets_, weights_u8_, row_u8_);
}

Status BilinearResizer::run(ImageSpan<float> dst, ImageView<float> src) {
  return resize(dst, src, offsets_, weights_f32_, row_f32_);
}

}  // namespace sluice::image
