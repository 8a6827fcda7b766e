// sluice/cli/quick.cpp - `sluice quick`: the tour, on generated data, no flags needed.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/session.h"

#include <memory>

namespace sluice::cli {

void add_quick(CLI::App& root, Context& context) {
  auto flags = std::make_shared<SessionFlags>();
  CLI::App* command = add_command(
      root, context, "quick", "Measure this machine: canary, decode, resize, normalise, pipeline",
      [flags, &context]() -> Result<ExitCode> {
        SLUICE_TRY(SessionPlan plan, make_plan(*flags, context.globals, "quick"));
        plan.kinds = {scenario::Kind::canary, scenario::Kind::bench};
        SLUICE_TRY(const SessionResult session, run_session(context, plan));
        return show_session(context, session);
      });
  add_session_flags(*command, *flags);
  add_examples(*command, {"sluice quick",
                          "sluice quick --out first && sluice quick --out second && "
                          "sluice compare first second",
                          "sluice quick --data-dir photos --runs 7 --json > result.json",
                          "sluice quick --out first --resume      (continue after Ctrl-C)"});
}

}  // namespace sluice::cli
