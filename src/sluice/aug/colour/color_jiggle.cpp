// sluice/aug/colour/color_jiggle.cpp - drawn brightness, contrast, saturation and hue in a drawn
// order.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/colour/colour_chain.h"

namespace sluice::aug {
namespace {

ColourChainDraw sample(const ColourRanges& ranges, Rng& rng, Shape) {
  ColourChainDraw draw = draw_colour_factors(ranges, rng);
  rng.shuffle(std::span<int>(draw.order));
  return draw;
}

}  // namespace

TransformSpec color_jiggle_spec() {
  auto chain = colour_chain_definition<ColourRanges>(
      "ColorJiggle", "ColorJitter with factors drawn uniformly from ranges.");
  chain.params = colour_range_fields();
  chain.sample = sample;
  return make_transform(std::move(chain));
}

}  // namespace sluice::aug
