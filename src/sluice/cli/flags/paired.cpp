// sluice/cli/flags/paired.cpp - pairs, levels and metrics from the command line.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/flags/paired.h"

#include "sluice/config/units.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string_view>

namespace sluice::cli {

void add_rule_flags(CLI::App& command, RuleFlags& flags) {
  add_value(command, "--pairs", flags.pairs, "N",
            "judge once, after exactly this many pairs; default: after 8, 16 and 32")
      ->check(CLI::Range(2, 10'000));
  add_value(command, "--tau", flags.tau, "SHARE",
            "drop in speed that PASS rules out (default 3%, loader rows 5%, storage rows 10%)");
  add_value(command, "--floor", flags.floor, "SHARE", "smallest change worth acting on")
      ->capture_default_str();
  add_value(command, "--alpha", flags.alpha, "SHARE", "chance of a false FAIL, and of a false PASS")
      ->capture_default_str();
}

Result<gate::PairedOptions> paired_options(const RuleFlags& flags, std::uint64_t seed) {
  gate::PairedOptions options;
  if (flags.pairs) options.looks = gate::single_look(*flags.pairs);
  if (!flags.tau.empty()) {
    SLUICE_TRY(options.tau, parse_fraction(flags.tau, "--tau"));
  }
  SLUICE_TRY(options.floor, parse_fraction(flags.floor, "--floor"));
  SLUICE_TRY(options.alpha, parse_fraction(flags.alpha, "--alpha"));
  options.seed = seed;
  SLUICE_CHECK(gate::check_options(options));
  return options;
}

void add_metric_flags(CLI::App& command, MetricFlags& flags) {
  add_value(command, "--metric", flags.metrics, "METRIC",
            "what to compare: wall (default), cpu (user and system time), stdout (the number "
            "printed last), or a CASE or LIBRARY:CASE of the result file written to {out}; may be "
            "repeated");
  add_value(command, "--also", flags.also, "METRIC",
            "metric to show without letting it decide; may be repeated");
  add_choice(command, "--better", flags.better, {"lower", "higher"},
             "whether a lower or a higher printed number is better");
  add_value(command, flags.timeout_flag, flags.timeout, "TIME",
            "time limit of one run of a command")
      ->capture_default_str();
}

Status apply(const MetricFlags& flags, visit::AbPlan& plan) {
  std::vector<std::string> seen;
  const auto add = [&](const std::string& name, bool blocking) -> Status {
    if (name.empty())
      return Error{Errc::usage, "--metric: empty; expected wall, cpu, stdout or the name of a row"};
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      return Error{Errc::usage, fmt::format("--metric {}: named twice", printable(name))};
    seen.push_back(name);
    plan.metrics.push_back({name, blocking});
    return ok;
  };
  for (const std::string& name : flags.metrics)
    SLUICE_CHECK(add(name, true));
  if (flags.metrics.empty()) SLUICE_CHECK(add(visit::kWallMetric, true));
  for (const std::string& name : flags.also)
    SLUICE_CHECK(add(name, false));
  plan.stdout_better = flags.better == "higher" ? measure::Better::higher : measure::Better::lower;
  const auto limit = config::parse_seconds(flags.timeout);
  if (!limit || *limit <= 0)
    return Error{Errc::usage, fmt::format("{} {}: expected a time above 0, such as 30s or 5min",
                                          flags.timeout_flag, printable(flags.timeout))};
  plan.timeout_s = *limit;
  return ok;
}

void add_reproduce(visit::AbResult& result, const Globals& globals, std::uint64_t seed) {
  constexpr std::string_view kAgainst = "--against";
  std::vector<std::string> argv = globals.argv;
  const std::string sha = string_at(at(result.document, "against"), "sha");
  for (std::size_t i = 0; i < argv.size() && !sha.empty(); ++i) {
    if (argv[i] == kAgainst && i + 1 < argv.size()) argv[i + 1] = sha;
    if (argv[i].starts_with(std::string(kAgainst) + "="))
      argv[i] = fmt::format("{}={}", kAgainst, sha);
  }
  if (!globals.seed_given)  // what stands behind -- is a program's
    argv.insert(std::ranges::find(argv, "--"), {"--seed", std::to_string(seed)});
  result.report.reproduce = report::shell_command(argv);
  result.document["reproduce"] = result.report.reproduce;
}

std::uint64_t order_seed(const Globals& globals) {
  return globals.seed_given ? globals.seed : std::random_device{}();
}

}  // namespace sluice::cli
