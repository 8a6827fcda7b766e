// sluice/cli/flags/session.h - the flags that measuring commands share, and what they show.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"
#include "sluice/cli/flags/sampling.h"
#include "sluice/visit/session.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::cli {

/// The flags that every measuring command shares.
struct SessionFlags : SamplingFlags {
  std::filesystem::path data_dir;
  int images = 64;
  int runs = 5;
  int samples = 2;
  std::string cpus;
  std::vector<std::string> peers;
};
void add_session_flags(CLI::App& command, SessionFlags& flags);
/// Checks the flags against each other and this machine.
Result<visit::SessionPlan> make_plan(const SessionFlags& flags, const Globals& globals,
                                     const std::string& name);

/// Prints the table (or the result file, with --json) and says where the report is. `brief`: rows
/// beside other libraries stand in their comparison only, and a diagnosis in the report.
Result<ExitCode> show_session(const Context& context, const visit::Visited& session,
                              bool brief = false);

}  // namespace sluice::cli
