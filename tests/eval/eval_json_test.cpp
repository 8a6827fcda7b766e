// tests/eval/eval_json_test.cpp - eval.json: every field of the schema.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/eval.h"
#include "sluice/results/eval_file.h"

#include <gtest/gtest.h>

namespace sluice::eval::eval_json_test {
namespace {

EvalResult result() {
  EvalResult out;
  out.config.max_length = 128;
  out.config.stride = 32;
  out.shard_name = "bench/data/fixed_shard.txt";
  out.shard_sha256 = "abc";
  out.shard_tokens = 100;
  out.model = {{"kind", "built-in"}};
  out.ppl_fixed_shard = 12.5;
  out.probes = {{"one", "d1", {{"q", "a", true, ""}, {"r", "\xff", false, ""}}},
                {"two", "d2", {{"q", "", false, "broke"}}}};
  return out;
}

const EvalFacts kFacts{"cpu_1", {{"git_sha", "unknown"}}, "2026-01-31T23:59:59Z"};

TEST(EvalJson, HasTheFieldsOfTheSchema) {
  const Json json = eval_json(result(), kFacts);
  EXPECT_TRUE(results::eval_problems(json, results::Perplexity::or_reason).empty());
  EXPECT_EQ(json["schema_version"], "1.0");
  EXPECT_EQ(json["machine_profile"], "cpu_1");
  EXPECT_EQ(json["timestamp"], "2026-01-31T23:59:59Z");
  EXPECT_EQ(json["ppl_fixed_shard"], 12.5);
  EXPECT_EQ(json["task_probe_accuracy"], (Json{{"one", 0.5}, {"two", 0.0}}));
  EXPECT_EQ(dump_json(json["eval_config"], -1),
            R"({"fixed_shard_path":"bench/data/fixed_shard.txt","fixed_shard_sha256":"abc",)"
            R"("max_length":128,"stride":32,)"
            R"("probes":["basic_reasoning_25","format_following_30","code_sanity_20",)"
            R"("engine_answers_40"],)"
            R"("temperature":0.0,"seed":42,"max_new_tokens":32})");
  EXPECT_EQ(json["probes"]["one"]["correct"], 1);
  EXPECT_EQ(json["probes"]["two"]["answers"][0]["error"], "broke");
  EXPECT_EQ(json["env"]["git_sha"], "unknown");
}

TEST(EvalJson, IsTheSameTextForTheSameResult) {
  EXPECT_EQ(dump_json(eval_json(result(), kFacts)), dump_json(eval_json(result(), kFacts)));
}

TEST(EvalJson, AnAbsentPerplexityIsNullWithItsReason) {
  EvalResult absent = result();
  absent.ppl_fixed_shard.reset();
  absent.no_ppl = "only words";
  const Json json = eval_json(absent, kFacts);
  EXPECT_TRUE(json["ppl_fixed_shard"].is_null());
  EXPECT_EQ(json["ppl_fixed_shard_reason"], "only words");
  EXPECT_TRUE(results::eval_problems(json, results::Perplexity::or_reason).empty());
}

}  // namespace
}  // namespace sluice::eval::eval_json_test
