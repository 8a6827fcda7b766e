// adapters/cpp/opencv_decode.h - cv::imdecode as the subject `decode/jpeg`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/subject.h"

namespace sluice::opencv {

/// The files of data_dir, one decode on each of the threads asked for.
Result<std::unique_ptr<measure::Subject>> make_decode(const measure::SubjectContext& context);

}  // namespace sluice::opencv
