// sluice/report/diagnose_text.h - what limits a training step, for people.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"

#include <string>

namespace sluice::report {

/// The parts of a step alone and together, the verdict, the loader's stages, what to do. Empty when
/// the file has no `attribution` in its summary (`sluice diagnose` and `sluice quick` put it
/// there).
std::string diagnose_text(const results::ResultFile& file);

}  // namespace sluice::report
