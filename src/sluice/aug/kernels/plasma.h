// sluice/aug/kernels/plasma.h - the fractal lattice, its stretching to image rows, and what the
// three Plasma transforms do with it. Definition: aug/procedural/plasma_pattern.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::aug {

inline constexpr int kPlasmaOctaves = 8;
inline constexpr int kPlasmaSide = 257;
inline constexpr int kPlasmaPitch = 320;  // values from row to row: whole vectors fit

/// value = ((lattice - lowest) << shift) * factor >> 16: 0 to 32767.
struct PlasmaStretch {
  int lowest;
  int shift;
  std::uint16_t factor;
};
constexpr PlasmaStretch plasma_stretch_of(int lowest, int highest) {
  const int span = highest > lowest ? highest - lowest : 1;
  int shift = 0;
  while ((span << (shift + 1)) < 65536)
    ++shift;
  const int scaled = span << shift;
  return {lowest, shift,
          static_cast<std::uint16_t>(scaled >= 32768 ? 32767LL * 65536 / scaled : 65535)};
}

namespace kernels {

/// Fills one of the buffers (kPlasmaSide rows of kPlasmaPitch) and says which; amplitudes has
/// kPlasmaOctaves entries.
const std::uint16_t* plasma_lattice(std::uint16_t* one, std::uint16_t* other, std::uint64_t key,
                                    const std::uint16_t* amplitudes);

/// For each sample of an image row: left lattice point and how far on, in steps of 2^-15.
struct PlasmaColumns {
  const std::uint16_t* index = nullptr;
  const std::int16_t* fraction = nullptr;
  const std::uint8_t* shuffle = nullptr;  // 16 bytes for each 8 samples
  std::size_t count = 0;
  bool near = false;  // each 8 samples read at most 8 neighbouring lattice points
};
/// Fills `shuffle`; the arrays must outlive the result.
PlasmaColumns plasma_columns(const std::uint16_t* index, const std::int16_t* fraction,
                             std::uint8_t* shuffle, std::size_t count);

/// A row of the lattice, bilinearly, at every sample.
void plasma_stretch_row(std::int16_t* dst, const std::uint16_t* lattice_row,
                        const PlasmaColumns& columns);

/// An image row lies between two stretched lattice rows, `fraction` / 32768 of the way.
struct PlasmaRow {
  const std::int16_t* above = nullptr;
  const std::int16_t* below = nullptr;
  std::int16_t fraction = 0;
};

/// With p the pattern, 0 to 1. dst may be src. u8 is within 1 of the exact value.
/// round(x + max * strength * p), saturated
void plasma_brighten(std::uint8_t* dst, const std::uint8_t* src, const PlasmaRow& row,
                     std::size_t count, double strength);
void plasma_brighten(float* dst, const float* src, const PlasmaRow& row, std::size_t count,
                     double strength);
/// round(x + strength * p * (x - mean)), saturated
void plasma_contrast(std::uint8_t* dst, const std::uint8_t* src, const PlasmaRow& row,
                     std::size_t count, double strength, double mean);
void plasma_contrast(float* dst, const float* src, const PlasmaRow& row, std::size_t count,
                     double strength, double mean);
/// floor(x * (1 - strength * p)); strength 0 to 1
void plasma_shade(std::uint8_t* dst, const std::uint8_t* src, const PlasmaRow& row,
                  std::size_t count, double strength);
void plasma_shade(float* dst, const float* src, const PlasmaRow& row, std::size_t count,
                  double strength);

/// Sum of all samples.
double sum_of(const std::uint8_t* src, std::size_t count);
double sum_of(const float* src, std::size_t count);

}  // namespace kernels
}  // namespace sluice::aug
