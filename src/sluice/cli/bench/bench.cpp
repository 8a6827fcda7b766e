// sluice/cli/bench/bench.cpp - `sluice bench decode|harness`: chosen rows, beside any peer worker;
// and the group of the others.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/flags/session.h"

#include <memory>

namespace sluice::cli {
namespace {

CLI::App* add_bench_of(CLI::App& bench, Context& context, const std::string& name,
                       const std::string& description, const std::vector<scenario::Kind>& kinds,
                       const std::vector<std::string>& scenarios) {
  auto flags = std::make_shared<SessionFlags>();
  CLI::App* command = add_command(
      bench, context, name, description,
      [flags, &context, name, kinds, scenarios]() -> Result<ExitCode> {
        SLUICE_TRY(visit::SessionPlan plan, make_plan(*flags, context.globals, "bench-" + name));
        plan.kinds = kinds;
        plan.kinds.push_back(scenario::Kind::canary);
        plan.scenarios = scenarios;
        SLUICE_TRY(const visit::Visited session, visit::run_session(context.globals, plan));
        return show_session(context, session);
      });
  add_session_flags(*command, *flags);
  return command;
}

}  // namespace

void add_bench(CLI::App& root, Context& context) {
  CLI::App* bench = add_family(root, "bench", "Measure one thing, beside other libraries");
  CLI::App* decode =
      add_bench_of(*bench, context, "decode",
                   "Measure decoding of JPEG, PNG, WebP and video, and JPEG to a training crop",
                   {scenario::Kind::bench, scenario::Kind::decode},
                   {"decode/jpeg", "decode/png", "decode/webp", "decode/video", "pipeline/rrc224",
                    "pipeline/rrc224-scaled"});
  add_examples(*decode, {"sluice bench decode --data-dir photos",
                         "sluice bench decode --peer opencv=build/release/opencv_worker"});
  add_bench_of(*bench, context, "harness", "Measure the overhead of measuring, per iteration",
               {scenario::Kind::harness}, {"harness/empty"});
  add_bench_storage(*bench, context);
  add_bench_transforms(*bench, context);
  add_bench_dataloader(*bench, context);
  add_bench_mixture(*bench, context);
  add_bench_training(*bench, context);
}

}  // namespace sluice::cli
