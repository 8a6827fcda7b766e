// sluice/aug/procedural/plasma_pattern.h - the fractal pattern that the Plasma transforms apply.
// SPDX-License-Identifier: Apache-2.0
//
// A lattice of 257 x 257 in eight octaves. Octave 0 is a 3 x 3 lattice of noise; each further one
// doubles the cells by bilinear midpoints (rounded half up) and adds noise to every point. Noise of
// octave k is uniform in 0 to 8192 * roughness^max(0, k - 3): the four coarsest octaves are equally
// strong, which is what the pattern of AlbumentationsX measures as. The sum is stretched to
// 0..32767 (0 to 1, steps of 2^-15). Pixel (x, y) of a w x h image reads it bilinearly at (256 x /
// w, 256 y / h).
#pragma once

#include "sluice/aug/kernels/plasma.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/procedural/noise.h"
#include "sluice/aug/transform.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace sluice::aug {

struct PlasmaParams {
  double roughness = 0.5;
};
struct PlasmaDraw {
  double strength = 0;
  double roughness = 0.5;
  std::uint64_t key = 0;
};

/// What the Plasma transforms share: parameters, draw and tolerances. Sample and paths are the
/// transform's own. A strength from `weakest` on may be replayed.
Definition<PlasmaParams, PlasmaDraw> plasma_definition(std::string name, std::string doc,
                                                       double weakest, const char* strength);
/// Strength uniform in [weakest, strongest), and a pattern of its own.
PlasmaDraw draw_plasma(const PlasmaParams& params, Rng& rng, double weakest, double strongest);
/// The same from -0.3 to 0.3.
inline PlasmaDraw sample_signed_plasma(const PlasmaParams& params, Rng& rng, Shape) {
  return draw_plasma(params, rng, -0.3, 0.3);
}

/// Largest noise of an octave.
inline std::uint16_t plasma_amplitude(double roughness, int octave) {
  return static_cast<std::uint16_t>(
      std::floor(8192 * std::pow(roughness, std::max(0, octave - 3)) + 0.5));
}

/// Where a pixel reads the lattice: between `index` and the next, `fraction` / 32768 of the way.
struct PlasmaPlace {
  int index;
  int fraction;
};
inline PlasmaPlace plasma_place(int at, int size) {
  const std::int64_t scaled = std::int64_t{at} * 256;
  return {static_cast<int>(scaled / size), static_cast<int>(scaled % size * 32768 / size)};
}

/// The stretched lattice, row by row, 257 to the row.
std::vector<int> plasma_lattice_reference(std::uint64_t key, double roughness);
/// 0 to 1.
double plasma_at_reference(const std::vector<int>& lattice, int x, int y, int width, int height);

/// apply(sample, p) for every sample of `src`, p the pattern at its pixel, clipped to the samples'
/// range; u8 is rounded down after `bias` is added.
template <class T, class Apply>
void plasma_reference(ImageSpan<T> dst, ImageView<T> src, const PlasmaDraw& draw, double bias,
                      Apply apply) {
  const double largest = kMaxSample<T>;
  const std::vector<int> lattice = plasma_lattice_reference(draw.key, draw.roughness);
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x) {
      const double p = plasma_at_reference(lattice, x, y, src.width(), src.height());
      for (int c = 0; c < src.channels(); ++c) {
        const double value =
            std::clamp(apply(static_cast<double>(src.at(x, y, c)), p), 0.0, largest);
        dst.at(x, y, c) = static_cast<T>(std::same_as<T, float> ? value : std::floor(value + bias));
      }
    }
}

/// The lattice, and the two of its rows that the current image row lies between, stretched to the
/// samples of an image row.
class PlasmaRows {
 public:
  PlasmaRows(const PlasmaDraw& draw, Shape shape, Scratch& scratch);
  /// Afterwards `rows` are those of image row y.
  void move_to(int y);

  kernels::PlasmaRow rows;

 private:
  const std::int16_t* stretched(int lattice_row);

  Shape shape_;
  const std::uint16_t* lattice_ = nullptr;
  kernels::PlasmaColumns columns_;
  std::array<std::int16_t*, 2> slots_{};
  std::array<int, 2> held_{{-1, -1}};
};

/// apply(dst, src, rows, samples, frame) for every row of every frame.
template <class T, class Apply>
void for_plasma_rows(const Frames<T>& frames, const PlasmaDraw& draw, Scratch& scratch,
                     Apply apply) {
  const ImageView<T>& first = frames.src[0];
  PlasmaRows pattern(draw, shape_of(first), scratch);
  for (int y = 0; y < first.height(); ++y) {
    pattern.move_to(y);
    for (std::size_t f = 0; f < frames.size(); ++f)
      apply(frames.dst[f].row(y), frames.src[f].row(y), pattern.rows, first.row_samples(), f);
  }
}

}  // namespace sluice::aug
