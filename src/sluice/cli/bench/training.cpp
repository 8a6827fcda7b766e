// sluice/cli/bench/training.cpp - `sluice bench training`: a training step, how fast, how near the
// hardware, where the time goes, and beside whom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/bench/training_flags.h"
#include "sluice/cli/commands.h"
#include "sluice/cli/flags/world.h"
#include "sluice/cli/print.h"
#include "sluice/measure/interrupt.h"
#include "sluice/report/training_text.h"
#include "sluice/scenario/training/world.h"
#include "sluice/train/model/memory_plan.h"
#include "sluice/train/world/open.h"
#include "sluice/visit/training/run.h"

#include <fmt/format.h>

#include <memory>

namespace sluice::cli {
namespace {

Json memory_json(const train::MemoryPlan& plan) {
  Json tensors = Json::array();
  for (const train::Tensor& tensor : plan.tensors())
    tensors.push_back(Json{{"name", tensor.name},
                           {"shape", tensor.shape},
                           {"dtype", to_string(tensor.dtype)},
                           {"arena", to_string(tensor.arena)},
                           {"bytes", tensor.bytes()},
                           {"offset", tensor.offset}});
  return Json{{"bytes", plan.bytes()}, {"tensors", std::move(tensors)}};
}

Result<ExitCode> print_memory(const visit::TrainingPlan& plan, bool json) {
  SLUICE_TRY(const train::Program program, train::plan_engine(plan.engine));
  if (json)
    print("{}\n", dump_json(memory_json(program.plan)));
  else
    print("{}", program.plan.text());
  return ExitCode::done;
}

/// What a rank but 0 does, when a launcher started several of this command.
Result<ExitCode> follow(const train::LaunchedRank& launched, double timeout_s) {
  become_follower();
  SLUICE_TRY(const auto world, train::join_ranks(launched, {.timeout_s = timeout_s}));
  return follow_rank_0(*world, scenario::serve_rank);
}

constexpr int kTermHeldMs = 400;

/// Ranks that cannot train together are bad input; one that failed makes the measurement invalid.
/// The row has said so, in one line. Those of a launcher are all that there was to measure.
ExitCode exit_code_of_ranks(const results::ResultFile& file, bool launched) {
  for (const measure::Row& row : file.rows) {
    if (row.params.count("world_size") == 0) continue;
    if (row.status == measure::RowStatus::failed) return ExitCode::invalid;
    if (row.status == measure::RowStatus::unsupported &&
        (launched || row.reason.starts_with("rank ")))
      return ExitCode::usage;
  }
  return ExitCode::done;
}

Result<ExitCode> run_bench(Context& context, const BenchTrainingFlags& flags) {
  SLUICE_TRY(const train::LaunchedRank launched, train::find_rank());
  if (launched.rank > 0) return follow(launched, flags.rank_timeout_s);
  // mpirun kills what is left a second after a rank died; what was measured is written by then.
  if (launched.size > 1) measure::Interrupt::hold_term(kTermHeldMs);
  SLUICE_TRY(visit::TrainingPlan plan, training_plan(flags, context.globals));
  SLUICE_CHECK(visit::extend_sweep(plan));
  if (flags.print_memory) return print_memory(plan, context.globals.json);
  SLUICE_TRY(const visit::Visited result, visit::run_training(context.globals, plan));
  if (context.globals.json) {
    print("{}", results::to_text(results::to_json(result.file)));
  } else {
    print("{}report: {}\n", report::training_text(result.file),
          (result.folder / "report.html").string());
  }
  const ExitCode of_ranks = exit_code_of_ranks(result.file, plan.ranks_launched);
  if (result.interrupted && of_ranks == ExitCode::done)
    return Error{Errc::interrupted,
                 fmt::format("interrupted; what was measured is kept, continue with --out {} "
                             "--resume",
                             result.folder.string())};
  return of_ranks != ExitCode::done ? of_ranks : exit_code_of(result.file);
}

void add_training(CLI::App& parent, Context& context, const std::string& name,
                  const std::string& description) {
  auto flags = std::make_shared<BenchTrainingFlags>();
  auto command = std::make_shared<CLI::App*>(nullptr);
  *command = add_command(parent, context, name, description, [flags, command, &context] {
    flags->batch_given = (*command)->count("--batch-size") > 0;
    flags->steps_given = (*command)->count("--measure-steps") > 0;
    return run_bench(context, *flags);
  });
  add_bench_training_flags(**command, *flags);
  show_first(**command, {"--mode", "--libraries", "--warmup-steps", "--measure-steps", "--repeat",
                         "--sweep", "--model", "--image-size", "--dtype", "--compile", "--threads",
                         "--input", "--gpu", "--batch-size", "--num-workers"});
  add_examples(**command,
               {"sluice bench training --model vit5-tiny --mode synthetic --batch-size 8 "
                "--warmup-steps 3 --measure-steps 10",
                "sluice bench training --model vit5-small --input photos --gpu cuda:0",
                "sluice bench training --model gpt-tiny --input text --gpu cpu",
                "sluice bench training --model gpt-tiny --mode synthetic --libraries "
                "sluice,torch-eager,torch-compile --repeat 5",
                "sluice bench training --mode synthetic --sweep batch-size=8,16,32",
                "sluice bench training --mode synthetic --gpu cuda:0 --sweep batch-size=64..max",
                "sluice bench training --mode synthetic --batch-size 8 --dtype fp32,bf16",
                "sluice bench training --mode synthetic --batch-size 8 --world-size 2",
                "sluice bench training --model vit5-small --mode synthetic --gpu cuda:0 --dtype "
                "bf16-weights --compile off,fused,graph --libraries "
                "sluice,torch-eager,torch-compile,torch-max-autotune"});
}

}  // namespace

void add_bench_training(CLI::App& bench, Context& context) {
  add_training(bench, context, "training",
               "Measure a training step and its phases, beside other engines");
}

void add_benchmark_training(CLI::App& root, Context& context) {
  add_training(root, context, "benchmark-training", "The same as `bench training`");
}

}  // namespace sluice::cli
