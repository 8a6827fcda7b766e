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
#include <memory>
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
  bool json = false;   // one JSON document on stdout, nothing else there
  bool force = false;  // of commands with add_force_flag(): overwrite what is not ours
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

/// The same for a command with flags of its own, which live as long as it does: `run` gets them
/// when it was chosen.
template <class Flags>
struct AddedCommand {
  CLI::App& app;
  Flags& flags;
};
template <class Flags>
AddedCommand<Flags> add_command(CLI::App& parent, Context& context, const std::string& name,
                                const std::string& description,
                                Result<ExitCode> (*run)(Context&, const Flags&)) {
  const auto flags = std::make_shared<Flags>();
  CLI::App* app = add_command(parent, context, name, description,
                              [flags, &context, run] { return run(context, *flags); });
  return {*app, *flags};
}
template <class Flags>
AddedCommand<Flags> add_command(CLI::App& parent, Context& context, const std::string& name,
                                const std::string& description,
                                Result<ExitCode> (*run)(const Flags&, const Globals&)) {
  const auto flags = std::make_shared<Flags>();
  CLI::App* app = add_command(parent, context, name, description,
                              [flags, &context, run] { return run(*flags, context.globals); });
  return {*app, *flags};
}

/// Adds a command that only holds others.
CLI::App* add_family(CLI::App& root, const std::string& name, const std::string& description);

/// Heading of the flags that every command has: the last one of the help.
constexpr const char* kEveryCommand = "Every command";
/// Flags that are added to `command` from here on stand under `heading` in its help.
void begin_group(CLI::App& command, const std::string& heading);
/// For a command with many flags: --help shows these and leaves the rest to --help-all.
void show_first(CLI::App& command, std::vector<std::string> flags);

/// A flag with a number from `low` to `high`; what `value` holds is the default.
template <class Value, class Bound>
CLI::Option* add_number(CLI::App& command, const std::string& name, Value& value, Bound low,
                        Bound high, const std::string& text) {
  return command.add_option(name, value, text)->check(CLI::Range(low, high))->capture_default_str();
}
/// A flag with one of `choices`.
template <class Value>
void add_choice(CLI::App& command, const std::string& name, Value& value,
                const std::vector<std::string>& choices, const std::string& text) {
  command.add_option(name, value, text)->check(CLI::IsMember(choices))->capture_default_str();
}
/// A flag or positional whose value is called `type` in the help: "DIR", "{lower,higher}".
template <class Value>
CLI::Option* add_value(CLI::App& command, const std::string& name, Value& value,
                       const std::string& type, const std::string& text) {
  return command.add_option(name, value, text)->type_name(type);
}

/// Adds `examples` (one command line each) to the end of the help of `command`.
void add_examples(CLI::App& command, const std::vector<std::string>& examples);

/// A percentage on the command line: "5%" or "0.05"; in [0, 1].
Result<double> parse_fraction(const std::string& text, const std::string& flag);

}  // namespace sluice::cli
