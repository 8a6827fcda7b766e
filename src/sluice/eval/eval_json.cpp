// sluice/eval/eval_json.cpp - eval.json: written from a result.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/eval/eval.h"
#include "sluice/results/eval_file.h"

#include <algorithm>

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

}  // namespace

Json eval_json(const EvalResult& result, const EvalFacts& facts) {
  Json json{{"schema_version", results::kEvalSchema},
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

}  // namespace sluice::eval
