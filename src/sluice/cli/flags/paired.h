// sluice/cli/flags/paired.h - the flags of the paired gate, for every command that runs one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"
#include "sluice/visit/gate/ab.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::cli {

struct RuleFlags {
  std::optional<int> pairs;  // empty: looks at 8, 16 and 32
  std::string tau;           // empty: by metric
  std::string floor = "1%";
  std::string alpha = "0.01";
};
void add_rule_flags(CLI::App& command, RuleFlags& flags);
Result<gate::PairedOptions> paired_options(const RuleFlags& flags, std::uint64_t seed);

struct MetricFlags {
  std::vector<std::string> metrics;  // empty: wall
  std::vector<std::string> also;
  std::string better = "lower";
  std::string timeout = "10min";
  std::string timeout_flag = "--timeout";  // where that means something else: another name
};
void add_metric_flags(CLI::App& command, MetricFlags& flags);
/// Fills metrics, sense and time limit of the plan.
Status apply(const MetricFlags& flags, visit::AbPlan& plan);

/// That of --seed, else another one each time; it is written with the result.
std::uint64_t order_seed(const Globals& globals);

/// Puts the command line that measures these pairs again, in the same order, into report and
/// document; a revision that was named by a branch stands there as its commit.
void add_reproduce(visit::AbResult& result, const Globals& globals, std::uint64_t seed);

}  // namespace sluice::cli
