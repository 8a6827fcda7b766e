// sluice/aug/colour/jpeg_compression.cpp - the losses of a JPEG file.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/colour/jpeg_reference.h"
#include "sluice/aug/colour/jpeg_tables.h"
#include "sluice/aug/kernels/jpeg.h"
#include "sluice/aug/make_transform.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sluice::aug {
namespace {

struct JpegCompressionParams {
  int quality = 50;
};
struct JpegCompressionDraw {
  int quality = 50;
};

JpegCompressionDraw fixed(const JpegCompressionParams& params, Shape) {
  return {params.quality};
}

/// The channels from 3 on are grey files of their own; so is a lone one. Two have a black third.
int first_grey(int channels) {
  return channels == 1 ? 0 : 3;
}

std::uint8_t level_of(std::uint8_t sample) {
  return sample;
}
std::uint8_t level_of(float sample) {
  return static_cast<std::uint8_t>(
      std::clamp(std::nearbyint(static_cast<double>(sample * 255.0F)), 0.0, 255.0));
}
template <class T>
T sample_of(std::uint8_t level) {
  return std::same_as<T, float> ? static_cast<T>(level / 255.0) : static_cast<T>(level);
}

template <class T>
void jpeg_compression_reference(ImageSpan<T> dst, ImageView<T> src,
                                const JpegCompressionDraw& draw) {
  const int width = src.width(), height = src.height(), grey = first_grey(src.channels());
  const auto through_file = [&](int first, int count) {
    auto levels = image::Image::make(width, height, count == 1 ? 1 : 3, DType::u8);
    assert(levels.has_value());
    const auto span = levels->template span<std::uint8_t>();
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        for (int c = 0; c < span.channels(); ++c)
          span.at(x, y, c) = c < count ? level_of(src.at(x, y, first + c)) : std::uint8_t{0};
    if (count == 1)
      jpeg_grey_reference(span, draw.quality);
    else
      jpeg_bgr_reference(span, draw.quality);
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        for (int c = 0; c < count; ++c)
          dst.at(x, y, first + c) = sample_of<T>(span.at(x, y, c));
  };
  if (grey > 0) through_file(0, std::min(3, src.channels()));
  for (int c = grey; c < src.channels(); ++c)
    through_file(c, 1);
}

/// Memory and tables of one call.
struct Work {
  std::size_t stride = 0;        // of luma; chroma has half
  std::uint8_t* luma = nullptr;  // whole blocks
  std::uint8_t* cb = nullptr;
  std::uint8_t* cr = nullptr;
  std::uint8_t* rows[2]{};  // pixels of 3 channels, where the image has others
  std::uint16_t* sums = nullptr;
  kernels::JpegQuantiser luminance, chrominance;
};

std::size_t round_up(int n, std::size_t to) {
  return (static_cast<std::size_t>(n) + to - 1) / to * to;
}

Work make_work(Shape shape, int quality, Scratch& scratch) {
  Work work;
  work.stride = round_up(shape.width, 2 * kernels::kJpegGroup);  // chroma has half
  const std::size_t rows = round_up(shape.height, 16);
  work.luma = scratch.take<std::uint8_t>(work.stride * rows).data();
  work.cb = scratch.take<std::uint8_t>(work.stride / 2 * (rows / 2)).data();
  work.cr = scratch.take<std::uint8_t>(work.stride / 2 * (rows / 2)).data();
  for (auto& row : work.rows)
    row = scratch.take<std::uint8_t>(3 * work.stride).data();
  work.sums =
      scratch.take<std::uint16_t>(kernels::jpeg_sums(static_cast<std::size_t>(shape.width))).data();
  work.luminance = kernels::JpegQuantiser::make(jpeg_table(kJpegLuminance, quality));
  work.chrominance = kernels::JpegQuantiser::make(jpeg_table(kJpegChrominance, quality));
  return work;
}

/// The last row again down to a whole block.
void repeat_last_row(std::uint8_t* plane, std::size_t stride, int rows) {
  const std::uint8_t* last = plane + stride * static_cast<std::size_t>(rows - 1);
  for (std::size_t y = static_cast<std::size_t>(rows); y % 8 != 0; ++y)
    std::memcpy(plane + stride * y, last, stride);
}

template <class T>
void colour_file(ImageSpan<T> dst, ImageView<T> src, Work& work) {
  const auto width = static_cast<std::size_t>(src.width());
  const int height = src.height(), pairs = (height + 1) / 2, channels = src.channels();
  const std::size_t half = work.stride / 2;
  const bool direct = std::same_as<T, std::uint8_t> && channels == 3;
  for (int k = 0; k < pairs; ++k) {
    const std::uint8_t* from[2];
    for (int i = 0; i < 2; ++i) {
      const T* row = src.row(std::min(2 * k + i, height - 1));
      if (!direct) kernels::jpeg_gather_colour(work.rows[i], row, width, channels);
      from[i] = direct ? reinterpret_cast<const std::uint8_t*>(row) : work.rows[i];
    }
    std::uint8_t* luma = work.luma + work.stride * static_cast<std::size_t>(2 * k);
    const std::size_t at = half * static_cast<std::size_t>(k);
    kernels::jpeg_to_ycc(luma, luma + work.stride, work.cb + at, work.cr + at, from[0], from[1],
                         width);
  }
  repeat_last_row(work.luma, work.stride, 2 * pairs);
  repeat_last_row(work.cb, half, pairs);
  repeat_last_row(work.cr, half, pairs);
  const std::size_t wide = (width + 1) / 2;
  kernels::jpeg_blocks(work.luma, work.stride, width, static_cast<std::size_t>(height),
                       work.luminance);
  kernels::jpeg_blocks(work.cb, half, wide, static_cast<std::size_t>(pairs), work.chrominance);
  kernels::jpeg_blocks(work.cr, half, wide, static_cast<std::size_t>(pairs), work.chrominance);
  for (int k = 0; k < pairs; ++k) {
    const auto chroma = [&](const std::uint8_t* plane) {
      const auto row = [&](int y) {
        return plane + half * static_cast<std::size_t>(std::clamp(y, 0, pairs - 1));
      };
      return kernels::ChromaRows{row(k - 1), row(k), row(k + 1)};
    };
    std::uint8_t* to[2] = {work.rows[0], work.rows[1]};
    const bool both = 2 * k + 1 < height;
    if constexpr (std::same_as<T, std::uint8_t>)
      if (direct) {
        to[0] = dst.row(2 * k);
        if (both) to[1] = dst.row(2 * k + 1);
      }
    const std::uint8_t* luma = work.luma + work.stride * static_cast<std::size_t>(2 * k);
    kernels::jpeg_from_ycc(to[0], to[1], luma, luma + work.stride, chroma(work.cb), chroma(work.cr),
                           width, work.sums);
    if (direct) continue;
    kernels::jpeg_scatter_colour(dst.row(2 * k), to[0], width, channels);
    if (both) kernels::jpeg_scatter_colour(dst.row(2 * k + 1), to[1], width, channels);
  }
}

template <class T>
void grey_file(ImageSpan<T> dst, ImageView<T> src, int channel, Work& work) {
  const auto width = static_cast<std::size_t>(src.width());
  const int height = src.height(), channels = src.channels();
  for (int y = 0; y < height; ++y)
    kernels::jpeg_gather_grey(work.luma + work.stride * static_cast<std::size_t>(y),
                              src.row(y) + channel, width, channels);
  repeat_last_row(work.luma, work.stride, height);
  kernels::jpeg_blocks(work.luma, work.stride, width, static_cast<std::size_t>(height),
                       work.luminance);
  for (int y = 0; y < height; ++y)
    kernels::jpeg_scatter_grey(dst.row(y) + channel,
                               work.luma + work.stride * static_cast<std::size_t>(y), width,
                               channels);
}

template <class T>
void jpeg_compression_fast(const Frames<T>& frames, const JpegCompressionDraw& draw,
                           Scratch& scratch) {
  if (frames.size() == 0) return;
  const Shape shape = shape_of(frames.src[0]);
  Work work = make_work(shape, draw.quality, scratch);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const int grey = first_grey(shape.channels);
    if (grey > 0) colour_file(frames.dst[f], frames.src[f], work);
    for (int c = grey; c < shape.channels; ++c)
      grey_file(frames.dst[f], frames.src[f], c, work);
  }
}

}  // namespace

TransformSpec jpeg_compression_spec() {
  using P = JpegCompressionParams;
  using D = JpegCompressionDraw;
  return make_transform(Definition<P, D>{
      .name = "JpegCompression",
      .doc = "The pixels after a JPEG file of `quality`, 4:2:0. The first three channels are taken "
             "as blue, green, red (as OpenCV does, whatever they are); every further one is a grey "
             "file; of two channels the third is black.",
      .parity = Parity::smooth,
      .params = {field("quality", &P::quality, 1, 100, "of the IJG")},
      .draw = {field("quality", &D::quality, 1, 100)},
      .fixed = fixed,
      .fast = {jpeg_compression_fast, jpeg_compression_fast},
      .reference = {jpeg_compression_reference, jpeg_compression_reference},
      .f32 = {.max = 1e-7, .reason = "a product with 1/255 instead of a quotient"},
      .in_place = true});
}

}  // namespace sluice::aug
