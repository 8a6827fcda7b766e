// sluice/cli/judge/validate.cpp - `sluice validate`: are these result files sound?
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/validate.h"

#include "sluice/cli/commands.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/print.h"
#include "sluice/core/file.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace sluice::cli {
namespace {

std::string text_of(const analysis::Validation& validation) {
  std::string out;
  std::size_t unsound = 0;
  for (const auto& file : validation.files) {
    const char* word = !file.readable ? "unreadable" : file.issues.empty() ? "sound" : "unsound";
    unsound += file.issues.empty() ? 0 : 1;
    out += fmt::format("{:<10}  {}  ({} row{})\n", word, printable(file.path), file.rows,
                       file.rows == 1 ? "" : "s");
    for (const auto& issue : file.issues)
      out += "  issue: " + printable(issue) + "\n";
    for (const auto& warning : file.warnings)
      out += "  warning: " + printable(warning) + "\n";
  }
  return out + fmt::format("{} of {} files sound\n", validation.files.size() - unsound,
                           validation.files.size());
}

Result<ExitCode> run_validate(const std::vector<std::string>& inputs, const Globals& globals) {
  const auto validation = analysis::validate_paths({inputs.begin(), inputs.end()});
  const std::string json = dump_json(analysis::to_json(validation)) + "\n";
  if (!globals.out.empty())
    SLUICE_CHECK(write_output(globals, globals.out / "validation.json", json));
  const std::string text = globals.json ? json : text_of(validation);
  print_text(text);
  if (!validation.readable()) return ExitCode::usage;
  return validation.sound() ? ExitCode::done : ExitCode::regression;
}

}  // namespace

void add_validate(CLI::App& root, Context& context) {
  auto [sub, inputs] = add_command<std::vector<std::string>>(
      root, context, "validate",
      "Check that result files are sound; exit 1 when one is not, 2 when one cannot be read",
      run_validate);
  sub.add_option("paths", inputs, "result files or run folders")->required()->type_name("DIR|FILE");
  add_force_flag(sub, context.globals);
  add_examples(sub, {"sluice validate runs/20260131T120000Z-rgb-cpu",
                     "sluice validate R/results/image-rgb/micro/pillow_micro_results.json --json"});
}

}  // namespace sluice::cli
