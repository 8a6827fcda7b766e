// sluice/aug/procedural/plasma_pattern.cpp - the fractal pattern: its definition, and its fast
// rows.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/procedural/plasma_pattern.h"

namespace sluice::aug {
namespace {

constexpr int kPatternSide = kPlasmaSide;

/// Sixteen bits of noise for a point of an octave's lattice.
std::uint32_t noise_at(std::uint64_t key, int octave, int side, int x, int y) {
  const auto word = static_cast<std::uint32_t>(y * ((side + 1) / 2) + x / 2);
  const std::uint32_t bits =
      noise_bits(noise_stream(key, static_cast<std::uint32_t>(octave)), word);
  return x % 2 == 0 ? bits & 0xFFFFU : bits >> 16;
}

}  // namespace

Definition<PlasmaParams, PlasmaDraw> plasma_definition(std::string name, std::string doc,
                                                       double weakest, const char* strength) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .parity = Parity::property,
          .params = {field("roughness", &PlasmaParams::roughness, 0.01, 1,
                           "strength of an octave over that of the one before")},
          .draw = {field("strength", &PlasmaDraw::strength, weakest, 1, strength),
                   field("roughness", &PlasmaDraw::roughness, 0.01, 1),
                   field("key", &PlasmaDraw::key, "of the pattern")},
          .u8 = {.max = 1, .reason = "fixed point: a value near where rounding turns"},
          .f32 = {.max = 2e-5, .reason = "the pattern has steps of 2^-15 along a row"},
          .in_place = true};
}

PlasmaDraw draw_plasma(const PlasmaParams& params, Rng& rng, double weakest, double strongest) {
  const double strength = rng.uniform(weakest, strongest);
  return {strength, params.roughness, rng.next_u64()};
}

std::vector<int> plasma_lattice_reference(std::uint64_t key, double roughness) {
  std::vector<int> coarse;
  for (int octave = 0, side = 3; side <= kPatternSide; ++octave, side = 2 * side - 1) {
    std::vector<int> fine(static_cast<std::size_t>(side * side));
    const int half = (side + 1) / 2;  // side of the octave before
    const auto amplitude = static_cast<std::uint64_t>(plasma_amplitude(roughness, octave));
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) {
        const auto at = [&](int i, int j) {
          return coarse[static_cast<std::size_t>(j * half + i)];
        };
        const auto column = [&](int i) {
          return y % 2 == 0 ? at(i, y / 2) : (at(i, y / 2) + at(i, y / 2 + 1) + 1) / 2;
        };
        int value = 0;
        if (octave > 0)
          value = x % 2 == 0 ? column(x / 2) : (column(x / 2) + column(x / 2 + 1) + 1) / 2;
        value += static_cast<int>((noise_at(key, octave, side, x, y) * amplitude) >> 16);
        fine[static_cast<std::size_t>(y * side + x)] = value;
      }
    coarse = std::move(fine);
  }
  const auto [low, high] = std::minmax_element(coarse.begin(), coarse.end());
  const PlasmaStretch stretch = plasma_stretch_of(*low, *high);
  const int lowest = *low;
  for (int& value : coarse)
    value = static_cast<int>(
        ((static_cast<std::uint64_t>(value - lowest) << stretch.shift) * stretch.factor) >> 16);
  return coarse;
}

double plasma_at_reference(const std::vector<int>& lattice, int x, int y, int width, int height) {
  const PlasmaPlace column = plasma_place(x, width), row = plasma_place(y, height);
  const auto at = [&](int i, int j) {
    return static_cast<double>(lattice[static_cast<std::size_t>(j * kPatternSide + i)]);
  };
  const double fx = column.fraction / 32768.0, fy = row.fraction / 32768.0;
  const int i = column.index, j = row.index;
  const double top = at(i, j) + (at(i + 1, j) - at(i, j)) * fx;
  const double bottom = at(i, j + 1) + (at(i + 1, j + 1) - at(i, j + 1)) * fx;
  return (top + (bottom - top) * fy) / 32768;
}

PlasmaRows::PlasmaRows(const PlasmaDraw& draw, Shape shape, Scratch& scratch) : shape_(shape) {
  const std::size_t samples =
      static_cast<std::size_t>(shape.width) * static_cast<std::size_t>(shape.channels);
  std::array<std::uint16_t, kPlasmaOctaves> amplitudes{};
  for (int octave = 0; octave < kPlasmaOctaves; ++octave)
    amplitudes[static_cast<std::size_t>(octave)] = plasma_amplitude(draw.roughness, octave);
  const auto one = scratch.take<std::uint16_t>(kPatternSide * kPlasmaPitch);
  const auto other = scratch.take<std::uint16_t>(kPatternSide * kPlasmaPitch);
  lattice_ = kernels::plasma_lattice(one.data(), other.data(), draw.key, amplitudes.data());

  const auto index = scratch.take<std::uint16_t>(samples);
  const auto fraction = scratch.take<std::int16_t>(samples);
  const auto shuffle = scratch.take<std::uint8_t>(16 * ((samples + 7) / 8));
  std::size_t at = 0;
  for (int x = 0; x < shape.width; ++x) {
    const PlasmaPlace place = plasma_place(x, shape.width);
    for (int c = 0; c < shape.channels; ++c, ++at) {
      index[at] = static_cast<std::uint16_t>(place.index);
      fraction[at] = static_cast<std::int16_t>(place.fraction);
    }
  }
  columns_ = kernels::plasma_columns(index.data(), fraction.data(), shuffle.data(), samples);
  for (auto& slot : slots_)
    slot = scratch.take<std::int16_t>(samples).data();
}

const std::int16_t* PlasmaRows::stretched(int lattice_row) {
  const auto slot = static_cast<std::size_t>(lattice_row % 2);
  if (held_[slot] != lattice_row) {
    kernels::plasma_stretch_row(
        slots_[slot], lattice_ + static_cast<std::size_t>(lattice_row) * kPlasmaPitch, columns_);
    held_[slot] = lattice_row;
  }
  return slots_[slot];
}

void PlasmaRows::move_to(int y) {
  const PlasmaPlace place = plasma_place(y, shape_.height);
  rows = {stretched(place.index), stretched(place.index + 1),
          static_cast<std::int16_t>(place.fraction)};
}

}  // namespace sluice::aug
