// sluice/gate/eval_metrics.cpp - the check of an eval.json.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/eval_metrics.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace sluice::gate {
namespace {

bool is_in(const Json& value, double low, double high) {
  if (!value.is_number()) return false;
  const double number = value.get<double>();
  return std::isfinite(number) && number >= low && number <= high;
}

}  // namespace

std::vector<std::string> eval_problems(const Json& eval) {
  if (!eval.is_object()) return {"/: is no object"};
  std::vector<std::string> problems;
  const auto want = [&](const char* key, auto sound) {
    const auto at = eval.find(key);
    if (at == eval.end())
      problems.push_back(fmt::format("/{}: is missing", key));
    else if (!sound(*at))
      problems.push_back(fmt::format("/{}: is {}", key, printable(dump_json(*at, -1))));
  };
  want("schema_version", [](const Json& value) { return value == kEvalSchema; });
  for (const char* key : {"machine_profile", "timestamp"})
    want(key, [](const Json& value) { return value.is_string(); });
  for (const char* key : {"eval_config", "env"})
    want(key, [](const Json& value) { return value.is_object(); });
  want("ppl_fixed_shard",
       [](const Json& value) { return is_in(value, 0, HUGE_VAL) && value.get<double>() > 0; });
  want("task_probe_accuracy", [](const Json& value) { return value.is_object(); });
  const auto probes = eval.find("task_probe_accuracy");
  if (probes == eval.end() || !probes->is_object()) return problems;
  for (const auto& [name, accuracy] : probes->items()) {
    if (!is_in(accuracy, 0, 1))
      problems.push_back(fmt::format("/task_probe_accuracy/{}: is {}, not from 0 to 1",
                                     printable(name), printable(dump_json(accuracy, -1))));
  }
  return problems;
}

}  // namespace sluice::gate
