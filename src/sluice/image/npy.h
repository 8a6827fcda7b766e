// sluice/image/npy.h - NumPy's .npy files: u8 and f32 arrays in C order, little-endian.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/codec.h"
#include "sluice/image/image.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::image {

/// The start of every .npy file.
bool is_npy(Bytes bytes);

struct NpyArray {
  DType dtype = DType::u8;
  std::vector<std::int64_t> shape;
  Bytes data;  // lies in the bytes that were parsed; its length is that of the shape
};

/// Versions 1 to 3 of the format. Other types, Fortran order, and data longer or shorter than the
/// shape says are errors that name what was found.
Result<NpyArray> parse_npy(Bytes bytes);

/// An array of shape (h, w) or (h, w, c), of either type.
Status decode_npy(Image& out, Bytes bytes);

/// Replaces `out`. `data` are the samples in C order, exactly those of the shape.
Status encode_npy(std::vector<std::uint8_t>& out, std::span<const std::int64_t> shape, DType dtype,
                  Bytes data);
/// The image as an array of shape (h, w, c).
Status encode_npy(std::vector<std::uint8_t>& out, ImageView<std::uint8_t> image);
Status encode_npy(std::vector<std::uint8_t>& out, ImageView<float> image);

}  // namespace sluice::image
