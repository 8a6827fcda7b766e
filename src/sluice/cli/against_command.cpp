// sluice/cli/against_command.cpp - `sluice gate --against REV`: flags in, verdict and exit code
// out.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/against_flags.h"
#include "sluice/cli/terminal.h"
#include "sluice/core/file.h"
#include "sluice/measure/interrupt.h"
#include "sluice/report/gate/exports.h"
#include "sluice/report/gate/paired_text.h"
#include "sluice/results/result_file.h"
#include "sluice/visit/gate/against.h"
#include "sluice/visit/gate/run.h"

#include <fmt/format.h>

namespace sluice::cli {
namespace {

/// One training step after the other of a small GPT: what `gate --quick` measures, once per run.
constexpr const char* kBuiltInCommand =
    "./sluice bench training --model gpt-tiny --mode synthetic --warmup-steps 5 --measure-steps 20 "
    "--repeat 1 --out {out}";
constexpr const char* kBuiltInMetric = "training/gpt-tiny";

Status write_all(const Globals& globals, const visit::AbResult& result) {
  if (globals.out.empty()) return ok;
  SLUICE_CHECK(write_file_atomic(globals.out / "verdict.json", results::to_text(result.document)));
  SLUICE_CHECK(
      write_file_atomic(globals.out / "gate_report.txt", report::paired_text(result.report)));
  return report::write_gate_exports(result.report, globals.out);
}

}  // namespace

void add_against_flags(CLI::App& command, AgainstFlags& flags) {
  add_value(command, "--against", flags.revision, "REV",
            "judge this tree against another revision instead, in pairs (docs/ab.md)");
  add_value(command, "--build", flags.build, "CMD", "with --against: command that builds each tree")
      ->capture_default_str();
  add_value(
      command, "--run", flags.command, "CMD",
      "with --against: command to measure in each tree; default: a training step of gpt-tiny");
  command.add_flag("--allow-dirty", flags.allow_dirty,
                   "with --against: judge uncommitted changes as well");
  add_rule_flags(command, flags.rule);
  flags.metrics.timeout_flag = "--run-timeout";
  add_metric_flags(command, flags.metrics);
}

Result<ExitCode> gate_against(Context& context, const AgainstFlags& flags, bool strict) {
  const Globals& globals = context.globals;
  visit::AgainstPlan plan;
  plan.revision = flags.revision;
  plan.build = flags.build;
  plan.command = flags.command.empty() ? kBuiltInCommand : flags.command;
  plan.allow_dirty = flags.allow_dirty;
  plan.ab.seed = order_seed(globals);
  plan.ab.tau_given = !flags.rule.tau.empty();
  SLUICE_TRY(plan.ab.gate, paired_options(flags.rule, plan.ab.seed));
  MetricFlags metrics = flags.metrics;
  if (flags.command.empty() && metrics.metrics.empty()) metrics.metrics = {kBuiltInMetric};
  SLUICE_CHECK(apply(metrics, plan.ab));
  if (!globals.out.empty()) SLUICE_CHECK(create_folders(globals.out));
  const measure::Interrupt interrupt;
  SLUICE_TRY(const visit::AbResult result,
             visit::run_against(plan, {context.globals.progress, interrupt.fd()}));
  SLUICE_CHECK(write_all(globals, result));
  fmt::print("{}", globals.json ? results::to_text(result.document)
                                : report::paired_text(result.report, terminal_options()));
  return exit_code_of(result.report.status, strict);
}

}  // namespace sluice::cli
