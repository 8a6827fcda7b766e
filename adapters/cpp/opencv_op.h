// adapters/cpp/opencv_op.h - a recipe as a micro row.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/scenario/micro/micro.h"

#include <memory>
#include <string>
#include <vector>

namespace sluice::opencv {

/// Names of all recipes, sorted.
std::vector<std::string> recipe_names();

/// The recipe of `one` over `inputs`, which must outlive it.
Result<std::unique_ptr<scenario::MicroOp>> make_op(const scenario::MicroCase& one,
                                                   const scenario::MicroInputs& inputs);

}  // namespace sluice::opencv
