// sluice/peers/auditor.h - runs the libraries on the same pictures and finds out who agrees.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/measure/runner.h"
#include "sluice/peers/crew.h"
#include "sluice/peers/semantics.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace sluice::peers {

struct AuditOptions {
  std::vector<Member> members;
  std::vector<CrewCase> cases;  // params["transform"] is the key of the answer
  measure::Load load;
  std::vector<Picture> inputs;  // what the first items of `load` hold
  int draws = 16;               // outputs per input
  std::uint64_t seed = 0;
  std::filesystem::path folder;  // for sample files; must exist
  double timeout_s = 600;
};

/// {transform: who agrees}. A library that cannot be started, lacks a transform or fails in it is
/// left out of that agreement (logged); the protocol's answers are not trusted: sizes are checked.
Result<std::map<std::string, Agreement>> run_audit(const AuditOptions& options,
                                                   const measure::RunnerContext& context);

/// The pictures of a sample file, `shapes` being the worker's answer.
Result<std::vector<Picture>> read_samples(const std::filesystem::path& file, const Json& shapes,
                                          std::size_t expected);

}  // namespace sluice::peers
