// adapters/cpp/opencv_decode.h - cv::imdecode as the subjects `decode/jpeg`,
// `decode/jpeg-progressive`, `decode/png` and `decode/webp`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/worker/server.h"

namespace sluice::opencv {

/// The files that our own rows decode, one decode on each of the threads asked for.
void add_decode(measure::Catalogue& catalogue);

}  // namespace sluice::opencv
