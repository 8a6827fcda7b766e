// sluice/cli/flags/watch.cpp - a watched program, from words to a plan and back.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/flags/watch.h"

#include "sluice/core/process/process.h"
#include "sluice/core/text.h"
#include "sluice/peers/places.h"
#include "sluice/peers/timed_command.h"

#include <fmt/format.h>

namespace sluice::cli {

void add_watched_program(CLI::App& command, visit::WatchPlan& plan, const std::string& when) {
  add_value(command, "command", plan.command, "CMD", when + "program and its arguments, after --");
  command
      .add_option("--samples-per-step", plan.samples_per_step,
                  when + "samples in a step where its marks do not tell; 0: steps are counted")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option("--tokens-per-step", plan.tokens_per_step,
                  when + "tokens in a step where its marks do not tell; 0: as many as samples")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--name", plan.name, when + "name of the row, which becomes watch/NAME")
      ->capture_default_str();
}

Result<visit::WatchPlan> checked_watch_plan(visit::WatchPlan plan, const std::string& usage) {
  if (plan.command.empty())
    return Error{Errc::usage, fmt::format("no program; give it after --: {}", usage)};
  if (plan.name.empty() || plan.name.find_first_of("/\n") != std::string::npos)
    return Error{Errc::usage,
                 fmt::format("--name '{}': must be a name without slashes", printable(plan.name))};
  SLUICE_TRY(const peers::Places places, peers::find_places());
  SLUICE_TRY(plan.command.front(), find_command(plan.command.front(), places.search_path));
  return plan;
}

Result<std::string> watch_command(const visit::WatchPlan& plan) {
  SLUICE_TRY(const peers::Places places, peers::find_places());
  std::string text = fmt::format(
      "{} watch --quiet --warmup {} --steps {} --runs {} --limit {} --samples-per-step {} "
      "--tokens-per-step {} --name {}",
      peers::shell_quoted(places.program.string()), plan.warmup, plan.steps, plan.runs,
      plan.limit_s, plan.samples_per_step, plan.tokens_per_step, peers::shell_quoted(plan.name));
  if (plan.gpu_index >= 0) text += fmt::format(" --gpu cuda:{}", plan.gpu_index);
  text += " --out {out} --";
  for (const std::string& word : plan.command)
    text += " " + peers::shell_quoted(word);
  return text;
}

}  // namespace sluice::cli
