// sluice/cli/worker.cpp - `sluice worker`: our own subjects behind the worker protocol; started by
// the supervisor.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/flags/world.h"
#include "sluice/measure/worker/server.h"
#include "sluice/scenario/allreduce/world.h"
#include "sluice/scenario/micro/micro.h"
#include "sluice/scenario/scenario.h"
#include "sluice/scenario/training/world.h"
#include "sluice/train/world/open.h"

#include <memory>

namespace sluice::cli {

void add_worker(CLI::App& root, Context& context) {
  auto copies = std::make_shared<bool>(false);
  auto rank = std::make_shared<bool>(false);
  auto sums = std::make_shared<bool>(false);
  auto ranks = std::make_shared<train::WorldOptions>();
  CLI::App* sub = add_command(
      root, context, "worker", "Serve our subjects to a supervisor (docs/peer-protocol.md)",
      [copies, rank, sums, ranks]() -> Result<ExitCode> {
        if (*rank || *sums) {
          become_follower();
          SLUICE_TRY(const auto world, train::join_starter(*ranks));
          return follow_rank_0(*world, *rank ? scenario::serve_rank : scenario::serve_allreduce);
        }
        SLUICE_CHECK(measure::serve_on_environment(*copies ? scenario::memcpy_catalogue()
                                                           : scenario::catalogue()));
        return ExitCode::done;
      });
  sub->add_flag("--rank", *rank, "train as the worker says that started this one");
  sub->add_flag("--allreduce-rank", *sums, "add up as the worker says that started this one");
  sub->add_option("--rank-timeout", ranks->timeout_s, "seconds to wait for rank 0 in a step");
  sub->add_flag("--memcpy", *copies, "only copy as many bytes as each transform writes");
}

}  // namespace sluice::cli
