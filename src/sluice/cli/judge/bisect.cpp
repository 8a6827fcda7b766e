// sluice/cli/judge/bisect.cpp - `sluice bisect GOOD BAD --run CMD`: which commit made CMD slower?
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/gate/bisect.h"

#include "sluice/cli/commands.h"
#include "sluice/cli/flags/paired.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/print.h"
#include "sluice/cli/terminal.h"
#include "sluice/config/units.h"
#include "sluice/core/text.h"
#include "sluice/report/gate/bisect_text.h"
#include "sluice/results/result_file.h"

#include <fmt/format.h>

#include <string>

namespace sluice::cli {
namespace {

/// By which a file of ours is known, whole or not.
constexpr const char* kBisectMark = "\"rule\": \"bisect\"";

struct BisectArgs {
  std::string good;
  std::string bad;
  std::string command;
  std::string build = "make build";
  std::string build_timeout = "1h";
  std::string metric = visit::kWallMetric;
  std::string better = "lower";
  std::string timeout = "10min";
  std::string tau = "3%";
  std::string floor = "1%";
  std::string alpha = "0.05";
  int max_pairs = gate::kBisectMostPairs;
  bool resume = false;
  bool strict = false;
};

Result<double> limit_of(const std::string& text, const char* flag) {
  const auto seconds = config::parse_seconds(text);
  if (seconds && *seconds > 0) return *seconds;
  return Error{Errc::usage, fmt::format("{} {}: expected a time above 0, such as 30s or 5min", flag,
                                        printable(text))};
}

Result<visit::BisectPlan> bisect_plan(const BisectArgs& args, const Globals& globals) {
  if (args.resume && globals.out.empty())
    return Error{Errc::usage, "--resume: add --out DIR, the folder to continue"};
  if (args.metric.empty())
    return Error{Errc::usage, "--metric: empty; expected wall, cpu, stdout or the name of a row"};
  visit::BisectPlan plan;
  plan.good = args.good;
  plan.bad = args.bad;
  plan.command = args.command;
  plan.build.command = args.build;
  SLUICE_TRY(plan.build.timeout_s, limit_of(args.build_timeout, "--build-timeout"));
  SLUICE_TRY(plan.timeout_s, limit_of(args.timeout, "--timeout"));
  plan.metric.name = args.metric;
  if (args.better == "higher") plan.stdout_better = measure::Better::higher;
  SLUICE_TRY(plan.search.tau, parse_fraction(args.tau, "--tau"));
  SLUICE_TRY(plan.search.floor, parse_fraction(args.floor, "--floor"));
  SLUICE_TRY(plan.search.alpha, parse_fraction(args.alpha, "--alpha"));
  plan.search.looks = gate::bisect_looks(args.max_pairs);
  plan.seed = order_seed(globals);
  plan.resume = args.resume;
  plan.begin_anew = globals.force;
  return plan;
}

/// Found 0; the premise did not hold 1; a range or an open question 0, with --strict 3.
ExitCode exit_code_of_search(gate::BisectEnd end, bool strict) {
  switch (end) {
    case gate::BisectEnd::found:
      return ExitCode::done;
    case gate::BisectEnd::not_slower:
      return ExitCode::regression;  // a check that failed: BAD is not slower
    default:
      return strict ? ExitCode::inconclusive : ExitCode::done;
  }
}

Result<ExitCode> run(Context& context, const BisectArgs& args) {
  const Globals& globals = context.globals;
  SLUICE_TRY(const visit::BisectPlan plan, bisect_plan(args, globals));
  OutputFiles files(globals);
  if (!globals.out.empty())
    SLUICE_CHECK(files.claim({globals.out / visit::kBisectFile}, NamedBy::us, kBisectMark));
  SLUICE_TRY(const visit::BisectResult result, visit::run_bisect(plan, globals));
  print("{}", globals.json ? results::to_text(gate::to_json(result.record))
                           : report::bisect_text(result.record, terminal_options()));
  if (result.interrupted)
    return Error{Errc::interrupted,
                 fmt::format("interrupted; go on with --resume --out {}, nothing is lost",
                             shown(result.file.parent_path()))};
  return exit_code_of_search(result.record.state.end, args.strict);
}

}  // namespace

void add_bisect(CLI::App& root, Context& context) {
  auto [sub, args] = add_command<BisectArgs>(
      root, context, "bisect",
      "Find the commit that made a command slower: builds, pairs with GOOD, binary search", run);
  add_value(sub, "GOOD", args.good, "REV", "commit that is fast enough; an ancestor of BAD")
      ->required();
  add_value(sub, "BAD", args.bad, "REV", "commit that is slower")->required();
  add_value(sub, "--run", args.command, "CMD", "command to measure in every tree")->required();
  add_value(sub, "--build", args.build, "CMD", "command that builds a tree, at its root")
      ->capture_default_str();
  add_value(sub, "--build-timeout", args.build_timeout, "TIME",
            "time limit of one build; a commit that takes longer is passed over")
      ->capture_default_str();
  add_value(sub, "--metric", args.metric, "METRIC",
            "what to compare: wall, cpu (user and system time), stdout (the number printed last), "
            "or a CASE or LIBRARY:CASE of the result file written to {out}")
      ->capture_default_str();
  add_choice(sub, "--better", args.better, {"lower", "higher"},
             "whether a lower or a higher printed number is better");
  add_value(sub, "--timeout", args.timeout, "TIME", "time limit of one run of the command")
      ->capture_default_str();
  add_value(sub, "--tau", args.tau, "SHARE",
            "loss of BAD that must not be ruled out; smaller ones are not looked for")
      ->capture_default_str();
  add_value(sub, "--floor", args.floor, "SHARE", "smallest loss of BAD worth a search")
      ->capture_default_str();
  add_value(sub, "--alpha", args.alpha, "SHARE", "risk, over all steps, of naming a wrong commit")
      ->capture_default_str();
  add_number(sub, "--max-pairs", args.max_pairs, gate::kBisectFirstPairs, 10'000,
             "pairs at one commit before it counts as undecided");
  sub.add_flag("--resume", args.resume, "continue the search in the folder of --out");
  sub.add_flag("--strict", args.strict, "exit 3 when no single commit is named");
  add_force_flag(sub, context.globals);
  add_examples(sub, {"sluice bisect v1.2 main --build make --run './program --bench'",
                     "sluice bisect v1.2 main --metric cpu --run ./program --out search",
                     "sluice bisect v1.2 main --metric cpu --run ./program --out search --resume"});
}

}  // namespace sluice::cli
