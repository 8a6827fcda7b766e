// sluice/train/world/local_ranks.h - how many ranks a launcher started on this machine, and the
// cores of each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/world/launcher.h"

namespace sluice::train {

/// By the launcher's variables; the whole world where it sets none. Of srun: on the first node.
int local_ranks_of(const LaunchedRank& launched, const Variables& variables = process_variables());

struct RankCores {
  int usable = 1;    // affinity and quota of this process
  int affinity = 1;  // cores that it may run on: its launcher may have bound it
  int node = 1;      // that the launcher has for all ranks of this machine
};
/// What this process and those that started it may use.
RankCores rank_cores(const Variables& variables = process_variables());

/// Threads of each of `local` ranks: the cores that a rank is bound to, its share of those that
/// ranks share.
int threads_of_rank(const RankCores& cores, int local);

}  // namespace sluice::train
