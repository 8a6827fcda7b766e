// sluice/train/world/ready_shares.cpp - the least that backward's operations take, summed up.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/world/ready_shares.h"

#include "sluice/train/model/op_cost.h"

#include <algorithm>

namespace sluice::train {

std::vector<double> ready_shares(const Program& program, const std::vector<Bucket>& buckets,
                                 double flop_per_byte) {
  std::vector<double> done;  // after each operation
  double sum = 0;
  for (const Op& op : program.backward) {
    const OpCost cost = cost_of(op, program);
    sum += std::max(cost.flop, cost.bytes * flop_per_byte);
    done.push_back(sum);
  }
  std::vector<double> shares;
  for (const Bucket& bucket : buckets)
    shares.push_back(sum > 0 ? done[bucket.ready] / sum : 1);
  return shares;
}

}  // namespace sluice::train
