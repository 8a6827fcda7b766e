// sluice/scenario/batch.h - a batch of normalised f32 CHW images in one aligned buffer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/image.h"

#include <cstddef>
#include <span>

namespace sluice::scenario {

/// N x 3 x side x side floats.
class Batch {
 public:
  static Result<Batch> make(std::size_t count, int side);
  [[nodiscard]] std::span<float> item(std::size_t index);
  [[nodiscard]] std::span<const float> all();
  [[nodiscard]] std::size_t item_floats() const { return item_floats_; }

 private:
  Batch(image::Image memory, std::size_t item_floats)
      : memory_(std::move(memory)), item_floats_(item_floats) {}
  image::Image memory_;  // one row per item: supplies aligned memory
  std::size_t item_floats_;
};

/// Error when `got` is not `pixels` normalised with the ImageNet constants, to within the stated
/// tolerance.
Status check_normalised(std::span<const float> got, image::ImageView<std::uint8_t> pixels,
                        std::size_t index, float tolerance);

}  // namespace sluice::scenario
