// sluice/cli/watch.cpp - `sluice watch -- CMD...`: measures a user's own training program through
// its marks.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/flags/loader.h"
#include "sluice/cli/print.h"
#include "sluice/core/process/process.h"
#include "sluice/core/text.h"
#include "sluice/peers/places.h"
#include "sluice/visit/watch/result.h"
#include "sluice/visit/watch/run.h"

#include <fmt/format.h>

#include <memory>

namespace sluice::cli {
namespace {

struct WatchFlags {
  visit::WatchPlan plan;
  std::string gpu;
  bool print_paths = false;
};

Result<ExitCode> print_paths(const Globals& globals) {
  SLUICE_TRY(const peers::Places places, peers::find_places());
  if (places.adapters.empty())
    return Error{Errc::not_found,
                 "the header and the module are not installed: no adapters folder above the "
                 "program; SLUICE_ADAPTERS may name one"};
  const std::string header = (places.adapters / "c" / "sluice_marks.h").string();
  const std::string module = (places.adapters / "python" / "sluice_marks.py").string();
  if (globals.json)
    print("{}\n", dump_json(Json{{"header", header}, {"module", module}}));
  else
    print("{}\n{}\n", printable(header), printable(module));
  return ExitCode::done;
}

Result<visit::WatchPlan> plan_of(const WatchFlags& flags) {
  visit::WatchPlan plan = flags.plan;
  if (plan.command.empty())
    return Error{Errc::usage,
                 "watch: no program; give it after --: sluice watch -- python train.py"};
  if (plan.name.empty() || plan.name.find_first_of("/\n") != std::string::npos)
    return Error{Errc::usage,
                 fmt::format("--name '{}': must be a name without slashes", printable(plan.name))};
  SLUICE_TRY(plan.gpu_index, parse_gpu(flags.gpu));
  SLUICE_TRY(const peers::Places places, peers::find_places());
  SLUICE_TRY(plan.command.front(), find_command(plan.command.front(), places.search_path));
  return plan;
}

Result<ExitCode> run_command(Context& context, const WatchFlags& flags) {
  if (flags.print_paths) return print_paths(context.globals);
  SLUICE_TRY(const visit::WatchPlan plan, plan_of(flags));
  SLUICE_TRY(const visit::WatchResult result, visit::run_watch(context.globals, plan));
  if (context.globals.json) {
    print("{}", results::to_text(results::to_json(result.file)));
  } else {
    print("{}run: {}\n", visit::watch_text(result.file), printable(result.folder.string()));
  }
  const measure::Row& row = result.file.rows.front();
  if (row.status == measure::RowStatus::ok) return ExitCode::done;
  const std::string message =
      fmt::format("{}: {}; its output is in {}", printable(plan.command.front()), row.reason,
                  printable((result.folder / "program.log").string()));
  return Error{result.interrupted ? Errc::interrupted
               : result.timed_out ? Errc::timeout
                                  : Errc::measurement,
               message};
}

}  // namespace

void add_watch(CLI::App& root, Context& context) {
  auto [sub, flags] = add_command<WatchFlags>(
      root, context, "watch", "Measure your own training program through the marks in its loop",
      run_command);
  visit::WatchPlan& plan = flags.plan;
  add_value(sub, "command", plan.command, "CMD", "program and its arguments, after --");
  sub.add_option("--steps", plan.steps,
                 "steps to measure before the program is ended; 0: until it ends by itself")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  sub.add_option("--warmup", plan.warmup, "first steps of each run that are not counted")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add_number(sub, "--runs", plan.runs, 1, 1000,
             "fresh processes, one after the other; compare needs several");
  sub.add_option("--limit", plan.limit_s, "kill a run after so many seconds; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  sub.add_option("--samples-per-step", plan.samples_per_step,
                 "samples in a step, to report samples/s; 0: report steps/s")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  sub.add_option("--tokens-per-step", plan.tokens_per_step,
                 "tokens in a step, to report tokens/s in metrics.json; 0: as many as samples")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  sub.add_option("--name", plan.name, "name of the row, which becomes watch/NAME")
      ->capture_default_str();
  sub.add_option("--gpu", flags.gpu, "GPU to watch as well (cuda:N); its machine profile is used");
  sub.add_flag("--print-paths", flags.print_paths,
               "print where the C header and the Python module are and exit");
  add_examples(sub, {"sluice watch -- python3 train.py --epochs 1",
                     "sluice watch --steps 200 --warmup 20 --runs 5 --out R -- ./train",
                     "sluice gate --compare --current R   # against the stored baseline",
                     "cc -I \"$(dirname \"$(sluice watch --print-paths | head -1)\")\" train.c"});
}

}  // namespace sluice::cli
