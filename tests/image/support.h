// tests/image/support.h - images to test with: random, smooth, compared.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/file.h"
#include "sluice/core/rng.h"
#include "sluice/image/image.h"

#include <gtest/gtest.h>

#include "tests/places.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::image::testing {

inline constexpr std::uint8_t kPoison = 0xA5;

/// Every byte poisoned, padding too; `padding` extra samples per row.
template <Sample T>
Image poisoned_image(int width, int height, int channels, std::size_t padding = 0) {
  Image image;
  const std::size_t pitch =
      (static_cast<std::size_t>(width) * static_cast<std::size_t>(channels) + padding) * sizeof(T);
  const Status status = image.resize_for(width, height, channels,
                                         std::same_as<T, float> ? DType::f32 : DType::u8, pitch);
  EXPECT_TRUE(status.has_value());
  std::memset(image.span<T>().data(), kPoison, pitch * static_cast<std::size_t>(height));
  return image;
}

/// u8: all 256 values; f32: in [-1, 2).
template <Sample T>
Image random_image(int width, int height, int channels, std::uint64_t seed,
                   std::size_t padding = 0) {
  Image image = poisoned_image<T>(width, height, channels, padding);
  Rng rng({.seed = seed});
  for (int y = 0; y < height; ++y) {
    T* row = image.span<T>().row(y);
    for (std::size_t i = 0; i < image.view<T>().row_samples(); ++i) {
      if constexpr (std::same_as<T, float>)
        row[i] = static_cast<float>(rng.uniform(-1, 2));
      else
        row[i] = static_cast<std::uint8_t>(rng.next_u32() & 255);
    }
  }
  return image;
}

/// RGB that survives JPEG well: slow gradients, one per channel.
inline Image smooth_image(int width, int height, int channels = 3) {
  Image image = poisoned_image<std::uint8_t>(width, height, channels);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c)
        image.span<std::uint8_t>().at(x, y, c) =
            static_cast<std::uint8_t>(40 + (c + 1) * 30 * x / width + (4 - c) * 20 * y / height);
  return image;
}

template <class T>
double max_difference(ImageView<T> a, ImageView<T> b) {
  if (!same_shape(a, b)) return 1e9;
  double worst = 0;
  for (int y = 0; y < a.height(); ++y)
    for (std::size_t i = 0; i < a.row_samples(); ++i) {
      const double difference =
          std::abs(static_cast<double>(a.row(y)[i]) - static_cast<double>(b.row(y)[i]));
      worst =
          difference >= 0 ? std::max(worst, difference) : 1e9;  // not a number counts as far off
    }
  return worst;
}

inline double mean_difference(ImageView<std::uint8_t> a, ImageView<std::uint8_t> b) {
  if (!same_shape(a, b)) return 1e9;
  double sum = 0;
  for (int y = 0; y < a.height(); ++y)
    for (std::size_t i = 0; i < a.row_samples(); ++i)
      sum += std::abs(a.row(y)[i] - b.row(y)[i]);
  return sum / static_cast<double>(a.samples());
}

/// True when no byte between the rows was written.
template <Sample T>
bool padding_intact(const Image& image) {
  const ImageView<T> view = image.view<T>();
  for (int y = 0; y < view.height(); ++y) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(view.row(y));
    const std::size_t padding = view.pitch_bytes() - view.row_bytes();
    if (padding == 0) continue;
    const std::uint8_t* first = bytes + view.row_bytes();
    // One compare per row (each byte with the next): quick under a sanitizer too.
    if (*first != kPoison || std::memcmp(first, first + 1, padding - 1) != 0) return false;
  }
  return true;
}

inline std::vector<std::uint8_t> corpus_file(const std::string& name) {
  auto bytes = read_binary_file(testing_support::source_dir() / "tests/image/corpus" / name);
  EXPECT_TRUE(bytes.has_value()) << name;
  return bytes.has_value() ? *bytes : std::vector<std::uint8_t>{};
}

}  // namespace sluice::image::testing
