// sluice/eval/eval_json.cpp - eval.json: written from a result, and checked.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/eval/eval.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::eval {

int ProbeOutcome::correct() const {
  return static_cast<int>(std::count_if(answers.begin(), answers.end(),
                                        [](const ProbeAnswer& answer) { return answer.correct; }));
}

double ProbeOutcome::accuracy() const {
  return answers.empty() ? 0.0
                         : static_cast<double>(correct()) / static_cast<double>(answers.size());
}

namespace {

Json config_json(const EvalResult& result) {
  const EvalConfig& config = result.config;
  return Json{{"fixed_shard_path", result.shard_name},
              {"fixed_shard_sha256", result.shard_sha256},
              {"max_length", config.max_length ? Json(*config.max_length) : Json(nullptr)},
              {"stride", config.stride ? Json(*config.stride) : Json(nullptr)},
              {"probes", config.probes},
              {"temperature", config.temperature},
              {"seed", config.seed},
              {"max_new_tokens", config.max_new_tokens}};
}

Json answers_json(const ProbeOutcome& outcome) {
  Json out = Json::array();
  for (const ProbeAnswer& answer : outcome.answers) {
    Json one{{"prompt", answer.prompt},
             {"response", to_utf8(answer.response)},
             {"correct", answer.correct}};
    if (!answer.error.empty()) one["error"] = answer.error;
    out.push_back(std::move(one));
  }
  return out;
}

bool is_fraction(const Json& value) {
  return value.is_number() && value.get<double>() >= 0 && value.get<double>() <= 1;
}

void check_perplexity(const Json& eval, std::vector<std::string>& problems) {
  const auto found = eval.find("ppl_fixed_shard");
  if (found == eval.end()) return;
  if (found->is_null()) {
    if (!eval.contains("ppl_fixed_shard_reason"))
      problems.emplace_back("/ppl_fixed_shard: is null without ppl_fixed_shard_reason");
    return;
  }
  if (!found->is_number() || !std::isfinite(found->get<double>()) || found->get<double>() <= 0)
    problems.emplace_back("/ppl_fixed_shard: is no finite number above 0");
}

}  // namespace

Json eval_json(const EvalResult& result, const EvalFacts& facts) {
  Json json{{"schema_version", kEvalSchema},
            {"machine_profile", facts.machine_profile},
            {"timestamp", facts.timestamp}};
  json["ppl_fixed_shard"] = result.ppl_fixed_shard ? Json(*result.ppl_fixed_shard) : Json(nullptr);
  if (!result.ppl_fixed_shard) json["ppl_fixed_shard_reason"] = result.no_ppl;
  json["task_probe_accuracy"] = Json::object();
  for (const ProbeOutcome& probe : result.probes)
    json["task_probe_accuracy"][probe.name] = probe.accuracy();
  json["eval_config"] = config_json(result);
  json["model"] = result.model;
  json["shard_tokens"] = result.shard_tokens > 0 ? Json(result.shard_tokens) : Json(nullptr);
  json["probes"] = Json::object();
  for (const ProbeOutcome& probe : result.probes) {
    json["probes"][probe.name] = {{"sha256", probe.sha256},
                                  {"correct", probe.correct()},
                                  {"items", probe.answers.size()},
                                  {"answers", answers_json(probe)}};
  }
  json["env"] = facts.env;
  return json;
}

std::vector<std::string> eval_problems(const Json& eval) {
  using Type = Json::value_t;
  struct Key {
    const char* name;
    Type type;  // null: any
  };
  static constexpr Key kKeys[] = {
      {"schema_version", Type::string}, {"machine_profile", Type::string},
      {"ppl_fixed_shard", Type::null},  {"task_probe_accuracy", Type::object},
      {"eval_config", Type::object},    {"env", Type::object},
      {"timestamp", Type::string}};
  if (!eval.is_object()) return {"/: is no JSON object"};
  std::vector<std::string> problems;
  for (const Key& key : kKeys) {
    const auto found = eval.find(key.name);
    if (found == eval.end()) {
      problems.push_back(fmt::format("/{}: is missing", key.name));
    } else if (key.type != Type::null && found->type() != key.type) {
      problems.push_back(fmt::format("/{}: is {}", key.name, found->type_name()));
    }
  }
  check_perplexity(eval, problems);
  if (!problems.empty()) return problems;
  if (eval["schema_version"] != kEvalSchema)
    problems.push_back(fmt::format("/schema_version: expected {}", kEvalSchema));
  for (const auto& item : eval["task_probe_accuracy"].items()) {
    if (!is_fraction(item.value())) {
      problems.push_back(fmt::format("/task_probe_accuracy/{}: is {}; 0 to 1 is accepted",
                                     printable(item.key()),
                                     printable(dump_json(item.value(), -1))));
    }
  }
  return problems;
}

}  // namespace sluice::eval
