// sluice/train/cuda/counters.h - what a GPU's hardware counts while something runs on it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <functional>
#include <span>
#include <vector>

namespace sluice::train::cuda {

/// A value for each of CUPTI's names ("dram__bytes_read.sum"), over `work`, which ends when the
/// device is idle and runs once for every pass that the names need together. Errc::unsupported with
/// the reason where they cannot be counted; an error of the work as it is.
Result<std::vector<double>> count(int index, std::span<const char* const> names,
                                  const std::function<Status()>& work);

}  // namespace sluice::train::cuda
