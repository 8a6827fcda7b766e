// sluice/train/model/parameters.h - the parameters of a model by name, shape and beginning, in
// forward order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/program/program.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::train {

struct ParameterShape {
  std::string name;
  std::vector<std::int64_t> shape;
  Parameter::Init init = Parameter::Init::ones;
  bool decayed = false;  // matrices are; norms, scales, tokens and positions are not
  bool product = false;  // used by a matrix product: bf16 regimes keep a bf16 copy
};
std::vector<ParameterShape> parameter_shapes(const ModelSpec& model);

}  // namespace sluice::train
