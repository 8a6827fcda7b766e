// sluice/cli/against.h - this tree against another revision of it: both built, both run, in pairs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/paired_flags.h"

#include <string>

namespace sluice::cli {

struct AgainstPlan {
  std::string revision;              // a commit, branch or tag: the baseline
  std::string build = "make build";  // in both trees, for the shell; empty: nothing is built
  std::string command;               // in both trees, as AbSide::command
  double build_timeout_s = 3600;
  bool allow_dirty = false;  // judge uncommitted changes too
  /// Metrics, rule, time limit and seed; `a` and `b` are filled here.
  AbPlan ab;
};

/// Checks the revision out into a work tree under the temporary folder, which is removed whatever
/// happens. Errc::usage: no git, no repository, an unknown revision, uncommitted changes;
/// Errc::invalid_input: a tree that does not build.
Result<AbResult> run_against(const AgainstPlan& plan, const AbContext& context);

/// As flags of `gate`.
struct AgainstFlags {
  std::string revision;  // empty: not asked for
  std::string build = "make build";
  std::string command;  // empty: the built-in subject, a training step of gpt-tiny
  bool allow_dirty = false;
  RuleFlags rule;
  MetricFlags metrics;
};
void add_against_flags(CLI::App& command, AgainstFlags& flags);
/// Prints the verdict; with --out also verdict.json, gate_report.txt and what CI reads.
Result<ExitCode> gate_against(Context& context, const AgainstFlags& flags, bool strict);

}  // namespace sluice::cli
