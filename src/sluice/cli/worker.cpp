// sluice/cli/worker.cpp - `sluice worker`: our own subjects behind the worker protocol; started by
// the supervisor.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/measure/worker/server.h"
#include "sluice/scenario/micro/micro.h"
#include "sluice/scenario/scenario.h"
#include "sluice/scenario/training/world.h"

#include <memory>

namespace sluice::cli {

void add_worker(CLI::App& root, Context& context) {
  auto copies = std::make_shared<bool>(false);
  auto rank = std::make_shared<bool>(false);
  CLI::App* sub = add_command(
      root, context, "worker", "Serve our subjects to a supervisor (docs/peer-protocol.md)",
      [copies, rank]() -> Result<ExitCode> {
        if (*rank) {
          SLUICE_TRY(const auto world, train::MpiWorld::join({}, {}));
          SLUICE_CHECK(scenario::serve_rank(*world));
          return ExitCode::done;
        }
        SLUICE_CHECK(measure::serve_on_environment(*copies ? scenario::memcpy_catalogue()
                                                           : scenario::catalogue()));
        return ExitCode::done;
      });
  sub->add_flag("--rank", *rank, "train as the worker says that started this one by MPI");
  sub->add_flag("--memcpy", *copies, "only copy as many bytes as each transform writes");
}

}  // namespace sluice::cli
