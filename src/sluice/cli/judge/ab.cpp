// sluice/cli/judge/ab.cpp - `sluice ab`: is command B slower than command A? Pairs, a verdict, an
// exit code.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/gate/ab.h"

#include "sluice/cli/commands.h"
#include "sluice/cli/flags/paired.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/print.h"
#include "sluice/cli/terminal.h"
#include "sluice/core/file.h"
#include "sluice/measure/interrupt.h"
#include "sluice/report/gate/paired_text.h"
#include "sluice/results/result_file.h"
#include "sluice/visit/gate/run.h"

#include <fmt/format.h>

#include <memory>

namespace sluice::cli {
namespace {

struct AbArgs {
  std::string a;
  std::string b;
  RuleFlags rule;
  MetricFlags metrics;
  bool strict = false;
};

Result<ExitCode> run(Context& context, const AbArgs& args) {
  const Globals& globals = context.globals;
  visit::AbPlan plan;
  plan.a = {.name = "A", .command = args.a};
  plan.b = {.name = "B", .command = args.b};
  plan.seed = order_seed(globals);
  plan.tau_given = !args.rule.tau.empty();
  SLUICE_TRY(plan.gate, paired_options(args.rule, plan.seed));
  SLUICE_CHECK(apply(args.metrics, plan));
  OutputFiles files(globals);
  if (!globals.out.empty()) SLUICE_CHECK(files.claim({globals.out / "verdict.json"}));
  const measure::Interrupt interrupt;
  SLUICE_TRY(visit::AbResult result,
             visit::run_ab(plan, {context.globals.progress, interrupt.fd()}));
  add_reproduce(result, globals, plan.seed);
  const std::string json = results::to_text(result.document);
  if (!globals.out.empty()) SLUICE_CHECK(files.write(globals.out / "verdict.json", json));
  print("{}", globals.json
                  ? json
                  : report::paired_text(result.report, terminal_options(), &result.background));
  return exit_code_of(result.report.status, args.strict);
}

}  // namespace

void add_ab(CLI::App& root, Context& context) {
  auto [sub, args] = add_command<AbArgs>(
      root, context, "ab",
      "Judge whether one command is slower than another, in pairs in random order", run);
  add_value(sub, "--a", args.a, "CMD", "command of the baseline, as typed into a shell")
      ->required();
  add_value(sub, "--b", args.b, "CMD", "command of the candidate, which is judged")->required();
  add_rule_flags(sub, args.rule);
  add_metric_flags(sub, args.metrics);
  sub.add_flag("--strict", args.strict, "exit 3 when the verdict is INCONCLUSIVE");
  add_force_flag(sub, context.globals);
  add_examples(
      sub, {"sluice ab --a './before' --b './after'",
            "sluice ab --pairs 16 --metric stdout --better higher --a './before' --b './after'",
            "sluice ab --metric loader/rrc224 --a './a/sluice bench dataloader --out {out}' --b "
            "'./b/sluice bench dataloader --out {out}'"});
}

}  // namespace sluice::cli
