// sluice/aug/colour/colour_chain.h - brightness, contrast, saturation and hue in a drawn order:
// what ColorJitter, ColorJiggle and PhotoMetricDistort share; and hue and saturation in 8-bit HSV.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/make_transform.h"
#include "sluice/aug/transform.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::aug {

inline constexpr double kMaxColourFactor = 3.99;  // factors are held in 16 bits

/// Ranges the factors of a draw are taken from.
struct ColourRanges {
  std::array<double, 2> brightness{0.875, 1.125};
  std::array<double, 2> contrast{0.5, 1.5};
  std::array<double, 2> saturation{0.5, 1.5};
  std::array<double, 2> hue{-0.05, 0.05};
};
std::vector<Field<ColourRanges>> colour_range_fields();

/// The definition. u8, every step rounded to levels and clipped:
/// - brightness: x * b, rounded down;
/// - contrast: x * c + (1 - c) * the mean grey of the image at that point, rounded down. Directly
///   after brightness both are one step without rounding between them, and the mean is that before
///   brightness times b;
/// - saturation: grey + s * (x - grey), rounded to the nearest level, ties to even;
/// - hue: 180 * hue, rounded down, added to H of 8-bit HSV; a hue of 0 leaves the image as it is.
/// Factors are rounded to 1/8192 (up, but saturation to the nearest), the terms of a contrast step
/// to 1/32 level. f32: the same without rounding, clipped to 0 to 1.
struct ColourChainDraw {
  double brightness = 1;
  double contrast = 1;
  double saturation = 1;
  double hue = 0;                        // turns, -0.5 to 0.5
  std::array<int, 4> order{0, 1, 2, 3};  // 0 brightness, 1 contrast, 2 saturation, 3 hue
  std::array<int, 3> channels{0, 1, 2};  // where those of the output come from, at the end
};
std::vector<Field<ColourChainDraw>> colour_chain_fields();
/// `order` and `channels` must be permutations.
Status colour_chain_fits(const ColourChainDraw& draw, Shape input);
ColourChainDraw draw_colour_factors(const ColourRanges& ranges, Rng& rng);

inline constexpr std::string_view kColourF32Reason =
    "f32 sums and quotients in another order; hue divides by the range of a pixel";

template <class T>
void colour_chain_reference(ImageSpan<T> dst, ImageView<T> src, const ColourChainDraw& draw);
template <class T>
void colour_chain_fast(const Frames<T>& frames, const ColourChainDraw& draw, Scratch& scratch);

/// What the transforms with a colour chain share: all but parameters and sample.
template <class P>
Definition<P, ColourChainDraw> colour_chain_definition(std::string name, std::string doc) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .parity = Parity::smooth,
          .draw = colour_chain_fields(),
          .fits = colour_chain_fits,
          .fast = {colour_chain_fast, colour_chain_fast},
          .reference = {colour_chain_reference, colour_chain_reference},
          .f32 = {.max = 2e-5, .reason = kColourF32Reason},
          .channels = ChannelRule::rgb,
          .in_place = true};
}

/// Whole steps of 8-bit HSV: H in 0 to 179, S in 0 to 255.
struct HsvShift {
  int hue = 0;
  int saturation = 0;
};
/// RGB to HSV as OpenCV defines it for 8 bits, H moved around the circle, S moved and clipped where
/// it is not 0, and back, rounded down. f32 is rounded to 8 bits before.
template <class T>
void hsv_shift_reference(ImageSpan<T> dst, ImageView<T> src, const HsvShift& shift);
template <class T>
void hsv_shift_fast(const Frames<T>& frames, const HsvShift& shift);

}  // namespace sluice::aug
