// sluice/cli/bench/allreduce.cpp - `sluice bench allreduce`: how fast ranks add numbers up, by
// size.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/flags/loader.h"
#include "sluice/cli/flags/sampling.h"
#include "sluice/cli/flags/storage.h"
#include "sluice/cli/flags/world.h"
#include "sluice/cli/print.h"
#include "sluice/core/text.h"
#include "sluice/report/allreduce_text.h"
#include "sluice/scenario/allreduce/room.h"
#include "sluice/train/world/open.h"
#include "sluice/visit/allreduce/run.h"

#include <fmt/format.h>

#include <random>

namespace sluice::cli {
namespace {

struct AllreduceFlags {
  std::string gpu = "cpu";
  int world_size = -1;
  std::string min_bytes = "8", max_bytes = "1g";
  int factor = 2;
  int sums = 0;
  int runs = 3;
  bool runs_given = false;
  int samples = 5;
  double timeout_s = 600;
  double rank_timeout_s = 120;
};

Result<int> ranks_of(const AllreduceFlags& flags, const train::LaunchedRank& launched,
                     int gpu_index) {
  const int asked = flags.world_size;
  if (asked == 0 || asked == 1)
    return usage_error(
        fmt::format("--world-size {}: 2 to 1024 add up, or -1 for one rank a core or GPU", asked));
  SLUICE_TRY(const int places, places_of_ranks(asked, launched, gpu_index));
  SLUICE_TRY(const int ranks, world_size_of(asked, launched, places));
  if (ranks < 2)
    return usage_error(
        fmt::format("--world-size -1: there is one {}; --world-size 2 has two ranks share it",
                    gpu_index < 0 ? "core" : "GPU"));
  return ranks;
}

/// Ranks of a launcher may be on other machines: they look themselves.
Status fits_here(const scenario::AllreduceSpec& spec, const std::string& max_bytes) {
  std::vector<scenario::RankRoom> rooms;
  for (int rank = 0; rank < spec.world_size; ++rank) {
    auto room = scenario::room_of_rank(spec.device, rank);
    if (!room && rank == 0) return room.error();
    if (!room)
      return Error{room.error().code,
                   fmt::format("rank {} of {}: {}", rank, spec.world_size, room.error().message)};
    rooms.push_back(std::move(*room));
  }
  const auto crowd = scenario::find_crowd(rooms, spec.bytes.back());
  if (!crowd) return ok;
  return usage_error(fmt::format(
      "--max-bytes {}: {} {} MiB of memory{}, {} are free; up to {} fit", printable(max_bytes),
      crowd->ranks == 1 ? "a rank wants" : fmt::format("{} ranks want", crowd->ranks),
      crowd->wanted >> 20, crowd->device.empty() ? "" : " of " + crowd->device, crowd->free >> 20,
      crowd->fitting));
}

Result<visit::AllreducePlan> allreduce_plan(const AllreduceFlags& flags, const Globals& globals,
                                            const train::LaunchedRank& launched) {
  visit::AllreducePlan plan;
  SLUICE_TRY(const int gpu_index, parse_gpu(flags.gpu));
  if (gpu_index >= 0) plan.spec.device = fmt::format("cuda:{}", gpu_index);
  SLUICE_TRY(plan.spec.world_size, ranks_of(flags, launched, gpu_index));
  SLUICE_TRY(const std::uint64_t low, parse_bytes(flags.min_bytes, "--min-bytes"));
  SLUICE_TRY(const std::uint64_t high, parse_bytes(flags.max_bytes, "--max-bytes"));
  if (low < sizeof(float))
    return usage_error(fmt::format("--min-bytes {}: one number has 4", printable(flags.min_bytes)));
  if (high < low)
    return usage_error(fmt::format("--max-bytes {}: is less than --min-bytes {}",
                                   printable(flags.max_bytes), printable(flags.min_bytes)));
  plan.spec.bytes = scenario::size_ladder(static_cast<std::int64_t>(low),
                                          static_cast<std::int64_t>(high), flags.factor);
  plan.spec.sums = flags.sums;
  plan.spec.rank_timeout_s = flags.rank_timeout_s;
  if (launched.size == 1) SLUICE_CHECK(fits_here(plan.spec, flags.max_bytes));
  if (launched.size > 1 && flags.runs_given && flags.runs > 1)
    return usage_error(
        fmt::format("--runs {}: the ranks that {} started can be used once; "
                    "--world-size {} starts new ones for every run",
                    flags.runs, to_string(launched.launcher), launched.size));
  measure::Policy& policy = plan.policy;
  policy.runs = launched.size > 1 ? 1 : flags.runs;
  policy.samples_per_run = flags.samples;
  policy.min_sample_ms = 0.001;  // a sample is one pass; it has sums enough of every size
  policy.warmup_ms = policy.warmup_limit_ms = 0;  // each size warms up by itself
  policy.slow_item_s = 0;
  policy.step_timeout_s = flags.timeout_s;
  policy.seed = globals.seed_given ? globals.seed : std::random_device{}();
  policy.data_seed = globals.seed;
  return plan;
}

/// What a rank but 0 does, when a launcher started several of this command.
Result<ExitCode> follow_allreduce(const train::LaunchedRank& launched, double timeout_s) {
  become_follower();
  SLUICE_TRY(const auto world, train::join_ranks(launched, {.timeout_s = timeout_s}));
  return follow_rank_0(*world, scenario::serve_allreduce);
}

Result<ExitCode> run_bench_allreduce(Context& context, const AllreduceFlags& flags) {
  SLUICE_TRY(const train::LaunchedRank launched, train::find_rank());
  if (launched.rank > 0) return follow_allreduce(launched, flags.rank_timeout_s);
  SLUICE_TRY(const auto plan, allreduce_plan(flags, context.globals, launched));
  SLUICE_TRY(const visit::Visited outcome, visit::run_allreduce(context.globals, plan));
  for (const measure::Row& row : outcome.file.rows)
    if (row.status == measure::RowStatus::unsupported) return Error{Errc::unsupported, row.reason};
  if (context.globals.json) {
    print("{}", results::to_text(results::to_json(outcome.file)));
  } else {
    print("{}report: {}\n", report::allreduce_text(outcome.file),
          (outcome.folder / "report.html").string());
  }
  if (outcome.interrupted)
    return Error{Errc::interrupted, fmt::format("interrupted; what was measured is in {}",
                                                printable(outcome.folder.string()))};
  return exit_code_of(outcome.file);
}

}  // namespace

void add_bench_allreduce(CLI::App& bench, Context& context) {
  auto flags = std::make_shared<AllreduceFlags>();
  auto command = std::make_shared<CLI::App*>(nullptr);
  *command = add_command(bench, context, "allreduce",
                         "Measure how fast ranks add numbers up: time and bandwidth by size",
                         [flags, command, &context] {
                           flags->runs_given = (*command)->count("--runs") > 0;
                           return run_bench_allreduce(context, *flags);
                         });
  CLI::App& app = **command;
  add_value(app, "--gpu", flags->gpu, "DEVICE",
            "where ranks add up: cpu, or cuda:N and the devices after it, by NCCL")
      ->capture_default_str();
  app.add_option("--world-size", flags->world_size,
                 "ranks on this machine; -1: one for each core or GPU. Under mpirun, srun or "
                 "torchrun: its ranks")
      ->check(CLI::Range(-1, 1024))
      ->capture_default_str();
  add_value(app, "--min-bytes", flags->min_bytes, "BYTES", "smallest size: 8, 4k, 1m")
      ->capture_default_str();
  add_value(app, "--max-bytes", flags->max_bytes, "BYTES", "largest size")->capture_default_str();
  add_number(app, "--factor", flags->factor, 2, 1024, "each size is so many times the one before");
  add_number(app, "--sums", flags->sums, 0, 1'000'000,
             "sums of a size that are timed together; 0: 2 to 100, by size");
  add_runs_flag(app, flags->runs, "runs, each with fresh ranks");
  add_samples_flag(app, flags->samples, "timed passes over all sizes per run");
  add_timeout_flag(app, flags->timeout_s);
  app.add_option("--rank-timeout", flags->rank_timeout_s, "seconds to wait for the slowest rank")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  add_examples(app,
               {"sluice bench allreduce --world-size 2",
                "sluice bench allreduce --world-size 4 --min-bytes 4k --max-bytes 64m --factor 4",
                "sluice bench allreduce --gpu cuda:0 --world-size 8",
                "mpirun -n 2 sluice bench allreduce --max-bytes 64m"});
}

}  // namespace sluice::cli
