// sluice/scenario/worker_ranks.h - the ranks of which a worker is rank 0.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/world/world.h"

#include <memory>
#include <string>
#include <vector>

namespace sluice::scenario {

struct WorkerRanks {
  int size = 2;
  std::string device = "cpu";  // "cpu" or "cuda:N"
  bool own = false;            // started here, whatever a launcher started
  double timeout_s = 120;
  std::vector<std::string> arguments{};  // of this program, for those that are started
};

/// Joins the ranks of a launcher, or starts the others. Errc::unsupported: they cannot meet as
/// asked, a port is taken; so the row is refused, and has not failed.
Result<std::unique_ptr<train::World>> open_worker_ranks(const WorkerRanks& asked);

}  // namespace sluice::scenario
