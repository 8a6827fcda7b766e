// sluice/visit/loader/probe.h - what another way to decode, or smaller files, would cost: measured
// on a few of the user's images.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/analysis/advice.h"
#include "sluice/visit/loader/request.h"

namespace sluice::visit {

/// Takes about a second of this thread, whose own time counts: what else runs on the machine does
/// not. Images that cannot be read, and inputs without images, give nothing. `side`: of the crop,
/// in pixels; `type`: of what is handed over.
analysis::ProbedData probe_images(const LoaderRequest& request, int side,
                                  train::PixelType type = train::PixelType::f32);

/// The shorter side at which images are still larger than a crop of `side`: 256 for 224.
int smaller_side(int side);

}  // namespace sluice::visit
