// sluice/cli/judge/selftest.cpp - `sluice selftest`: how often does the paired gate cry wolf here,
// and what does it see?
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/gate/selftest.h"

#include "sluice/cli/bench/training_flags.h"
#include "sluice/cli/commands.h"
#include "sluice/cli/flags/paired.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/print.h"
#include "sluice/config/units.h"
#include "sluice/core/file.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/text.h"
#include "sluice/gate/bisect/simulation.h"
#include "sluice/report/gate/selftest_text.h"
#include "sluice/results/result_file.h"
#include "sluice/visit/gate/done_when.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace sluice::cli {
namespace {

/// What `--gates` trains.
BenchTrainingFlags small_flags() {
  BenchTrainingFlags flags;
  flags.training.model = "gpt-tiny";
  flags.training.dim = 64;
  flags.training.heads = 2;
  flags.training.layers = 2;
  flags.training.sequence = 32;
  flags.loader.batch_size = 2;
  flags.batch_given = true;
  flags.mode = "synthetic";
  flags.warmup_steps = 2;
  flags.measure_steps = 20;
  flags.profile = "trace";
  return flags;
}

constexpr const char* kSelftestFile = "selftest.json";
constexpr int kSimulatedTrials = 2000;
constexpr int kSimulatedDraws = 10'000;  // of the sign-flip test above 16 pairs

struct SelftestArgs {
  RuleFlags rule;
  bool simulate = false;
  bool gates = false;
  bool bisect = false;
  std::optional<int> trials;
  int power_trials = 100;
  std::string slowdowns;
  std::string budget = "10min";
  std::string subject = "200ms";
  int turns = 1;
};

Result<double> time_of(const std::string& text, const char* flag, double least_s) {
  const auto seconds = config::parse_seconds(text);
  if (seconds && *seconds >= least_s) return *seconds;
  return Error{Errc::usage, fmt::format("{} {}: expected a time of at least {:g} s, such as 30s or "
                                        "10min",
                                        flag, printable(text), least_s)};
}

Result<std::vector<double>> slowdowns_of(const std::string& text, std::vector<double> defaults) {
  if (text.empty()) return defaults;
  std::vector<double> shares;
  for (const std::string& part : split(text, ',')) {
    SLUICE_TRY(const double share, parse_fraction(part, "--slowdowns"));
    if (share <= 0 || share >= 1)
      return Error{Errc::usage, fmt::format("--slowdowns {}: expected above 0 % and below 100 %",
                                            printable(part))};
    shares.push_back(share);
  }
  return shares;
}

Status save(const Globals& globals, const Json& document) {
  if (globals.out.empty()) return ok;
  return write_output(globals, globals.out / kSelftestFile, results::to_text(document));
}

Result<ExitCode> simulate(const Globals& globals, const SelftestArgs& args,
                          const gate::PairedOptions& rule) {
  gate::SimulationOptions options;
  options.gate = rule;
  options.gate.draws = kSimulatedDraws;
  options.gate.seed = globals.seed;
  options.seed = globals.seed;
  options.trials = args.trials.value_or(kSimulatedTrials);
  SLUICE_TRY(options.slowdowns, slowdowns_of(args.slowdowns, options.slowdowns));
  SLUICE_TRY(const auto table, gate::simulate_gates(options));
  Json designs = Json::array();
  for (const gate::SimulatedDesign& one : table) {
    Json found = Json::array();
    for (std::size_t i = 0; i < one.found.size(); ++i) {
      Json share = gate::to_json(one.found[i]);
      share["slowdown"] = options.slowdowns[i];
      found.push_back(std::move(share));
    }
    designs.push_back({{"design", one.name},
                       {"configured", one.ours},
                       {"mean_runs", one.runs},
                       {"false_alarms", gate::to_json(one.false_alarms)},
                       {"found", std::move(found)}});
  }
  const Json document{{"rule", "simulated"},
                      {"design", gate::to_json(options.gate)},
                      {"trials", options.trials},
                      {"seed", options.seed},
                      {"designs", std::move(designs)}};
  SLUICE_CHECK(save(globals, document));
  print("{}", globals.json ? results::to_text(document) : report::simulation_text(table, options));
  return ExitCode::done;
}

/// Searches for one slow commit of 64, over scripted noise.
Result<ExitCode> simulate_searches(const Globals& globals, const SelftestArgs& args) {
  gate::BisectSimulationOptions options;
  options.seed = globals.seed;
  options.trials = args.trials.value_or(options.trials);
  SLUICE_TRY(options.slowdowns, slowdowns_of(args.slowdowns, options.slowdowns));
  SLUICE_TRY(const auto table, gate::simulate_bisect(options));
  Json rows = Json::array();
  for (const gate::SimulatedBisect& one : table)
    rows.push_back(gate::to_json(one));
  const Json document{{"rule", "simulated bisect"},    {"commits", options.commits},
                      {"alpha", options.search.alpha}, {"tau", options.search.tau},
                      {"trials", options.trials},      {"seed", options.seed},
                      {"slowdowns", std::move(rows)}};
  SLUICE_CHECK(save(globals, document));
  print("{}",
        globals.json ? results::to_text(document) : report::bisect_simulation_text(table, options));
  return ExitCode::done;
}

Result<ExitCode> measure_here(Context& context, const SelftestArgs& args,
                              const gate::PairedOptions& rule) {
  const Globals& globals = context.globals;
  visit::SelftestPlan plan;
  plan.gate = rule;
  plan.trials = args.trials.value_or(plan.trials);
  plan.power_trials = args.power_trials;
  SLUICE_TRY(plan.slowdowns, slowdowns_of(args.slowdowns, plan.slowdowns));
  SLUICE_TRY(plan.budget_s, time_of(args.budget, "--budget", 1));
  SLUICE_TRY(plan.subject_s, time_of(args.subject, "--subject", 0.001));
  plan.turns = args.turns;
  plan.seed = rule.seed;
  plan.out = globals.out;
  OutputFiles files(globals);
  if (!globals.out.empty()) SLUICE_CHECK(files.claim({globals.out / kSelftestFile}));
  SLUICE_TRY(const visit::SelftestResult result, visit::run_selftest(plan, context.globals));
  if (!globals.out.empty()) files.written(globals.out / kSelftestFile);
  print("{}", globals.json ? results::to_text(result.document)
                           : report::selftest_text(result.conditions, result.noise, plan.gate));
  if (result.interrupted)
    return Error{Errc::interrupted, "interrupted; finished trials are counted above"};
  return gate::cries_wolf(result.conditions, plan.gate) ? ExitCode::regression : ExitCode::done;
}

/// The seed's three gates; files of --out stay, others go.
Result<ExitCode> run_gates(Context& context) {
  const Globals& globals = context.globals;
  std::optional<FolderGuard> scratch;
  if (globals.out.empty())
    scratch.emplace(std::filesystem::temp_directory_path() /
                    fmt::format("sluice-gates-{}", getpid()));
  SLUICE_TRY(const visit::TrainingPlan plan, training_plan(small_flags(), globals));
  SLUICE_TRY(const auto gates,
             visit::run_done_when(context.globals, plan, scratch ? scratch->path() : globals.out));
  const Json document = visit::to_json(gates);
  SLUICE_CHECK(save(globals, document));
  print("{}", globals.json ? results::to_text(document) : visit::done_when_text(gates));
  return visit::all_passed(gates) ? ExitCode::done : ExitCode::regression;
}

Result<ExitCode> run(Context& context, const SelftestArgs& args) {
  if (int{args.gates} + int{args.simulate} + int{args.bisect} > 1)
    return Error{Errc::usage, "--gates, --simulate and --bisect: give only one"};
  if (args.gates) return run_gates(context);
  if (args.bisect) return simulate_searches(context.globals, args);
  SLUICE_TRY(const gate::PairedOptions rule,
             paired_options(args.rule, order_seed(context.globals)));
  return args.simulate ? simulate(context.globals, args, rule) : measure_here(context, args, rule);
}

}  // namespace

void add_selftest(CLI::App& root, Context& context) {
  auto [sub, args] = add_command<SelftestArgs>(
      root, context, "selftest",
      "Measure how often the paired gate errs on this machine: false alarms and power", run);
  add_value(sub, "--budget", args.budget, "TIME", "time limit; trials that do not fit are dropped")
      ->capture_default_str();
  add_value(
      sub, "--trials", args.trials, "N",
      "trials of A against itself (default 300; simulated 2000 of everything, 500 of a search)")
      ->check(CLI::Range(1, 1'000'000));
  add_value(sub, "--power-trials", args.power_trials, "N", "trials of each slowdown")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  add_value(sub, "--slowdowns", args.slowdowns, "SHARE,...",
            "drops in speed to inject (default 1%,2%,3%,5%,10%; simulated 3%,5%, and 10% in a "
            "search)");
  add_value(sub, "--subject", args.subject, "TIME",
            "time that the subject takes on one side of a pair")
      ->capture_default_str();
  add_value(sub, "--turns", args.turns, "N",
            "take that time in so many turns and compare neighbouring ones, as the pairs of "
            "`sluice gate`; 1: whole runs one after the other, as `sluice ab`")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  add_rule_flags(sub, args.rule);
  sub.add_flag(
      "--gates", args.gates,
      "check the stored-baseline gate instead, by its three conditions for being fit for work");
  sub.add_flag("--simulate", args.simulate,
               "use scripted noise instead of measuring, beside the usual designs; takes seconds");
  sub.add_flag("--bisect", args.bisect,
               "simulate searches of sluice bisect instead: one slow commit among 64");
  add_force_flag(sub, context.globals);
  add_examples(
      sub, {"sluice selftest --simulate", "sluice selftest --bisect --slowdowns 5%",
            "sluice selftest --budget 5min", "sluice selftest --budget 2h --out selftest --json"});
}

}  // namespace sluice::cli
