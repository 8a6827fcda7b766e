// sluice/loader/recipe/place.cpp - the last write of a sample.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/recipe/place.h"

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

constexpr std::size_t kLevels = 256;
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

void mirror(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src) {
  aug::kernels::mirror(
      {dst.data(), static_cast<std::ptrdiff_t>(dst.pitch_bytes()), src.data(),
       static_cast<std::ptrdiff_t>(src.pitch_bytes()), static_cast<std::size_t>(src.width()),
       static_cast<std::size_t>(src.height()), static_cast<std::size_t>(src.channels())});
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

/// Every level has one value: looked up.
Status place_f16(std::span<std::byte> out, const OutputSpec& spec, ImageView<std::uint8_t> pixels,
                 const image::Normalization& normalization, bool mirrored,
                 std::vector<std::uint16_t>& halves) {
  if (halves.empty())
    for (const float value : normalized_levels(normalization))
      halves.push_back(to_f16(value));
  const std::span<std::uint16_t> to = as<std::uint16_t>(out);
  const auto channels = static_cast<std::size_t>(spec.channels);
  const auto width = static_cast<std::size_t>(spec.width);
  const std::size_t plane = width * static_cast<std::size_t>(spec.height);
  const bool planar = spec.layout == Layout::chw;
  for (int y = 0; y < spec.height; ++y) {
    const std::uint8_t* row = pixels.row(y);
    const std::size_t first = static_cast<std::size_t>(y) * width;
    for (std::size_t c = 0; c < channels; ++c) {
      const std::uint16_t* of_level = halves.data() + c * kLevels;
      for (std::size_t x = 0; x < width; ++x) {
        const std::size_t from = mirrored ? width - 1 - x : x;
        to[planar ? c * plane + first + x : (first + x) * channels + c] =
            of_level[row[from * channels + c]];
      }
    }
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

std::uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16U & 0x8000U);
  const std::uint32_t size = bits & 0x7FFFFFFFU;
  if (size > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U);   // NaN
  if (size >= 0x47800000U) return static_cast<std::uint16_t>(sign | 0x7C00U);  // 65536 and above
  if (size < 0x38800000U) {  // below 2^-14: in steps of 2^-24, which adding 0.5 rounds to
    const float shifted = std::bit_cast<float>(size) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U));
  }
  const std::uint32_t rounded = size + 0xFFFU + (size >> 13U & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13U));
}

std::vector<float> normalized_levels(const image::Normalization& normalization) {
  const auto channels = static_cast<std::size_t>(normalization.channels);
  std::vector<std::uint8_t> pixels(kLevels * channels);
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<std::uint8_t>(i / channels);
  std::vector<float> levels(pixels.size());
  const auto image = ImageView<std::uint8_t>::make(std::span<const std::uint8_t>(pixels), kLevels,
                                                   1, normalization.channels);
  [[maybe_unused]] const Status made = image::normalize_chw(levels, image.value(), normalization);
  assert(made);
  return levels;
}

Status place(std::span<std::byte> out, const OutputSpec& spec, ImageView<std::uint8_t> pixels,
             const image::Normalization& normalization, bool mirrored, PlaceScratch& scratch) {
  assert(out.size() == spec.bytes());
  SLUICE_CHECK(check_size(spec, pixels.width(), pixels.height(), pixels.channels()));
  if (mirrored && spec.type == BatchType::u8 && spec.layout == Layout::hwc) {
    SLUICE_TRY(const auto dst, ImageSpan<std::uint8_t>::make(as<std::uint8_t>(out), spec.width,
                                                             spec.height, spec.channels));
    mirror(dst, pixels);
    return ok;
  }
  const bool mirrors_itself = spec.type != BatchType::u8 && spec.layout == Layout::chw;
  if (mirrored && !mirrors_itself) {
    SLUICE_CHECK(scratch.mirrored.resize_for(pixels.width(), pixels.height(), pixels.channels()));
    mirror(scratch.mirrored.span<std::uint8_t>(), pixels);
    pixels = scratch.mirrored.view<std::uint8_t>();
    mirrored = false;
  }
  switch (spec.type) {
    case BatchType::f32:
      return place_f32(out, spec, pixels, normalization, mirrored);
    case BatchType::bf16:
      return place_bf16(out, spec, pixels, normalization, mirrored, scratch.band);
    case BatchType::f16:
      return place_f16(out, spec, pixels, normalization, mirrored, scratch.halves);
    case BatchType::u8:
      write_each(as<std::uint8_t>(out), spec.layout, pixels, [](std::uint8_t v) { return v; });
      return ok;
    case BatchType::i32:
      break;
  }
  return Error{Errc::usage, "pixels go into u8, f32, bf16 or f16 batches, not into i32"};
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
    case BatchType::f16:
      write_each(as<std::uint16_t>(out), spec.layout, pixels, to_f16);
      return ok;
    case BatchType::u8:
    case BatchType::i32:
      break;
  }
  return Error{Errc::usage, "f32 pixels go into f32, bf16 or f16 batches, not into u8 or i32"};
}

}  // namespace sluice::loader
