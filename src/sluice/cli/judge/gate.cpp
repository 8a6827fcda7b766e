// sluice/cli/judge/gate.cpp - `sluice gate`: measure, evaluate, compare with the stored baseline of
// this machine profile.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/bench/training_flags.h"
#include "sluice/cli/commands.h"
#include "sluice/cli/flags/against.h"
#include "sluice/cli/flags/eval.h"
#include "sluice/cli/flags/watch.h"
#include "sluice/cli/print.h"
#include "sluice/core/text.h"
#include "sluice/report/gate/text.h"
#include "sluice/results/result_file.h"
#include "sluice/visit/gate/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

namespace sluice::cli {
namespace {

/// The built-in small subject: one fixed batch, nothing read.
constexpr const char* kQuickModel = "gpt-tiny";
constexpr int kQuickWarmup = 5, kQuickSteps = 20, kQuickRepeat = 5;
/// Where runs scatter: how many times --repeat they may become, and when they agree.
/// Of a watched program, unless --repeat says otherwise: the best of them counts.
constexpr int kWatchedRuns = 3;
constexpr int kMoreRuns = 2;
constexpr double kRunsAgree = 0.01;

struct GateFlags {
  BenchTrainingFlags training;
  bool env = false, bench = false, eval = false, compare = false;
  bool quick = false;
  bool watch = false;
  visit::WatchPlan program;  // of --watch, as typed
  bool strict = false;
  bool once = false;
  bool alone = false;
  gate::FenceMode fence = gate::FenceMode::fail;
  std::string rule = "pairs";
  std::string preset = "default";
  std::map<std::string, double> given;  // tolerances, by name
  std::filesystem::path baseline_dir = gate::kBaselineDir;
  std::string baseline_ref;
  std::filesystem::path current;
  EvalQuestions eval_questions;
  std::string worker;
  AgainstFlags against;
};

std::string flag_of(std::string name) {
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

void add_tolerance_flags(CLI::App& command, GateFlags& flags) {
  add_choice(command, "--tolerances", flags.preset, {"default", "strict", "lenient"},
             "preset of all tolerances");
  const auto add = [&](const char* name, const std::string& text) {
    command
        .add_option_function<double>(
            flag_of(name), [&flags, name](double value) { flags.given[name] = value; }, text)
        ->type_name("NUMBER");
  };
  const gate::Tolerances defaults;
  for (const gate::ToleranceField& field : gate::tolerance_fields())
    add(field.name, fmt::format("{}; default {}, strict {}, lenient {}", field.text,
                                defaults.*field.value, field.strict, field.lenient));
  add(gate::kP90Tolerance,
      "largest rise of the 90th percentile of step times, in per cent; default: not checked");
}

void add_gate_flags(CLI::App& command, GateFlags& flags) {
  begin_group(command, "What to do");
  command.add_flag("--env", flags.env, "describe the machine in env.json (always done)");
  command.add_flag("--bench", flags.bench, "measure a training step and write metrics.json");
  command.add_flag("--eval,--quality", flags.eval,
                   "evaluate perplexity and probes and write eval.json");
  command.add_flag("--compare", flags.compare, "compare with the stored baseline");
  command.add_flag(
      "--quick", flags.quick,
      "use the built-in subject: gpt-tiny on one fixed batch, 20 steps after 5 of "
      "warm-up, best median of 5 runs, of up to 10 where they scatter and no pairs follow");
  command.add_flag("--watch", flags.watch,
                   "measure your own program, given after --, by its marks (docs/watch.md)");
  add_watched_program(command, flags.program, "with --watch: ");
  begin_group(command, "Comparison with the baseline");
  add_value(command, "--baseline-dir", flags.baseline_dir, "DIR", "folder of stored baselines")
      ->capture_default_str();
  add_value(command, "--baseline-ref", flags.baseline_ref, "REV",
            "revision whose --baseline-dir counts, such as the branch a pull request goes to; "
            "default: the folder as it lies here");
  add_value(command, "--current", flags.current, "RUN",
            "run folder to judge, with --compare alone; default: --out");
  add_value(command, "--checkpoint", flags.eval_questions.config.checkpoint, "FILE",
            "safetensors file of the GPT to evaluate; default: the built-in one");
  add_value(command, "--eval-worker", flags.worker, "CMD",
            "program that answers for the model to evaluate, as for `sluice eval --worker`");
  add_eval_questions(command, flags.eval_questions);
  add_choice(command, "--rule", flags.rule, {"pairs", "seed"},
             "by what speed is judged: pairs with the program of the baseline, machine and luck "
             "weighed (pairs), or stored numbers and tolerances alone (seed)");
  command.add_flag("--no-pairs", flags.alone,
                   "compare with stored numbers only, not with the program of the baseline");
  command.add_flag("--no-confirm", flags.once,
                   "without pairs: fail a slow run at once instead of measuring it a second time");
  command
      .add_option("--fence", flags.fence,
                  "what happens to a run outside the range that 20 or more stored runs predict")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, gate::FenceMode>{{"fail", gate::FenceMode::fail},
                                                 {"warn", gate::FenceMode::warn},
                                                 {"off", gate::FenceMode::off}}))
      ->type_name("{fail,warn,off}")
      ->default_str("fail");
  command.add_flag("--strict", flags.strict, "exit 3 when the verdict is INCONCLUSIVE");
  add_tolerance_flags(command, flags);
}

Result<gate::Tolerances> tolerances_of(const GateFlags& flags) {
  SLUICE_TRY(gate::Tolerances tolerances, gate::tolerance_preset(flags.preset));
  for (const gate::ToleranceField& field : gate::tolerance_fields()) {
    if (const auto given = flags.given.find(field.name); given != flags.given.end())
      tolerances.*field.value = given->second;
  }
  if (const auto p90 = flags.given.find(gate::kP90Tolerance); p90 != flags.given.end())
    tolerances.step_time_p90_increase_pct = p90->second;
  if (const Status sound = gate::check(tolerances); !sound) return sound.error();
  return tolerances;
}

/// Flags that were typed win over --quick.
BenchTrainingFlags training_of(const GateFlags& flags, const CLI::App& command) {
  BenchTrainingFlags training = flags.training;
  const auto typed = [&](const char* name) { return command.count(name) > 0; };
  training.batch_given = typed("--batch-size");
  training.steps_given = typed("--measure-steps");
  if (!flags.quick) return training;
  if (!typed("--model")) training.training.model = kQuickModel;
  if (!typed("--mode")) training.mode = "synthetic";
  if (!typed("--warmup-steps")) training.warmup_steps = kQuickWarmup;
  if (!typed("--measure-steps")) training.measure_steps = kQuickSteps;
  if (!typed("--repeat")) training.repeat = kQuickRepeat;
  return training;
}

visit::GateModes modes_of(const GateFlags& flags) {
  const bool profile = flags.training.profile != "off";
  const bool chosen = flags.env || flags.bench || flags.eval || flags.compare || profile;
  if (!chosen) return {};
  return {flags.env, flags.bench, flags.eval, profile, flags.compare};
}

/// Flags of the built-in subjects say nothing about a program of the user's.
Result<visit::WatchPlan> watched_of(const GateFlags& flags, const CLI::App& command) {
  const auto typed = [&](const char* name) { return command.count(name) > 0; };
  for (const char* other : {"--quick", "--model", "--mode", "--input", "--batch-size",
                            "--libraries", "--sweep", "--profile", "--current", "--run"})
    if (typed(other))
      return Error{Errc::usage,
                   fmt::format("{}: not with --watch, which measures the program after --", other)};
  visit::WatchPlan plan = flags.program;
  plan.runs = typed("--repeat") ? flags.training.repeat : kWatchedRuns;
  if (typed("--warmup-steps")) plan.warmup = flags.training.warmup_steps;
  if (typed("--measure-steps")) plan.steps = flags.training.measure_steps;
  if (typed("--timeout")) plan.limit_s = flags.training.timeout_s;
  plan.peak_tflops = flags.training.peak_tflops;
  SLUICE_TRY(plan.gpu_index, parse_gpu(flags.training.loader.gpu));
  return plan;
}

Result<visit::GatePlan> plan_of(const GateFlags& flags, const CLI::App& command,
                                const Globals& globals) {
  visit::GatePlan plan;
  plan.modes = modes_of(flags);
  SLUICE_TRY(plan.tolerances, tolerances_of(flags));
  if (flags.watch) {
    SLUICE_TRY(visit::WatchPlan watched, watched_of(flags, command));
    SLUICE_TRY(plan.watch, checked_watch_plan(watched, "sluice gate --watch -- python train.py"));
    plan.modes = {.env = true, .bench = true, .eval = flags.eval, .compare = true};
  } else if (!flags.program.command.empty()) {
    return Error{Errc::usage, fmt::format("{}: a program needs --watch before the --",
                                          printable(flags.program.command.front()))};
  } else {
    SLUICE_TRY(plan.training, training_plan(training_of(flags, command), globals));
  }
  plan.training.policy.stop = measure::StopKind::usual;
  plan.training.policy.target_width = kRunsAgree;
  plan.training.policy.max_runs = kMoreRuns * plan.training.policy.runs;
  plan.baseline_dir = flags.baseline_dir;
  plan.baseline_ref = flags.baseline_ref;
  plan.fence = flags.fence;
  const bool seed = flags.rule == "seed";
  plan.rule = seed ? gate::GateRule::seed : gate::GateRule::pairs;
  plan.pairs = !flags.alone && !seed;
  plan.confirm = !flags.once && !seed;
  plan.eval = config_of(flags.eval_questions);
  if (!flags.worker.empty()) plan.eval.worker = {"/bin/sh", "-c", "exec " + flags.worker};
  if (plan.modes.measures()) {
    if (!flags.current.empty())
      return Error{Errc::usage, "--current requires --compare; without it the new run is judged"};
    if (plan.modes.compare && !plan.modes.bench && !plan.modes.eval)
      return Error{Errc::usage,
                   "--compare: beside --env or --profile it also needs --bench or "
                   "--eval; alone it judges the run of --current"};
    return plan;
  }
  plan.current = flags.current.empty() ? globals.out : flags.current;
  if (plan.current.empty())
    return Error{Errc::usage, "--compare: alone it needs --current RUN, the run that is judged"};
  return plan;
}

Json document_of(const visit::GateOutcome& outcome) {
  Json json = outcome.file ? results::to_json(*outcome.file) : Json::object();
  if (outcome.report) json["verdict"] = gate::to_json(*outcome.report);
  if (outcome.metrics) json["metrics"] = results::to_json(*outcome.metrics);
  if (outcome.eval) json["eval"] = *outcome.eval;
  json["summary"] = outcome.summary;
  return json;
}

/// `gate --watch --against REV`: both trees' program, each run of a pair measured by its marks.
Result<AgainstFlags> watched_against(const GateFlags& flags, const CLI::App& command) {
  AgainstFlags against = flags.against;
  SLUICE_TRY(visit::WatchPlan plan, watched_of(flags, command));
  SLUICE_TRY(const visit::WatchPlan checked,
             checked_watch_plan(plan, "sluice gate --watch --against main -- python train.py"));
  if (command.count("--repeat") == 0) plan.runs = 1;  // a pair is of two runs
  SLUICE_TRY(against.command, watch_command(plan));
  if (command.count("--build") == 0) against.build.clear();
  if (against.metrics.metrics.empty()) against.metrics.metrics = {"watch/" + checked.name};
  return against;
}

Result<ExitCode> run_command(Context& context, const GateFlags& flags, const CLI::App& command) {
  if (!flags.against.revision.empty()) {
    if (!flags.watch) return gate_against(context, flags.against, flags.strict);
    SLUICE_TRY(const AgainstFlags against, watched_against(flags, command));
    return gate_against(context, against, flags.strict);
  }
  SLUICE_TRY(const visit::GatePlan plan, plan_of(flags, command, context.globals));
  SLUICE_TRY(const visit::GateOutcome outcome, visit::run_gate(context.globals, plan));
  if (context.globals.json) {
    print("{}", results::to_text(document_of(outcome)));
  } else {
    if (outcome.report) print("{}", report::gate_text(*outcome.report));
    if (!outcome.folder.empty()) print("run: {}\n", printable(outcome.folder.string()));
  }
  if (outcome.failed_rows) return ExitCode::invalid;
  return outcome.report ? exit_code_of(outcome.report->status, flags.strict) : ExitCode::done;
}

}  // namespace

void add_gate(CLI::App& root, Context& context) {
  auto flags = std::make_shared<GateFlags>();
  auto command = std::make_shared<CLI::App*>(nullptr);
  *command =
      add_command(root, context, "gate",
                  "Measure, evaluate and compare with the stored baseline of this machine",
                  [flags, command, &context] { return run_command(context, *flags, **command); });
  add_gate_flags(**command, *flags);
  begin_group(**command, "Comparison with a revision");
  add_against_flags(**command, flags->against);
  add_bench_training_flags(**command, flags->training);
  show_first(**command, {"--quick", "--watch", "--bench", "--eval", "--compare", "--baseline-dir",
                         "--current", "--rule", "--strict", "--tolerances", "--throughput-drop-pct",
                         "--against", "--run", "--measure-steps", "--repeat", "--model"});
  add_examples(**command,
               {"sluice gate --quick --out runs/first   # exits with 4: no baseline yet",
                "sluice baseline promote runs/first --maintainer --reason first",
                "sluice gate --quick   # exits with 1 when it got worse",
                "sluice gate --bench --compare --model vit5-tiny --mode synthetic "
                "--throughput-drop-pct 3",
                "sluice gate --watch -- python3 train.py   # or --against main: both, in pairs"});
}

}  // namespace sluice::cli
