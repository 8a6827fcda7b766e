// sluice/cli/judge/coverage.cpp - `sluice coverage`: is every row there that the run, or the paper,
// needs?
// SPDX-License-Identifier: Apache-2.0
#include "sluice/publish/coverage.h"

#include "sluice/cli/commands.h"
#include "sluice/cli/expected_tables.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/print.h"
#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/plan/run_config.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

struct CoverageArgs {
  std::vector<std::string> folders;
  std::string profile;
  bool require_optional = false;
};

/// Each folder against the configuration that it was measured with.
Result<publish::Coverage> cover_runs(const CoverageArgs& args) {
  publish::Coverage out;
  for (const fs::path folder : args.folders) {
    const fs::path config_path = folder / "resolved_config.yaml";
    std::error_code code;
    if (!fs::exists(config_path, code)) {
      return Error{Errc::not_found,
                   fmt::format("{}: no such file; coverage needs the folder of a run, or --profile "
                               "full-paper or ram-reduced",
                               printable(config_path.string()))};
    }
    SLUICE_TRY(const plan::RunConfig config, plan::load_run_config(config_path, {}));
    SLUICE_TRY(const plan::Plan plan, plan::make_plan(config));
    SLUICE_TRY(auto own, publish::cover(tables_of_plan(plan), {folder}, args.require_optional));
    const std::string prefix = args.folders.size() > 1 ? folder.string() + ": " : "";
    for (auto& table : own.tables) {
      table.name.insert(0, prefix);
      out.tables.push_back(std::move(table));
    }
    for (auto& row : own.missing) {
      row.table.insert(0, prefix);
      out.missing.push_back(std::move(row));
    }
  }
  return out;
}

Result<publish::Coverage> cover_profile(const CoverageArgs& args) {
  SLUICE_TRY(const auto tables,
             tables_of_profile(args.profile == "ram-reduced" ? Profile::ram_reduced
                                                             : Profile::full_paper));
  return publish::cover(tables, {args.folders.begin(), args.folders.end()}, args.require_optional);
}

std::string text_of(const publish::Coverage& coverage) {
  std::string out;
  for (const auto& table : coverage.tables) {
    const std::string runs = table.runs
                                 ? fmt::format("  {} of {} run{}", *table.runs, table.runs_expected,
                                               table.runs_expected == 1 ? "" : "s")
                                 : "";
    out += fmt::format("{:>4} of {:<4} {}{}{}\n", table.present, table.expected,
                       printable(table.name), runs, table.optional ? "  (optional)" : "");
  }
  for (const auto& row : coverage.missing) {
    const std::string which =
        row.case_name.empty()
            ? ""
            : fmt::format("{} in {}: ", printable(row.case_name), printable(row.library));
    out += fmt::format("missing: {}: {}{}\n", printable(row.table), which, printable(row.reason));
  }
  out += fmt::format("{}: {} of {} rows\n", coverage.complete() ? "complete" : "incomplete",
                     coverage.present(), coverage.expected());
  return out;
}

Result<ExitCode> run_coverage(const CoverageArgs& args, const Globals& globals) {
  SLUICE_TRY(const publish::Coverage coverage,
             args.profile.empty() ? cover_runs(args) : cover_profile(args));
  const std::string json = dump_json(publish::to_json(coverage)) + "\n";
  if (!globals.out.empty())
    SLUICE_CHECK(write_output(globals, globals.out / "coverage.json", json));
  const std::string text = globals.json ? json : text_of(coverage);
  print_text(text);
  return coverage.complete() ? ExitCode::done : ExitCode::regression;
}

}  // namespace

void add_coverage(CLI::App& root, Context& context) {
  auto [sub, args] =
      add_command<CoverageArgs>(root, context, "coverage",
                                "Check that all rows of a run, or of the paper, are there; exit 1 "
                                "when some are missing",
                                run_coverage);
  sub.add_option("folders", args.folders, "run folders")->required()->type_name("DIR");
  sub.add_option(
         "--profile", args.profile,
         "check against the paper's tables instead of the resolved_config.yaml of each folder")
      ->check(CLI::IsMember({"full-paper", "ram-reduced"}));
  sub.add_flag("--require-optional-libraries", args.require_optional,
               "also require the libraries that a table is complete without");
  add_force_flag(sub, context.globals);
  add_examples(sub, {"sluice coverage runs/20260131T120000Z-rgb-cpu",
                     "sluice coverage published/c4 --profile full-paper --json"});
}

}  // namespace sluice::cli
