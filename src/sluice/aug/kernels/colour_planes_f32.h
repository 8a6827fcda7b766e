// sluice/aug/kernels/colour_planes_f32.h - the operations of colour_steps.h on f32 pixels of 0
// to 1.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/kernels/colour_steps.h"

namespace sluice::aug::kernels {

/// Every step clips to 0 to 1.
struct ColourStepF32 {
  ColourOp op = ColourOp::scale;
  float first = 0;
  float second = 0;
  float offset = 0;
  float hue_shift = 0;  // sectors of 60 degrees, -3 to 3; S and V stay
};

/// dst may be src.
void colour_steps(float* dst, const float* src, std::size_t pixels,
                  std::span<const ColourStepF32> steps, ChannelOrder order);
/// The sum of the greys after the steps, which must leave black black; dst may be null or src.
double grey_sum(float* dst, const float* src, std::size_t pixels,
                std::span<const ColourStepF32> steps);

}  // namespace sluice::aug::kernels
