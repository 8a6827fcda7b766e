// sluice/train/bf16.h - bfloat16 as stored: the upper half of a float, rounded to nearest even.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace sluice::train {

struct Bf16 {
  std::uint16_t bits = 0;
  friend bool operator==(const Bf16&, const Bf16&) = default;
};

/// NaN stays NaN (quiet).
inline Bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) {
    return {static_cast<std::uint16_t>((bits >> 16U) | 0x40U)};
  }
  return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U)};
}
inline float to_float(Bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16U);
}
inline float to_float(float value) {
  return value;
}

/// One spelling for kernels that are templates over the stored type.
template <class T>
T stored(float value);
template <>
inline float stored<float>(float value) {
  return value;
}
template <>
inline Bf16 stored<Bf16>(float value) {
  return to_bf16(value);
}

}  // namespace sluice::train
