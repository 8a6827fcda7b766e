// sluice/cli/rank.cpp - `sluice rank`: one of the ranks that a worker starts to train with it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/scenario/training/world.h"

namespace sluice::cli {

void add_rank(CLI::App& root, Context& context) {
  add_command(root, context, "rank", "Train as rank 0 says (docs/bench-training.md)",
              []() -> Result<ExitCode> {
                SLUICE_TRY(const auto world, train::MpiWorld::join({}, {}));
                SLUICE_CHECK(scenario::serve_rank(*world));
                return ExitCode::done;
              });
}

}  // namespace sluice::cli
