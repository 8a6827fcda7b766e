// tests/eval/worker_model_test.cpp - a model behind the protocol, its worker played by a script.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/worker_model.h"

#include "sluice/eval/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace sluice::eval::worker_model_test {
namespace {

using Script = std::function<Result<Json>(const Json& request)>;

class ScriptedWorker final : public measure::Worker {
 public:
  explicit ScriptedWorker(Script script) : script_(std::move(script)) {}
  Result<Json> request(Json request, double /*timeout_s*/) override { return script_(request); }
  void pause() override {}
  void resume() override {}
  void finish() override {}
  [[nodiscard]] std::int64_t pid() const override { return 1; }
  [[nodiscard]] std::optional<std::int64_t> peak_rss_bytes() const override { return {}; }

 private:
  Script script_;
};

class ScriptedLauncher final : public measure::Launcher {
 public:
  explicit ScriptedLauncher(Script script) : script_(std::move(script)) {}
  Result<std::unique_ptr<measure::Worker>> launch(const measure::LaunchOptions&) override {
    return std::unique_ptr<measure::Worker>(std::make_unique<ScriptedWorker>(script_));
  }

 private:
  Script script_;
};

/// A sound worker; `odd` answers what it likes to instead.
Script worker(Script odd = nullptr) {
  return [odd](const Json& request) -> Result<Json> {
    const std::string type = request["type"];
    if (odd) {
      auto answer = odd(request);
      if (!answer || !answer->is_null()) return answer;
    }
    if (type == "hello") return Json{{"protocol", 1}, {"version", "4.0"}, {"name", "hf"}};
    if (type == "configure") return Json{{"threads", 2}, {"model", "tiny"}, {"context", 256}};
    if (type == "logprobs") return Json{{"logprobs", {-std::log(2.0), -std::log(8.0)}}};
    if (type == "generate") return Json{{"text", " 8\nQ: more"}};
    return Error{Errc::unsupported, "unknown"};
  };
}

Result<EvalResult> evaluated(const Script& script) {
  ScriptedLauncher launcher(script);
  EvalConfig config;
  config.worker = {"w"};
  config.probes = {"basic_reasoning_25"};
  SLUICE_TRY(const auto model, WorkerModel::start(config, launcher));
  return evaluate(*model, config);
}

TEST(WorkerModel, IsScoredByItsProbabilitiesAndTexts) {
  std::vector<Json> asked;
  const auto result = evaluated(worker([&](const Json& request) -> Result<Json> {
    asked.push_back(request);
    return Json();
  }));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_NEAR(*result->ppl_fixed_shard, 4.0, 1e-12);  // the root of 2 * 8
  EXPECT_EQ(result->shard_tokens, 2);
  EXPECT_EQ(*result->config.max_length, 256);
  EXPECT_EQ(result->probes[0].answers[0].response, " 8");  // cut at the stop
  EXPECT_EQ(result->model["name"], "tiny");
  EXPECT_EQ(result->model["library"], "hf");
  ASSERT_EQ(asked.size(), 3U + 25U);
  EXPECT_EQ(asked[1]["seed"], 42);
  EXPECT_EQ(asked[2]["max_length"], 256);
  EXPECT_EQ(asked[2]["stride"], 64);
  EXPECT_EQ(asked[3]["temperature"], 0);
  EXPECT_EQ(asked[3]["max_new_tokens"], 32);
  EXPECT_EQ(asked[3]["max_prompt_tokens"], 512);
  EXPECT_EQ(asked[3]["stop"], "\n");
}

TEST(WorkerModel, WithoutLogprobsOnlyTheProbesCount) {
  const auto result = evaluated(worker([](const Json& request) -> Result<Json> {
    if (request["type"] == "logprobs") return Error{Errc::unsupported, "no probabilities"};
    return Json();
  }));
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->ppl_fixed_shard);
  EXPECT_EQ(result->no_ppl, "no probabilities");
}

TEST(WorkerModel, AnAnswerThatFailedIsWrong) {
  const auto result = evaluated(worker([](const Json& request) -> Result<Json> {
    if (request["type"] == "generate") return Json{{"error", "out of memory"}};
    return Json();
  }));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->probes[0].correct(), 0);
  EXPECT_EQ(result->probes[0].answers[0].error, "out of memory");
}

TEST(WorkerModel, IsNotBelievedEverything) {
  const struct {
    const char* type;
    Json answer;
  } kCases[] = {
      {"hello", {{"protocol", 2}}},        {"hello", Json::object()},
      {"configure", {{"threads", 0}}},     {"configure", {{"threads", 1}, {"context", 1}}},
      {"logprobs", Json::object()},        {"logprobs", {{"logprobs", Json::array()}}},
      {"logprobs", {{"logprobs", {0.5}}}}, {"logprobs", {{"logprobs", {-1, nullptr}}}},
      {"generate", Json::object()},        {"generate", {{"text", 7}}},
  };
  for (const auto& one : kCases) {
    const auto result = evaluated(worker([&](const Json& request) -> Result<Json> {
      return request["type"] == one.type ? one.answer : Json();
    }));
    ASSERT_FALSE(result) << one.type << dump_json(one.answer, -1);
    EXPECT_EQ(result.error().code, Errc::measurement);
    EXPECT_NE(result.error().message.find(one.type), std::string::npos) << result.error().message;
  }
  EXPECT_EQ(evaluated(worker([](const Json& request) -> Result<Json> {
              if (request["type"] == "generate") return Error{Errc::timeout, "late"};
              return Json();
            }))
                .error()
                .code,
            Errc::timeout);
}

}  // namespace
}  // namespace sluice::eval::worker_model_test
