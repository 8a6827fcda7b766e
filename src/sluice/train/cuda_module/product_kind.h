// sluice/train/cuda_module/product_kind.h - what decides which algorithm is the fastest for a
// product, and the choice as a line of text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda/kernels.h"

#include <cublasLt.h>

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::train::cuda {

/// Where c comes from: an algorithm that is best for one may not be for the other.
enum class Addend : unsigned char { none, other, in_place };

struct Kind {
  int device;
  std::int64_t m, n, k, lda, ldb, ldd;
  bool transpose_a, transpose_b;
  Dtype operands, sums;
  Addend addend;
  std::uint32_t a_alignment, b_alignment, c_alignment, d_alignment;
  auto operator<=>(const Kind&) const = default;
};

/// Fifteen numbers of the kind (not the device), eight of the algorithm in hexadecimal, a newline.
/// An algorithm is cuBLASLt's own 64 bytes, which it says may be kept for the same version of it.
std::string line_of(const Kind& kind, const cublasLtMatmulAlgo_t& algorithm);
/// False for what line_of() does not write; the device stays as it is.
bool parse_line(std::string_view line, Kind& kind, cublasLtMatmulAlgo_t& algorithm);

}  // namespace sluice::train::cuda
