// sluice/aug/warps/remap.h - a warp whose map is given, pixel by pixel.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/transform.h"

#include <span>

namespace sluice::aug {

/// Where in the input each output pixel comes from, row by row, pixel centres at integers.
struct RemapTable {
  std::span<const float> x;
  std::span<const float> y;
};

/// Bilinear; samples outside the input are `fill`, a level of 0 to 255 (f32: fill / 255). Error
/// when the tables do not have one entry per output pixel, or the frames differ.
Status remap_bilinear(const Frames<std::uint8_t>& frames, const RemapTable& table, Scratch& scratch,
                      double fill = 0);
Status remap_bilinear(const Frames<float>& frames, const RemapTable& table, Scratch& scratch,
                      double fill = 0);

/// The definition.
Status remap_bilinear_reference(const Frames<std::uint8_t>& frames, const RemapTable& table,
                                double fill = 0);
Status remap_bilinear_reference(const Frames<float>& frames, const RemapTable& table,
                                double fill = 0);

}  // namespace sluice::aug
