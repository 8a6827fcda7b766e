// sluice/cli/command.h - what a command is: a subcommand with the common flags, and the function it
// runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/visit/caller.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sluice::results {
struct ResultFile;
}
namespace sluice::gate {
enum class GateStatus;
}

namespace sluice::cli {

/// The same everywhere (docs/cli.md lists them).
enum class ExitCode : int {
  done = 0,          // also: pass, improved, warn
  regression = 1,    // or a failed check
  usage = 2,         // bad usage, configuration or input
  inconclusive = 3,  // only with --strict
  no_baseline = 4,
  invalid = 5,  // noise, throttling, failed rows
  timeout = 124,
  interrupted = 130,
};

ExitCode exit_code_of(Errc code);
/// Of a complete run: invalid when a row failed.
ExitCode exit_code_of(const results::ResultFile& file);
/// pass, warn, improved: 0; fail 1; inconclusive 3 with `strict`; skip 4; invalid 5.
ExitCode exit_code_of(gate::GateStatus status, bool strict);

/// The flags that every command takes.
struct Globals : visit::Caller {
  bool json = false;  // one JSON document on stdout, nothing else there
  std::string log_level = "warn";
};

using CommandFunction = std::function<Result<ExitCode>()>;

struct Command {
  CLI::App* app;
  CommandFunction run;
};

/// Lives as long as the program; commands keep references to it.
struct Context {
  Globals globals;
  std::vector<Command> commands;
};

/// Adds a subcommand with the common flags. `run` is called when it was chosen and its arguments
/// were accepted.
CLI::App* add_command(CLI::App& parent, Context& context, const std::string& name,
                      const std::string& description, CommandFunction run);

/// Adds `examples` (one command line each) to the end of the help of `command`.
void add_examples(CLI::App& command, const std::vector<std::string>& examples);

/// A percentage on the command line: "5%" or "0.05"; in [0, 1].
Result<double> parse_fraction(const std::string& text, const std::string& flag);

}  // namespace sluice::cli
