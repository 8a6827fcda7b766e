// sluice/results/eval_file.cpp - the check of an eval.json.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/results/eval_file.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <cmath>

namespace sluice::results {
namespace {

bool is_in(const Json& value, double low, double high) {
  if (!value.is_number()) return false;
  const double number = value.get<double>();
  return std::isfinite(number) && number >= low && number <= high;
}

bool is_perplexity(const Json& value) {
  return is_in(value, 0, HUGE_VAL) && value.get<double>() > 0;
}

}  // namespace

std::vector<std::string> eval_problems(const Json& eval, Perplexity perplexity) {
  if (!eval.is_object()) return {"/: is no JSON object"};
  std::vector<std::string> problems;
  const auto want = [&](const char* key, const char* accepted, auto sound) {
    const auto at = eval.find(key);
    if (at == eval.end())
      problems.push_back(fmt::format("/{}: is missing", key));
    else if (!sound(*at))
      problems.push_back(
          fmt::format("/{}: is {}, not {}", key, printable(dump_json(*at, -1)), accepted));
  };
  want("schema_version", kEvalSchema, [](const Json& value) { return value == kEvalSchema; });
  for (const char* key : {"machine_profile", "timestamp"})
    want(key, "a text", [](const Json& value) { return value.is_string(); });
  for (const char* key : {"eval_config", "env", "task_probe_accuracy"})
    want(key, "an object", [](const Json& value) { return value.is_object(); });
  const bool may_be_null =
      perplexity == Perplexity::or_reason && eval.contains("ppl_fixed_shard_reason");
  want("ppl_fixed_shard",
       perplexity == Perplexity::required ? "a number above 0"
                                          : "a number above 0, or null with ppl_fixed_shard_reason",
       [&](const Json& value) { return is_perplexity(value) || (value.is_null() && may_be_null); });
  const auto probes = eval.find("task_probe_accuracy");
  if (probes == eval.end() || !probes->is_object()) return problems;
  for (const auto& probe : probes->items()) {
    if (!is_in(probe.value(), 0, 1))
      problems.push_back(fmt::format("/task_probe_accuracy/{}: is {}, not from 0 to 1",
                                     printable(probe.key()),
                                     printable(dump_json(probe.value(), -1))));
  }
  return problems;
}

}  // namespace sluice::results
