// sluice/train/cuda/ceilings.h - how fast a GPU copies and multiplies when nothing else is asked of
// it: what kernels are held against.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/train/profile/device_summary.h"

namespace sluice::train::cuda {

/// Timed by events on the device, the best of a few: a roof is what can be reached. Memory is given
/// back. Errors as device_facts(), and where less than about 1 GiB is free.
Result<Ceilings> measure_ceilings(int index);

}  // namespace sluice::train::cuda
