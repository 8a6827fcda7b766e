// sluice/aug/warps/smooth_noise.h - a field of normal noise, blurred by a Gaussian: its definition,
// and a stream of its rows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/procedural/noise.h"
#include "sluice/aug/scratch.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::aug {

/// Standard normal noise of a key, blurred: weights exp(-d^2 / 2 sigma^2) up to d = 4 sigma, their
/// sum being 1; beyond its edge the noise repeats. Times `scale`.
struct SmoothNoise {
  std::uint64_t key = 0;
  double sigma = 5;  // kLeastSigma to kMostSigma
  double scale = 1;
  int width = 0;
  int height = 0;

  static constexpr double kLeastSigma = 4;  // rows are made at every second pixel
  static constexpr double kMostSigma = 50;
};

/// Row by row, all of it, in double.
std::vector<double> smooth_noise_reference(const SmoothNoise& field);

/// The rows from the first to the last, each once. Within 1e-4 of the largest value of the
/// definition.
class SmoothNoiseRows {
 public:
  SmoothNoiseRows(const SmoothNoise& field, Scratch& scratch);
  /// `width` values, then slack; valid until the next call.
  const float* next();

 private:
  void add_blurred_row();
  const float* coarse_row(int index);
  void add_coarse_row();

  SmoothNoise field_;
  int radius_ = 0;
  int half_ = 0;          // noise values of one parity in a row
  int coarse_width_ = 0;  // columns -4, -2, 0 ...
  int lead_ = 0;          // padding before the first noise value of either parity
  std::span<float> even_, odd_, made_, even_taps_, odd_taps_, taps_, blurred_, coarse_, row_;
  std::span<const float*> window_;
  std::array<float, 6> between_{};
  int blurred_rows_ = 0;  // made so far
  int coarse_rows_ = 0;   // made so far; row i lies at y = 2 i - 4
  int y_ = 0;
};

}  // namespace sluice::aug
