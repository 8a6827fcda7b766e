// sluice/cli/watch.cpp - `sluice watch -- CMD...`: measures a user's own training program through
// its marks.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/flags/watch.h"

#include "sluice/cli/commands.h"
#include "sluice/cli/flags/loader.h"
#include "sluice/cli/print.h"
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

Result<ExitCode> run_command(Context& context, const WatchFlags& flags) {
  if (flags.print_paths) return print_paths(context.globals);
  SLUICE_TRY(visit::WatchPlan plan,
             checked_watch_plan(flags.plan, "sluice watch -- python train.py"));
  SLUICE_TRY(plan.gpu_index, parse_gpu(flags.gpu));
  SLUICE_TRY(const visit::WatchResult result, visit::run_watch(context.globals, plan));
  if (context.globals.json) {
    print("{}", results::to_text(results::to_json(result.file)));
  } else {
    print("{}", visit::watch_text(result.file));
    for (const std::string& file : result.profile)
      print("profile: {}\n", printable((result.folder / file).string()));
    if (!result.no_stacks.empty()) print("no Python stacks: {}\n", result.no_stacks);
    print("run: {}\n", printable(result.folder.string()));
  }
  SLUICE_CHECK(visit::watch_failure(result, plan));
  return ExitCode::done;
}

}  // namespace

void add_watch(CLI::App& root, Context& context) {
  auto [sub, flags] = add_command<WatchFlags>(
      root, context, "watch", "Measure your own training program through the marks in its loop",
      run_command);
  visit::WatchPlan& plan = flags.plan;
  add_watched_program(sub, plan);
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
  sub.add_option("--peak-tflops", plan.peak_tflops,
                 "peak TFLOP/s of the device, for MFU where the marks tell FLOP")
      ->check(CLI::Range(0.001, 1e6));
  sub.add_option("--gpu", flags.gpu, "GPU to watch as well (cuda:N); its machine profile is used");
  sub.add_flag("--profile", plan.profile,
               "also leave a trace of steps and phases, and Python stacks where py-spy is on PATH");
  sub.add_flag("--print-paths", flags.print_paths,
               "print where the C header and the Python module are and exit");
  add_examples(sub, {"sluice watch -- python3 train.py --epochs 1",
                     "sluice watch --steps 200 --warmup 20 --runs 5 --out R -- ./train",
                     "sluice gate --watch -- ./train   # measured so, and judged",
                     "cc -I \"$(dirname \"$(sluice watch --print-paths | head -1)\")\" train.c"});
}

}  // namespace sluice::cli
