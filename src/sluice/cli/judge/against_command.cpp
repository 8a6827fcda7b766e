// sluice/cli/judge/against_command.cpp - `sluice gate --against REV`: flags in, verdict and exit
// code out.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/flags/against.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/print.h"
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
/// What report::write_gate_exports() writes.
constexpr const char* kGateExports[] = {"junit.xml", "metrics.prom", "summary.md"};

Status write_all(OutputFiles& files, const std::filesystem::path& out,
                 const visit::AbResult& result) {
  SLUICE_CHECK(files.write(out / "verdict.json", results::to_text(result.document)));
  SLUICE_CHECK(files.write(out / "gate_report.txt",
                           report::paired_text(result.report, {}, &result.background)));
  SLUICE_CHECK(report::write_gate_exports(result.report, out));
  for (const char* name : kGateExports)
    files.written(out / name);
  return ok;
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
  command.add_flag("--force", flags.force,
                   "with --against: overwrite files that sluice did not write");
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
  OutputFiles files(flags.force);
  if (!globals.out.empty()) {
    std::vector<std::filesystem::path> names{globals.out / "verdict.json",
                                             globals.out / "gate_report.txt"};
    for (const char* name : kGateExports)
      names.push_back(globals.out / name);
    SLUICE_CHECK(files.claim(names));
  }
  const measure::Interrupt interrupt;
  SLUICE_TRY(visit::AbResult result,
             visit::run_against(plan, {context.globals.progress, interrupt.fd()}));
  add_reproduce(result, globals, plan.ab.seed);
  if (!globals.out.empty()) SLUICE_CHECK(write_all(files, globals.out, result));
  print("{}", globals.json
                  ? results::to_text(result.document)
                  : report::paired_text(result.report, terminal_options(), &result.background));
  return exit_code_of(result.report.status, strict);
}

}  // namespace sluice::cli
