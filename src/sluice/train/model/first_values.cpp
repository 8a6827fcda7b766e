// sluice/train/model/first_values.cpp - draws of the first weights.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/model/first_values.h"

#include "sluice/core/rng.h"

#include <cmath>

namespace sluice::train {
namespace {

constexpr double kDeviation = 0.02;
constexpr double kCut = 2.0;  // absolute: 100 deviations, as the sources have it
constexpr float kLayerScale = 1e-4F;

double cut_normal(Rng& rng) {
  while (true) {
    const double value = kDeviation * rng.normal();
    if (std::abs(value) <= kCut) return value;
  }
}

}  // namespace

std::vector<float> first_values(const Parameter& parameter, const Tensor& tensor,
                                std::uint64_t seed) {
  const auto count = static_cast<std::size_t>(tensor.elements());
  std::vector<float> values(count, 1.0F);
  Rng rng({.seed = seed, .epoch = 0, .index = parameter.ordinal, .repeat = 0, .stage = 0});
  switch (parameter.init) {
    case Parameter::Init::ones:
      break;
    case Parameter::Init::layer_scale:
      values.assign(count, kLayerScale);
      break;
    case Parameter::Init::trunc_normal:
      for (float& value : values)
        value = static_cast<float>(cut_normal(rng));
      break;
    case Parameter::Init::fan_in_uniform: {
      const double bound =
          1.0 / std::sqrt(static_cast<double>(tensor.elements() / tensor.shape.front()));
      for (float& value : values)
        value = static_cast<float>(rng.uniform(-bound, bound));
      break;
    }
  }
  return values;
}

}  // namespace sluice::train
