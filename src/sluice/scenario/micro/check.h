// sluice/scenario/micro/check.h - is this output what the transform is meant to give? Looked at
// before any time counts; the Python workers check the same.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/image.h"
#include "sluice/scenario/micro/micro.h"

namespace sluice::scenario {

/// Size and channels are what the definition allows, and where it is exact (flips, Transpose,
/// Invert, Posterize, Pad, ...) so are the samples.
Status check_output(const MicroCase& one, image::ImageView<std::uint8_t> input,
                    image::ImageView<std::uint8_t> output);

/// By a draw, or because there is nothing to do, the output may be the input.
bool may_keep(const std::string& transform);

bool same_samples(image::ImageView<std::uint8_t> a, image::ImageView<std::uint8_t> b);

}  // namespace sluice::scenario
