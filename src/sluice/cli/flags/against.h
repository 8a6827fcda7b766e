// sluice/cli/flags/against.h - `sluice gate --against`: its flags, and the command.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/flags/paired.h"

#include <string>

namespace sluice::cli {

/// As flags of `gate`.
struct AgainstFlags {
  std::string revision;  // empty: not asked for
  std::string build = "make build";
  std::string command;  // empty: the built-in subject, a training step of gpt-tiny
  bool allow_dirty = false;
  bool force = false;  // overwrite what is not ours
  RuleFlags rule;
  MetricFlags metrics;
};
void add_against_flags(CLI::App& command, AgainstFlags& flags);
/// Prints the verdict; with --out also verdict.json, gate_report.txt and what CI reads.
Result<ExitCode> gate_against(Context& context, const AgainstFlags& flags, bool strict);

}  // namespace sluice::cli
