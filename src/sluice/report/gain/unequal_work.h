// sluice/report/gain/unequal_work.h - whether two runs did the same work, so that a ratio of them
// is of how it was done.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"

#include <string>
#include <vector>

namespace sluice::report {

/// "batch_size (baseline '256', run '64')" for everything that differs in what two runs of one kind
/// computed. How it was computed (workers, caches, fused kernels, number format of a step, ...) is
/// no part of it, and neither are the samples nor the name of the model, of which others speak.
std::vector<std::string> unequal_work(const results::ResultFile& baseline,
                                      const results::ResultFile& run);

}  // namespace sluice::report
