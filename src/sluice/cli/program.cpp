// sluice/cli/program.cpp - parse, set up log and progress, run, report the error: the main path in
// one screen.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/program.h"

#include "sluice/cli/commands.h"
#include "sluice/cli/flags/world.h"
#include "sluice/cli/help.h"
#include "sluice/cli/print.h"
#include "sluice/core/log.h"
#include "sluice/core/secrets.h"
#include "sluice/core/text.h"
#include "sluice/core/version.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <thread>

namespace sluice::cli {
namespace {

/// Names of the subcommands of `app`, or its long flags.
std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands(nullptr)) {
    if (!sub->get_group().empty()) names.push_back(sub->get_name());
  }
  return names;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames())
      names.push_back("--" + name);
  }
  return names;
}

/// The deepest subcommand that was parsed.
const CLI::App& chosen(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty())
    app = app->get_subcommands().front();
  return *app;
}

/// The three flags that are spelt most like `word`, of which only the start is looked at.
std::vector<std::string> nearest_flags(const std::string& word, std::vector<std::string> flags) {
  const std::string start = word.substr(0, 40);
  std::ranges::stable_sort(flags, {},
                           [&](const std::string& flag) { return edit_distance(start, flag); });
  flags.resize(std::min<std::size_t>(flags.size(), 3));
  return flags;
}

std::string unknown_word_message(const CLI::App& app, const std::string& prefix,
                                 const std::string& word) {
  if (word.rfind("-", 0) == 0) {
    const std::string flag = word.substr(0, word.find('='));
    const std::vector<std::string> flags = flag_names(app);
    const auto near = nearest(flag, flags);
    const std::string hint =
        near ? fmt::format("did you mean '{}'? See", *near)
             : fmt::format("the nearest are {}; see", join(nearest_flags(flag, flags)));
    return fmt::format("{}unknown flag '{}'; {} --help", prefix, printable(flag), hint);
  }
  const auto names = subcommand_names(app);
  if (names.empty()) return fmt::format("{}unexpected argument '{}'", prefix, printable(word));
  const auto near = nearest(word, names);
  return fmt::format("{}unknown command '{}'; {}", prefix, printable(word),
                     near ? fmt::format("did you mean '{}'?", *near) : "accepted: " + join(names));
}

/// "data make" for what was chosen; empty at the root.
std::string command_path(const CLI::App& root) {
  std::string path;
  for (const CLI::App* app = &root; !app->get_subcommands().empty();) {
    app = app->get_subcommands().front();
    path += (path.empty() ? "" : " ") + app->get_name();
  }
  return path;
}

/// CLI11's complaint as one line that names the offender and what would be accepted.
std::string usage_message(const CLI::App& root, const CLI::ParseError& problem) {
  const CLI::App& app = chosen(root);
  const std::string prefix = command_path(root).empty() ? "" : command_path(root) + ": ";
  // What nobody took is the likelier mistake than what is missing because of it.
  std::vector<std::string> unknown = app.remaining();
  std::erase(unknown, "--");  // only says that no flags follow
  if (!unknown.empty()) return unknown_word_message(app, prefix, unknown.front());
  if (dynamic_cast<const CLI::RequiredError*>(&problem) != nullptr &&
      !subcommand_names(app).empty()) {
    return fmt::format("{}a command is missing; accepted: {}", prefix, join(subcommand_names(app)));
  }
  return prefix + printable(problem.what());
}

/// Whether this is one of the ranks of mpirun or srun, but not the first.
bool is_other_rank() {
  const auto launched = train::find_rank();
  return launched && is_launched(*launched) && launched->rank > 0;
}

/// Commands that several ranks may run at the same time; of others there would be N copies.
constexpr std::array kOnRanks{
    "train",           "learn-model", "bench training", "benchmark-training",
    "bench allreduce", "worker",      "slice",          "data stage"};

Status check_ranks(const std::string& path) {
  const auto launched = train::find_rank();
  if (!launched || !is_launched(*launched)) return ok;
  if (std::find(kOnRanks.begin(), kOnRanks.end(), path) != kOnRanks.end()) return ok;
  return usage_error(fmt::format(
      "{}: {} started {} of it, and it runs in one process; train, bench training and data stage "
      "know ranks",
      path, to_string(launched->launcher), launched->size));
}

int fail(const Error& error) {
  fmt::print(stderr, "sluice: {}\n", without_passwords(error.message));
  return static_cast<int>(exit_code_of(error.code));
}

/// What stops one rank stops all, and rank 0 says so and ends, by which the launcher ends the rest.
/// A rank that is still here then is alone with its error.
int fail_after_rank_0(const Error& error) {
  if (is_other_rank()) {
    std::signal(SIGTERM, [](int) { std::_Exit(static_cast<int>(ExitCode::usage)); });
    std::this_thread::sleep_for(std::chrono::seconds(3));
  }
  return fail(error);
}

int run_chosen(const CLI::App& root, Context& context) {
  auto level = log::parse_level(context.globals.log_level);
  if (!level) return fail({Errc::usage, fmt::format("--log-level {}", level.error().message)});
  log::set_level(*level);
  Progress progress(Progress::for_stderr(context.globals.quiet));
  context.globals.progress = &progress;
  const CLI::App& app = chosen(root);
  context.globals.seed_given = app.count("--seed") > 0;
  if (const Status alone = check_ranks(command_path(root)); !alone)
    return fail_after_rank_0(alone.error());
  for (const Command& command : context.commands) {
    if (command.app != &app) continue;
    auto code = command.run();
    // What one rank finds wrong with others it says at once.
    if (!code && code.error().code == Errc::measurement) return fail(code.error());
    if (!code) return fail_after_rank_0(code.error());
    if (const Status arrived = finish_stdout(); !arrived) return fail(arrived.error());
    return static_cast<int>(*code);
  }
  return fail({Errc::internal, fmt::format("command '{}' has no function", app.get_name())});
}

}  // namespace

std::unique_ptr<CLI::App> make_app(Context& context) {
  auto app = std::make_unique<CLI::App>(
      "Measures how fast data reaches a model and how fast the model trains on it.", "sluice");
  app->group("Commands");  // heading of the commands within a command
  begin_group(*app, kEveryCommand);
  app->set_help_flag("-h,--help", "show this help");
  app->set_help_all_flag("--help-all", "show every flag");
  begin_group(*app, "Flags");
  app->set_version_flag("--version", "sluice " + version::text(), "show the version");
  app->formatter(help_format());
  app->require_subcommand(1);
  app->failure_message(CLI::FailureMessage::simple);
  add_all_commands(*app, context);
  app->footer(
      "Start with `sluice quick`. Each command has its own --help with examples.\n"
      "Exit codes: 0 done, 1 regression, 2 bad usage or input, 3 inconclusive with --strict,\n"
      "4 no baseline, 5 measurement invalid, 124 timed out, 130 interrupted.");
  return app;
}

int run_program(int argc, char** argv) {
  hold_stdout();
  try {
    Context context;
    context.globals.argv.assign(argv, argv + argc);
    const auto app = make_app(context);
    try {
      app->parse(argc, argv);
    } catch (const CLI::Success& success) {  // --help, --version
      std::ostringstream text;
      app->exit(success, text, text);
      print_text(text.str());
      const Status arrived = finish_stdout();
      return arrived ? 0 : fail(arrived.error());
    } catch (const CLI::ParseError& problem) {
      return fail_after_rank_0({Errc::usage, usage_message(*app, problem)});
    }
    return run_chosen(*app, context);
  } catch (const std::exception& problem) {
    return fail({Errc::internal, fmt::format("internal error: {}", problem.what())});
  }
}

}  // namespace sluice::cli
