// sluice/loader/gpu_module/augment.cuh - 3-Augment and the colour jitter of one pixel, in the
// integers of room aug (kernels/grey.h, gaussian.h, colour_chain.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/gpu/table.h"

#include <cstdint>

namespace sluice::loader::gpu {

struct Levels {
  int r = 0, g = 0, b = 0;
};

__device__ inline int clip(int level) {
  return min(max(level, 0), 255);
}
__device__ inline int grey_of(const Levels& p) {
  return (9798 * p.r + 19235 * p.g + 3735 * p.b + 16384) >> 15;
}
__device__ inline int solarized(int level) {
  return level >= 128 ? 255 - level : level;
}

/// The last mile of a blur: five sums of columns, in 128ths.
__device__ inline int blurred(int far_left, int left, int centre, int right, int far_right,
                              const std::int32_t* rows) {
  const int sum = ((centre * rows[0] + 16384) >> 15) +
                  ((((left + right + 1) >> 1) * rows[1] + 16384) >> 15) +
                  ((((far_left + far_right + 1) >> 1) * rows[2] + 16384) >> 15);
  return min((sum + 64) >> 7, 255);
}
__device__ inline int column_sum(int above2, int above, int centre, int below, int below2,
                                 const std::int32_t* columns) {
  return (columns[0] * centre + columns[1] * (above + below) + columns[2] * (above2 + below2) +
          1) >>
         1;
}
__device__ inline int reflect_101(int at, int size) {
  if (size == 1) return 0;
  const int period = 2 * size - 2;
  at = abs(at) % period;
  return at < size ? at : period - at;
}

__device__ inline int brightened(int level, int factor) {
  return min((level * factor) >> 13, 255);
}
__device__ inline int contrasted(int level, int brightness, int contrast, int offset,
                                 bool with_brightness) {
  const int parts = with_brightness ? (min((level * brightness) >> 8, 255 * 32) * contrast) >> 13
                                    : (level * contrast) >> 8;
  return clip((parts + offset) >> 5);
}
/// Of the contrast step, in 32nds of a level.
__device__ inline int contrast_offset(unsigned long long grey_sum, int pixels, int brightness,
                                      int contrast, bool with_brightness) {
  double mean = __ddiv_rn(static_cast<double>(grey_sum), static_cast<double>(pixels));
  if (with_brightness) mean = __dmul_rn(mean, brightness / 8192.0);
  return static_cast<int>(
      floor(__dadd_rn(__dmul_rn(mean, static_cast<double>(8192 - contrast)) / 256.0, 0.5)));
}
__device__ inline int saturated(int level, int grey, int factor) {
  const int above = grey * 8192 + (level - grey) * factor + 4096;
  int rounded = above >> 13;
  if ((above & 8191) == 0 && (rounded & 1) != 0) --rounded;  // ties to even
  return clip(rounded);
}

/// Brightness directly before contrast belongs to the contrast step.
__device__ inline bool with_brightness(const SampleDraw& draw) {
  return (draw.order[0] == Step::brightness && draw.order[1] == Step::contrast) ||
         (draw.order[1] == Step::brightness && draw.order[2] == Step::contrast);
}
__device__ inline int contrast_at(const SampleDraw& draw) {
  return draw.order[0] == Step::contrast ? 0 : draw.order[1] == Step::contrast ? 1 : 2;
}

/// A brightness or saturation step; contrast, and brightness that belongs to it, are passed over.
__device__ inline void apply_plain_step(Levels& p, Step step, const SampleDraw& draw, bool joined) {
  if (step == Step::brightness && !joined) {
    p.r = brightened(p.r, draw.brightness);
    p.g = brightened(p.g, draw.brightness);
    p.b = brightened(p.b, draw.brightness);
  } else if (step == Step::saturation) {
    const int grey = grey_of(p);
    p.r = saturated(p.r, grey, draw.saturation);
    p.g = saturated(p.g, grey, draw.saturation);
    p.b = saturated(p.b, grey, draw.saturation);
  }
}

}  // namespace sluice::loader::gpu
