// sluice/cli/worker.cpp - `sluice worker`: our own subjects behind the worker protocol; started by
// the supervisor.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/measure/worker_server.h"
#include "sluice/scenario/scenario.h"

namespace sluice::cli {

void add_worker(CLI::App& root, Context& context) {
  CLI::App* sub = add_command(root, context, "worker",
                              "Serve our subjects to a supervisor (docs/peer-protocol.md)",
                              []() -> Result<ExitCode> {
                                SLUICE_CHECK(measure::serve_on_environment(scenario::catalogue()));
                                return ExitCode::done;
                              });
  sub->group("");  // not in the help: nobody types it
}

}  // namespace sluice::cli
