// sluice/train/sent_images.h - images as a loader makes them, before a device makes of them what a
// model takes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::train {

/// u8: levels, channels last. f16 and f32: values as the model takes them, channels first.
enum class PixelType : std::uint8_t { u8, f16, f32 };
inline constexpr std::size_t bytes_of(PixelType type) {
  return type == PixelType::u8 ? 1 : type == PixelType::f16 ? 2 : 4;
}

inline constexpr std::size_t kPixelLevels = 256;

/// Some or all images of a micro-batch, in host memory, one after another.
struct SentImages {
  std::span<const std::byte> bytes;
  PixelType type = PixelType::u8;
  std::span<const float> levels;  // u8: 256 values of each channel; otherwise empty
};

}  // namespace sluice::train
