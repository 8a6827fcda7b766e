// sluice/loader/recipe/erasing.h - random erasing: a rectangle of a sample that is placed already
// becomes the mean colour. The draw is data, so that a GPU fills the same pixels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/geometry/erasing.h"
#include "sluice/core/result.h"
#include "sluice/image/normalize.h"
#include "sluice/loader/recipe/output.h"
#include "sluice/loader/recipe/recipe.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::loader {

struct ErasingOptions {
  double probability = 0;  // that a sample is erased; 0: off
  aug::ErasingRanges ranges{};
};
Status check(const ErasingOptions& options);

/// In pixels of a sample of side x side, mirrored or not; of width 0: nothing is erased. It has
/// draws of its own, so that what else is drawn for the sample stays as it is.
image::Rect draw_erasing(const ErasingOptions& options, const SampleKey& key, int side);

/// The levels nearest to the mean: the same pixels whether bytes or numbers travel to a device.
std::array<std::uint8_t, 3> mean_levels(const image::Normalization& normalization);

/// Fills the rectangle of a sample in its place, with what place() makes of the mean levels.
class Eraser {
 public:
  Eraser(const ErasingOptions& options, const OutputSpec& spec,
         const image::Normalization& normalization);
  void run(std::span<std::byte> out, const SampleKey& key) const;

 private:
  template <class T>
  void fill(std::span<std::byte> out, const image::Rect& box, const std::array<T, 3>& values) const;

  ErasingOptions options_;
  OutputSpec spec_;
  std::array<std::uint8_t, 3> levels_{};
  std::array<float, 3> values_{};          // of f32
  std::array<std::uint16_t, 3> halves_{};  // of bf16 or f16
};

}  // namespace sluice::loader
