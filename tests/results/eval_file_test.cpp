// tests/results/eval_file_test.cpp - eval.json: what is sound, and what is not.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/results/eval_file.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace sluice::results::eval_file_test {
namespace {

Json sound() {
  return Json{{"schema_version", "1.0"},
              {"machine_profile", "cpu_1"},
              {"timestamp", "2026-01-31T23:59:59Z"},
              {"ppl_fixed_shard", 12.5},
              {"task_probe_accuracy", {{"one", 0.5}, {"two", 0.0}}},
              {"eval_config", Json::object()},
              {"env", Json::object()}};
}

TEST(EvalFile, WhatIsSound) {
  for (const Perplexity perplexity : {Perplexity::required, Perplexity::or_reason})
    EXPECT_TRUE(eval_problems(sound(), perplexity).empty());
}

TEST(EvalFile, AnAbsentPerplexityNeedsAReasonAndLeave) {
  Json json = sound();
  json["ppl_fixed_shard"] = nullptr;
  EXPECT_EQ(eval_problems(json, Perplexity::or_reason).size(), 1U);
  json["ppl_fixed_shard_reason"] = "it only answers";
  EXPECT_TRUE(eval_problems(json, Perplexity::or_reason).empty());
  ASSERT_EQ(eval_problems(json, Perplexity::required).size(), 1U);
  EXPECT_EQ(eval_problems(json, Perplexity::required)[0],
            "/ppl_fixed_shard: is null, not a number above 0");
}

TEST(EvalFile, ProblemsNameTheKey) {
  const struct {
    const char* named;
    std::function<void(Json&)> change;
  } kCases[] = {
      {"/schema_version", [](Json& j) { j["schema_version"] = "2.0"; }},
      {"/schema_version", [](Json& j) { j.erase("schema_version"); }},
      {"/machine_profile", [](Json& j) { j["machine_profile"] = 3; }},
      {"/ppl_fixed_shard", [](Json& j) { j["ppl_fixed_shard"] = 0.0; }},
      {"/ppl_fixed_shard", [](Json& j) { j["ppl_fixed_shard"] = "7"; }},
      {"/ppl_fixed_shard", [](Json& j) { j["ppl_fixed_shard"] = nullptr; }},
      {"/ppl_fixed_shard",
       [](Json& j) { j["ppl_fixed_shard"] = std::numeric_limits<double>::infinity(); }},
      {"/ppl_fixed_shard", [](Json& j) { j.erase("ppl_fixed_shard"); }},
      {"/task_probe_accuracy/one", [](Json& j) { j["task_probe_accuracy"]["one"] = 1.01; }},
      {"/task_probe_accuracy/one", [](Json& j) { j["task_probe_accuracy"]["one"] = nullptr; }},
      {"/task_probe_accuracy", [](Json& j) { j["task_probe_accuracy"] = Json::array(); }},
      {"/eval_config", [](Json& j) { j.erase("eval_config"); }},
      {"/env", [](Json& j) { j.erase("env"); }},
      {"/timestamp", [](Json& j) { j.erase("timestamp"); }},
      {"/", [](Json& j) { j = Json::array(); }},
  };
  for (const Perplexity perplexity : {Perplexity::required, Perplexity::or_reason}) {
    for (const auto& one : kCases) {
      Json json = sound();
      one.change(json);
      const auto problems = eval_problems(json, perplexity);
      ASSERT_EQ(problems.size(), 1U) << one.named;
      EXPECT_EQ(problems[0].rfind(std::string(one.named) + ":", 0), 0U) << problems[0];
    }
  }
}

}  // namespace
}  // namespace sluice::results::eval_file_test
