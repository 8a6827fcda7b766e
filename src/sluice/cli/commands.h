// sluice/cli/commands.h - every command of the program, one per file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"

namespace sluice::cli {

/// Adds every command below to `root`, in the order of the help.
void add_all_commands(CLI::App& root, Context& context);

void add_ab(CLI::App& root, Context& context);
void add_augment(CLI::App& root, Context& context);
void add_bisect(CLI::App& root, Context& context);
void add_baseline(CLI::App& root, Context& context);
void add_bench(CLI::App& root, Context& context);
void add_bench_allreduce(CLI::App& bench, Context& context);   // under `bench`
void add_bench_dataloader(CLI::App& bench, Context& context);  // under `bench`
void add_benchmark_dataloader(CLI::App& root, Context& context);
void add_bench_mixture(CLI::App& bench, Context& context);   // under `bench`
void add_bench_training(CLI::App& bench, Context& context);  // under `bench`
void add_benchmark_training(CLI::App& root, Context& context);
void add_bench_storage(CLI::App& bench, Context& context);
void add_bench_transforms(CLI::App& bench, Context& context);
void add_ci(CLI::App& root, Context& context);
void add_compare(CLI::App& root, Context& context);
void add_coverage(CLI::App& root, Context& context);
void add_completion(CLI::App& root, Context& context);
void add_data(CLI::App& root, Context& context);
void add_data_bundle(CLI::App& data, Context& context);  // under `data`
void add_data_make(CLI::App& data, Context& context);    // under `data`
void add_data_shrink(CLI::App& data, Context& context);  // under `data`
void add_data_stage(CLI::App& data, Context& context);   // under `data`
void add_diagnose(CLI::App& root, Context& context);
void add_docs(CLI::App& root, Context& context);
void add_doctor(CLI::App& root, Context& context);
void add_env(CLI::App& root, Context& context);
void add_eval(CLI::App& root, Context& context);
void add_flops(CLI::App& root, Context& context);
void add_gate(CLI::App& root, Context& context);
void add_history(CLI::App& root, Context& context);
void add_plan(CLI::App& root, Context& context);
void add_peers(CLI::App& root, Context& context);
void add_report(CLI::App& root, Context& context);
void add_ratio(CLI::App& root, Context& context);
void add_run(CLI::App& root, Context& context);
void add_profile(CLI::App& root, Context& context);
void add_publish(CLI::App& root, Context& context);
void add_quick(CLI::App& root, Context& context);
void add_scale(CLI::App& root, Context& context);
void add_selftest(CLI::App& root, Context& context);
void add_serve(CLI::App& root, Context& context);
void add_slice(CLI::App& root, Context& context);
void add_spin(CLI::App& root, Context& context);
void add_train(CLI::App& root, Context& context);
void add_learn_model(CLI::App& root, Context& context);
void add_tune(CLI::App& root, Context& context);
void add_validate(CLI::App& root, Context& context);
void add_watch(CLI::App& root, Context& context);
void add_worker(CLI::App& root, Context& context);

}  // namespace sluice::cli
