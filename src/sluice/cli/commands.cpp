// sluice/cli/commands.cpp - the list of commands.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"

namespace sluice::cli {

void add_all_commands(CLI::App& root, Context& context) {
  add_quick(root, context);
  add_env(root, context);
  add_doctor(root, context);
  add_data(root, context);
  add_augment(root, context);
  add_peers(root, context);
  add_bench(root, context);
  add_benchmark_dataloader(root, context);
  add_benchmark_training(root, context);
  add_train(root, context);
  add_learn_model(root, context);
  add_tune(root, context);
  add_profile(root, context);
  add_watch(root, context);
  add_diagnose(root, context);
  add_flops(root, context);
  add_eval(root, context);
  add_plan(root, context);
  add_run(root, context);
  add_coverage(root, context);
  add_validate(root, context);
  add_publish(root, context);
  add_report(root, context);
  add_compare(root, context);
  add_ratio(root, context);
  add_gate(root, context);
  add_baseline(root, context);
  add_history(root, context);
  add_ab(root, context);
  add_selftest(root, context);
  add_ci(root, context);
  add_completion(root, context);
  add_docs(root, context);
  add_worker(root, context);
  add_spin(root, context);
}

}  // namespace sluice::cli
