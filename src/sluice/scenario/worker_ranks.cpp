// sluice/scenario/worker_ranks.cpp - ranks of a launcher, or of this program.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/worker_ranks.h"

#include "sluice/core/process/process.h"
#include "sluice/train/world/open.h"

#include <unistd.h>

namespace sluice::scenario {
namespace {

Result<std::unique_ptr<train::World>> open_ranks_of_worker(const WorkerRanks& asked) {
  const train::WorldOptions options{.timeout_s = asked.timeout_s,
                                    .writer_pid = ::getppid()};  // this is its worker
  SLUICE_TRY(const train::LaunchedRank launched, train::find_rank());
  if (launched.size > 1 && !asked.own) return train::join_ranks(launched, options);
  SLUICE_TRY(const auto program, own_program());
  std::vector<std::string> command{program.string()};
  command.insert(command.end(), asked.arguments.begin(), asked.arguments.end());
  return train::start_ranks(asked.size, asked.device, command, options);
}

}  // namespace

Result<std::unique_ptr<train::World>> open_worker_ranks(const WorkerRanks& asked) {
  auto world = open_ranks_of_worker(asked);
  if (!world && world.error().code == Errc::usage)
    return Error{Errc::unsupported, world.error().message};
  return world;
}

}  // namespace sluice::scenario
