// sluice/loader/recipe/output.cpp - names and sizes of sample types.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/recipe/output.h"

namespace sluice::loader {

const char* to_string(BatchType type) {
  switch (type) {
    case BatchType::u8:
      return "u8";
    case BatchType::f32:
      return "f32";
    case BatchType::bf16:
      return "bf16";
    case BatchType::f16:
      return "f16";
    case BatchType::i32:
      return "i32";
  }
  return "?";
}

std::size_t bytes_of(BatchType type) {
  switch (type) {
    case BatchType::u8:
      return 1;
    case BatchType::f32:
    case BatchType::i32:
      return 4;
    case BatchType::bf16:
    case BatchType::f16:
      return 2;
  }
  return 0;
}

const char* to_string(Layout layout) {
  return layout == Layout::hwc ? "hwc" : "chw";
}

std::size_t OutputSpec::bytes() const {
  return static_cast<std::size_t>(height) * static_cast<std::size_t>(width) *
         static_cast<std::size_t>(channels) * bytes_of(type);
}

}  // namespace sluice::loader
