// sluice/aug/colour/photo_metric_distort.cpp - the distortion of SSD: brightness, contrast before
// or after saturation and hue, then the channels in a drawn order.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/colour/colour_chain.h"

namespace sluice::aug {
namespace {

ColourChainDraw sample_distortion(const ColourRanges& ranges, Rng& rng, Shape) {
  ColourChainDraw draw = draw_colour_factors(ranges, rng);
  if (rng.below(2) == 1) draw.order = {0, 2, 3, 1};
  rng.shuffle(std::span<int>(draw.channels));
  return draw;
}

std::vector<Field<ColourChainDraw>> draw_fields() {
  auto fields = colour_chain_fields();
  fields.push_back(field("channels", &ColourChainDraw::channels, 0, 2,
                         "where the channels of the output come from"));
  return fields;
}

}  // namespace

TransformSpec photo_metric_distort_spec() {
  auto chain = colour_chain_definition<ColourRanges>(
      "PhotoMetricDistort",
      "The operations of ColorJiggle: brightness, then contrast before or after saturation "
      "and hue, then the channels in a drawn order.");
  chain.params = colour_range_fields();
  chain.draw = draw_fields();
  chain.sample = sample_distortion;
  return make_transform(std::move(chain));
}

}  // namespace sluice::aug
