// sluice/cli/command.cpp - the common flags, and the mapping from errors to exit codes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/command.h"

#include "sluice/cli/help.h"
#include "sluice/config/units.h"
#include "sluice/core/text.h"
#include "sluice/gate/gate_report.h"
#include "sluice/results/result_file.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::cli {
namespace {

CLI::App* add_described(CLI::App& parent, const std::string& name, const std::string& description) {
  CLI::App* app = parent.add_subcommand(name, description);
  for (const char* flag : {"--help", "--help-all"})
    if (CLI::Option* help = app->get_option_no_throw(flag)) help->group(kEveryCommand);
  return app;
}

}  // namespace

ExitCode exit_code_of(Errc code) {
  switch (code) {
    case Errc::usage:
    case Errc::invalid_config:
    case Errc::invalid_input:
    case Errc::not_found:
    case Errc::io:
    case Errc::unsupported:
      return ExitCode::usage;
    case Errc::measurement:
    case Errc::internal:
      return ExitCode::invalid;
    case Errc::timeout:
      return ExitCode::timeout;
    case Errc::interrupted:
      return ExitCode::interrupted;
  }
  return ExitCode::invalid;
}

ExitCode exit_code_of(const results::ResultFile& file) {
  return results::has_failed_row(file) ? ExitCode::invalid : ExitCode::done;
}

CLI::App* add_family(CLI::App& root, const std::string& name, const std::string& description) {
  CLI::App* app = add_described(root, name, description);
  app->require_subcommand(1);
  return app;
}

CLI::App* add_command(CLI::App& parent, Context& context, const std::string& name,
                      const std::string& description, CommandFunction run) {
  CLI::App* app = add_described(parent, name, description);
  Globals& globals = context.globals;
  begin_group(*app, kEveryCommand);
  app->add_flag("--json", globals.json, "print one JSON document on stdout and nothing else");
  add_value(*app, "--out,--output", globals.out, "DIR", "folder to write to");
  app->add_option("--seed", globals.seed, "seed of all random numbers")->capture_default_str();
  app->add_flag("--quiet", globals.quiet, "show no progress on stderr");
  add_value(*app, "--log-level", globals.log_level, "{debug,info,warn,error,off}",
            "least severe level that is logged")
      ->envname("SLUICE_LOG_LEVEL")
      ->capture_default_str();
  begin_group(*app, "Flags");
  context.commands.push_back(Command{app, std::move(run)});
  return app;
}

void begin_group(CLI::App& command, const std::string& heading) {
  command.option_defaults()->group(heading);
}

void show_first(CLI::App& command, std::vector<std::string> flags) {
  command.formatter(help_format(std::move(flags)));
}

void add_examples(CLI::App& command, const std::vector<std::string>& examples) {
  std::string footer = "Examples:";
  for (const std::string& example : examples)
    footer += "\n  " + example;
  command.footer(footer);
}

Result<double> parse_fraction(const std::string& text, const std::string& flag) {
  const auto share = config::parse_share(text);
  if (share && *share >= 0 && *share <= 1) return *share;
  return Error{Errc::usage,
               fmt::format("{} {}: expected a share such as 5% or 0.05, between 0 and 1", flag,
                           printable(text))};
}

ExitCode exit_code_of(gate::GateStatus status, bool strict) {
  switch (status) {
    case gate::GateStatus::pass:
    case gate::GateStatus::improved:
    case gate::GateStatus::warn:
      return ExitCode::done;
    case gate::GateStatus::inconclusive:
      return strict ? ExitCode::inconclusive : ExitCode::done;
    case gate::GateStatus::skip:
      return ExitCode::no_baseline;
    case gate::GateStatus::fail:
      return ExitCode::regression;
    case gate::GateStatus::invalid:
      return ExitCode::invalid;
  }
  return ExitCode::invalid;
}

}  // namespace sluice::cli
