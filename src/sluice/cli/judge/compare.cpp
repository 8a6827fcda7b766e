// sluice/cli/judge/compare.cpp - `sluice compare`: gates one set of results against another.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/compare/compare.h"

#include "sluice/cli/commands.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/print.h"
#include "sluice/cli/terminal.h"
#include "sluice/core/file.h"
#include "sluice/report/gate/compare_table.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace sluice::cli {
namespace {

struct CompareArgs {
  std::string base;
  std::string candidate;
  std::string threshold = "5%";
  std::string alpha = "0.05";
  std::vector<std::string> libraries;
  std::vector<std::string> transforms;
  bool strict = false;
  bool allow_missing = false;
};

Result<ExitCode> run_compare(const CompareArgs& args, const Globals& globals) {
  gate::CompareOptions options;
  SLUICE_TRY(options.threshold, parse_fraction(args.threshold, "--threshold"));
  SLUICE_TRY(options.alpha, parse_fraction(args.alpha, "--alpha"));
  options.allow_missing = args.allow_missing;
  options.libraries = args.libraries;
  options.transforms = args.transforms;
  SLUICE_TRY(const auto comparison, gate::compare_paths(args.base, args.candidate, options));
  const std::string json = gate::to_json(comparison).dump(2) + "\n";
  if (!globals.out.empty()) SLUICE_CHECK(write_output(globals, globals.out / "verdict.json", json));
  const std::string text =
      globals.json ? json : report::compare_table(comparison, terminal_options());
  print_text(text);
  return exit_code_of(comparison.outcome, args.strict);
}

}  // namespace

void add_compare(CLI::App& root, Context& context) {
  auto [sub, args] = add_command<CompareArgs>(
      root, context, "compare",
      "Compare two result files or run folders; exit 1 when a row got slower or is gone",
      run_compare);
  add_value(sub, "base", args.base, "BASE", "result file or run folder to compare with")
      ->required();
  add_value(sub, "candidate", args.candidate, "CANDIDATE",
            "result file or run folder that is judged")
      ->required();
  add_value(sub, "--threshold", args.threshold, "SHARE",
            "loss that a significant difference must exceed to count")
      ->capture_default_str();
  add_value(sub, "--alpha", args.alpha, "SHARE", "chance of any false verdict over all rows (Holm)")
      ->capture_default_str();
  sub.add_option("--libraries", args.libraries, "only rows of these, by comma")
      ->delimiter(',')
      ->type_name("LIST");
  sub.add_option("--transforms", args.transforms, "only rows of these, by comma")
      ->delimiter(',')
      ->type_name("LIST");
  sub.add_flag("--allow-missing", args.allow_missing,
               "accept rows of BASE that CANDIDATE lacks; otherwise they fail");
  sub.add_flag("--strict", args.strict, "exit 3 when the verdict is INCONCLUSIVE");
  add_force_flag(sub, context.globals);
  add_examples(sub, {"sluice compare runs/before runs/after",
                     "sluice compare base.json candidate.json --threshold 3%",
                     "sluice compare runs/before runs/after --libraries sluice --transforms "
                     "Resize,Pad",
                     "sluice compare runs/before runs/after --json | jq .verdict"});
}

}  // namespace sluice::cli
