// sluice/train/world/gather.h - a few numbers of every rank, exactly.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/world/communicator.h"

#include <span>
#include <vector>

namespace sluice::train {

/// mine.size() numbers of rank 0, of rank 1, ...: the same bits on every rank, which all call it
/// with as many.
Result<std::vector<double>> gather(Communicator& world, std::span<const double> mine);

/// Their sums over the ranks, added in their order.
Result<std::vector<double>> sum_exactly(Communicator& world, std::span<const double> mine);

}  // namespace sluice::train
