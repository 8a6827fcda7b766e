// sluice/cli/commands.cpp - the list of commands.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"

#include "sluice/cli/backends/command.h"

namespace sluice::cli {

void add_all_commands(CLI::App& root, Context& context) {
  using Add = void (*)(CLI::App&, Context&);
  const auto under = [&](const char* heading, std::initializer_list<Add> commands) {
    for (const Add add : commands) {
      add(root, context);
      root.get_subcommands(nullptr).back()->group(heading);
    }
  };
  under("Look at this machine and at results", {add_quick, add_env, add_doctor, add_report});
  under("Measure", {add_bench, add_diagnose, add_tune, add_watch, add_plan, add_run});
  under("Train", {add_train, add_profile, add_flops, add_scale, add_eval});
  under("Judge", {add_compare, add_ratio, add_gate, add_baseline, add_history, add_serve, add_ab,
                  add_bisect, add_selftest, add_coverage, add_validate, add_publish});
  add_command_backends(context);
  under("Data", {add_data, add_augment});
  under("Set up", {add_peers, add_ci, add_completion});
  under("Other names", {add_benchmark_dataloader, add_benchmark_training, add_learn_model});
  // Not in the help: only programs call them.
  under("", {add_docs, add_worker, add_slice, add_spin});
}

}  // namespace sluice::cli
