// sluice/loader/recipe/output.h - what a sample becomes: shape, sample type and layout in the
// batch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::loader {

enum class BatchType : std::uint8_t { u8, f32, bf16, f16, i32 };  // i32: tokens
const char* to_string(BatchType type);
std::size_t bytes_of(BatchType type);

enum class Layout : std::uint8_t { hwc, chw };
const char* to_string(Layout layout);

struct OutputSpec {
  int height = 0;
  int width = 0;
  int channels = 0;
  BatchType type = BatchType::f32;
  Layout layout = Layout::chw;

  [[nodiscard]] std::size_t bytes() const;  // of one sample
  friend bool operator==(const OutputSpec&, const OutputSpec&) = default;
};

}  // namespace sluice::loader
