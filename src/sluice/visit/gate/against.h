// sluice/visit/gate/against.h - this tree against another revision of it: both built, both run, in
// pairs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/visit/gate/ab.h"

#include <string>

namespace sluice::visit {

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

}  // namespace sluice::visit
