// sluice/train/world/ready_shares.h - when in backward each bucket of gradients is whole.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/world/buckets.h"

#include <vector>

namespace sluice::train {

/// For each bucket the share of backward's time after which it may be added up: 0 to 1, growing. An
/// operation takes what it must compute or what it must move, whichever is more, on a device that
/// computes `flop_per_byte` for each byte it moves.
std::vector<double> ready_shares(const Program& program, const std::vector<Bucket>& buckets,
                                 double flop_per_byte = 50);

}  // namespace sluice::train
