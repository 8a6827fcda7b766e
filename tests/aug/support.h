// tests/aug/support.h - inputs for transforms, and how far two outputs are apart.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/registry.h"
#include "sluice/aug/transform.h"

#include "tests/image/support.h"
#include <cmath>
#include <string>
#include <vector>

namespace sluice::aug::testing {

using image::Image;
using image::Sample;

/// Half of the images are noise, half are smooth with edges; f32 is within 0 to 1.
template <Sample T>
Image input_image(Shape shape, std::uint64_t seed, std::size_t padding = 0) {
  Image made =
      image::testing::poisoned_image<T>(shape.width, shape.height, shape.channels, padding);
  Rng rng({.seed = seed, .index = 77});
  const auto span = made.span<T>();
  for (int y = 0; y < shape.height; ++y)
    for (int x = 0; x < shape.width; ++x)
      for (int c = 0; c < shape.channels; ++c) {
        const auto noise = static_cast<int>(rng.next_u32() & 255);
        const int smooth = (x * 3 + y * 2 + c * 40 + (x / 9 + y / 7) % 2 * 90) & 255;
        const int level = seed % 2 == 0 ? noise : smooth;
        span.at(x, y, c) = std::same_as<T, float>
                               ? static_cast<T>(static_cast<float>(level) / 255.0F)
                               : static_cast<T>(level);
      }
  return made;
}

/// The share of samples farther apart than `limit`, and the largest difference.
struct Distance {
  double worst = 0;
  double beyond = 0;
};

template <class T>
Distance distance(ImageView<T> a, ImageView<T> b, double limit) {
  Distance found;
  double count = 0;
  for (int y = 0; y < a.height(); ++y) {
    const T *one = a.row(y), *other = b.row(y);
    // Whole rows first: a sanitizer makes the walk over samples the longest part of a test.
    if (!std::same_as<T, float> && std::memcmp(one, other, a.row_bytes()) == 0) continue;
    for (std::size_t i = 0, samples = a.row_samples(); i < samples; ++i) {
      double off = std::abs(static_cast<double>(one[i]) - static_cast<double>(other[i]));
      if (!(off >= 0)) off = 1e9;  // not a number counts as far off
      found.worst = std::max(found.worst, off);
      count += off > limit ? 1 : 0;
    }
  }
  found.beyond = count / static_cast<double>(a.samples());
  return found;
}

inline std::string words(Shape shape) {
  return std::to_string(shape.width) + "x" + std::to_string(shape.height) + "x" +
         std::to_string(shape.channels);
}

}  // namespace sluice::aug::testing
