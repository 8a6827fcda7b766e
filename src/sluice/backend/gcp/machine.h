// sluice/backend/gcp/machine.h - a configuration as one machine: the one place where its instance,
// its script and its job file are put together. The dry run shows what this makes, a run executes
// it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/backend/gcp/calls.h"
#include "sluice/backend/gcp/waves.h"
#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/plan/jobs.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::backend::gcp {

/// A configuration that is to be measured, with the folder of its results.
struct Task {
  std::string name;  // unique in a visit: the configuration's file name
  plan::Plan plan;
  std::filesystem::path folder;  // relative to the visit's; empty: that itself
};

/// What all machines of a visit share.
struct VisitFacts {
  std::string session;  // 32 digits
  bool attached = true;
  std::string bundle_digest;  // names the folder of the program's archives
  int bundles = 1;
  std::vector<std::string> run_flags;  // of `sluice run` on the machine
  std::vector<std::string> argv;       // as typed, for the record
  std::int64_t now = 0;                // Unix seconds
};

struct Machine {
  std::string run_id, prefix, bundle_prefix;
  InstanceSpec spec;                // in the first zone
  std::string script, job, config;  // texts of the files that it is given
  std::int64_t timeout_s = 0, expires = 0;
};

/// Checks what the cloud section says against the machine plan, and what must be safe in names.
Result<Wanted> wanted_machine(const Task& task);

/// `resume`: finished rows are given along.
Result<Machine> make_machine(const Task& task, const VisitFacts& facts, const std::string& run_id,
                             bool resume);

/// The calls of one attached or detached machine, in order, as a dry run shows them. `stage` and
/// `pulled` are folders of this machine.
std::vector<Call> calls_of(const Machine& machine, bool attached,
                           const std::filesystem::path& stage, const std::filesystem::path& pulled);

}  // namespace sluice::backend::gcp
