// sluice/scenario/batch.h - a batch of normalised f32 CHW images in one aligned buffer, and how a
// batch is checked and looked at.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/image.h"

#include <cstddef>
#include <span>

namespace sluice::scenario {

/// N x 3 x side x side floats.
class PlanarBatch {
 public:
  static Result<PlanarBatch> make(std::size_t count, int side);
  [[nodiscard]] std::span<float> item(std::size_t index);
  [[nodiscard]] std::span<const float> all();
  [[nodiscard]] std::size_t item_floats() const { return item_floats_; }

 private:
  PlanarBatch(image::Image memory, std::size_t item_floats)
      : memory_(std::move(memory)), item_floats_(item_floats) {}
  image::Image memory_;  // one row per item: supplies aligned memory
  std::size_t item_floats_;
};

/// Error when `got` is not `pixels` normalised with the ImageNet constants, to within the stated
/// tolerance.
Status check_normalised(std::span<const float> got, image::ImageView<std::uint8_t> pixels,
                        std::size_t index, float tolerance);
/// That of pixels which were resized: the resize may differ from its reference by one level of 255,
/// which the smallest std (0.224) stretches.
inline constexpr float kResizedTolerance = 1.0F / 255 / 0.224F + 1e-5F;

/// One number of every page: what is handed out is there.
inline void look_at(std::span<const std::byte> bytes) {
  constexpr std::size_t kPageBytes = 4096;
  unsigned seen = 0;
  for (std::size_t i = 0; i < bytes.size(); i += kPageBytes)
    seen += static_cast<unsigned>(bytes[i]);
  asm volatile("" : : "r"(seen));  // looked at, for the compiler too
}

}  // namespace sluice::scenario
