// sluice/aug/colour/color_jitter.cpp - fixed brightness, contrast, saturation and hue in a drawn
// order.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/colour/colour_chain.h"

namespace sluice::aug {
namespace {

struct ColorJitterParams {
  double brightness = 0.5;
  double contrast = 1.5;
  double saturation = 1.5;
  double hue = 0.5;
};

ColourChainDraw sample(const ColorJitterParams& params, Rng& rng, Shape) {
  ColourChainDraw draw{params.brightness, params.contrast, params.saturation, params.hue};
  rng.shuffle(std::span<int>(draw.order));
  return draw;
}

}  // namespace

TransformSpec color_jitter_spec() {
  using P = ColorJitterParams;
  auto chain = colour_chain_definition<P>(
      "ColorJitter",
      "Brightness x * b, contrast towards the mean grey, saturation away from grey, and hue "
      "added in 8-bit HSV, in a drawn order; the factors are fixed.");
  chain.params = {field("brightness", &P::brightness, 0, kMaxColourFactor, "factor"),
                  field("contrast", &P::contrast, 0, kMaxColourFactor, "factor"),
                  field("saturation", &P::saturation, 0, kMaxColourFactor, "factor"),
                  field("hue", &P::hue, -0.5, 0.5, "turns")};
  chain.sample = sample;
  return make_transform(std::move(chain));
}

}  // namespace sluice::aug
