// sluice/loader/place.cpp - the last write of a sample.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/place.h"

#include "sluice/aug/kernels/mirror.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace sluice::loader {
namespace {

using image::ImageSpan;
using image::ImageView;

constexpr int kBandRows = 8;  // small enough for the nearest cache

template <class T>
std::span<T> as(std::span<std::byte> out) {
  return {reinterpret_cast<T*>(out.data()), out.size() / sizeof(T)};
}

void round_all(std::uint16_t* out, const float* in, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {  // no branch: what is placed is finite
    const auto bits = std::bit_cast<std::uint32_t>(in[i]);
    out[i] = static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16U & 1U)) >> 16U);
  }
}

Result<ImageView<std::uint8_t>> mirror(ImageView<std::uint8_t> src, PlaceScratch& scratch) {
  SLUICE_CHECK(scratch.mirrored.resize_for(src.width(), src.height(), src.channels()));
  const ImageSpan<std::uint8_t> dst = scratch.mirrored.span<std::uint8_t>();
  aug::kernels::mirror(
      {dst.data(), static_cast<std::ptrdiff_t>(dst.pitch_bytes()), src.data(),
       static_cast<std::ptrdiff_t>(src.pitch_bytes()), static_cast<std::size_t>(src.width()),
       static_cast<std::size_t>(src.height()), static_cast<std::size_t>(src.channels())});
  return ImageView<std::uint8_t>(dst);
}

/// Interleaved or in planes, each sample through `convert`.
template <class To, class From, class Convert>
void write_each(std::span<To> out, Layout layout, ImageView<From> pixels, Convert convert) {
  const auto channels = static_cast<std::size_t>(pixels.channels());
  const auto width = static_cast<std::size_t>(pixels.width());
  const std::size_t plane = width * static_cast<std::size_t>(pixels.height());
  for (int y = 0; y < pixels.height(); ++y) {
    const From* row = pixels.row(y);
    const std::size_t first = static_cast<std::size_t>(y) * width;
    if (layout == Layout::hwc)
      for (std::size_t i = 0; i < width * channels; ++i)
        out[first * channels + i] = convert(row[i]);
    else
      for (std::size_t c = 0; c < channels; ++c)
        for (std::size_t x = 0; x < width; ++x)
          out[c * plane + first + x] = convert(row[x * channels + c]);
  }
}

Status place_f32(std::span<std::byte> out, const OutputSpec& spec, ImageView<std::uint8_t> pixels,
                 const image::Normalization& normalization, bool mirrored) {
  const std::span<float> floats = as<float>(out);
  if (spec.layout == Layout::chw)
    return image::normalize_chw(floats, pixels, normalization, mirrored);
  SLUICE_TRY(const ImageSpan<float> dst,
             ImageSpan<float>::make(floats, spec.width, spec.height, spec.channels));
  return image::normalize_hwc(dst, pixels, normalization);
}

/// A few rows at a time through floats.
Status place_bf16(std::span<std::byte> out, const OutputSpec& spec, ImageView<std::uint8_t> pixels,
                  const image::Normalization& normalization, bool mirrored,
                  std::vector<float>& band) {
  std::uint16_t* to = as<std::uint16_t>(out).data();
  const auto width = static_cast<std::size_t>(spec.width);
  const auto channels = static_cast<std::size_t>(spec.channels);
  const std::size_t plane = width * static_cast<std::size_t>(spec.height);
  band.resize(width * channels * kBandRows);
  OutputSpec part = spec;
  part.type = BatchType::f32;
  for (int y = 0; y < spec.height; y += kBandRows) {
    part.height = std::min(kBandRows, spec.height - y);
    const std::size_t rows = width * static_cast<std::size_t>(part.height);
    const std::span<float> floats(band.data(), rows * channels);
    SLUICE_CHECK(place_f32(std::as_writable_bytes(floats), part,
                           pixels.crop(0, y, spec.width, part.height), normalization, mirrored));
    const std::size_t first = width * static_cast<std::size_t>(y);
    if (spec.layout == Layout::hwc)
      round_all(to + first * channels, floats.data(), floats.size());
    else
      for (std::size_t c = 0; c < channels; ++c)
        round_all(to + c * plane + first, floats.data() + c * rows, rows);
  }
  return ok;
}

Status check_size(const OutputSpec& spec, int width, int height, int channels) {
  if (width == spec.width && height == spec.height && channels == spec.channels) return ok;
  return Error{Errc::invalid_input,
               fmt::format("a sample of {}x{}x{} (width, height, channels) does not fit a batch of "
                           "{}x{}x{}",
                           width, height, channels, spec.width, spec.height, spec.channels)};
}

}  // namespace

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>(bits >> 16U | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16U & 1U)) >> 16U);
}

Status place(std::span<std::byte> out, const OutputSpec& spec, ImageView<std::uint8_t> pixels,
             const image::Normalization& normalization, bool mirrored, PlaceScratch& scratch) {
  assert(out.size() == spec.bytes());
  SLUICE_CHECK(check_size(spec, pixels.width(), pixels.height(), pixels.channels()));
  const bool mirrors_itself = spec.type != BatchType::u8 && spec.layout == Layout::chw;
  if (mirrored && !mirrors_itself) {
    SLUICE_TRY(pixels, mirror(pixels, scratch));
    mirrored = false;
  }
  switch (spec.type) {
    case BatchType::f32:
      return place_f32(out, spec, pixels, normalization, mirrored);
    case BatchType::bf16:
      return place_bf16(out, spec, pixels, normalization, mirrored, scratch.band);
    case BatchType::u8:
      write_each(as<std::uint8_t>(out), spec.layout, pixels, [](std::uint8_t v) { return v; });
  }
  return ok;
}

Status place(std::span<std::byte> out, const OutputSpec& spec, ImageView<float> pixels) {
  assert(out.size() == spec.bytes());
  SLUICE_CHECK(check_size(spec, pixels.width(), pixels.height(), pixels.channels()));
  switch (spec.type) {
    case BatchType::f32:
      write_each(as<float>(out), spec.layout, pixels, [](float v) { return v; });
      return ok;
    case BatchType::bf16:
      write_each(as<std::uint16_t>(out), spec.layout, pixels, to_bf16);
      return ok;
    case BatchType::u8:
      break;
  }
  return Error{Errc::usage, "f32 pixels go into f32 or bf16 batches, not into u8"};
}

}  // namespace sluice::loader
