// tests/eval/evaluate_test.cpp - windows, and an evaluation of a model that answers by a script.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/evaluate.h"

#include "sluice/core/file.h"
#include "sluice/core/rng.h"
#include "sluice/core/sha256.h"
#include "sluice/eval/probe_set.h"
#include "sluice/eval/windows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>

namespace sluice::eval::evaluate_test {
namespace {

TEST(Windows, AreThoseOfTheDefinition) {
  EXPECT_EQ(sliding_windows(5, 8, 4), (std::vector<Window>{{0, 0, 5}}));
  EXPECT_EQ(sliding_windows(8, 8, 4), (std::vector<Window>{{0, 0, 8}}));
  EXPECT_EQ(sliding_windows(9, 8, 4), (std::vector<Window>{{0, 0, 8}, {4, 8, 9}}));
  EXPECT_EQ(sliding_windows(20, 8, 8), (std::vector<Window>{{0, 0, 8}, {8, 8, 16}, {16, 16, 20}}));
  EXPECT_TRUE(sliding_windows(0, 8, 4).empty());
}

TEST(Windows, ScoreEveryPositionOnceWithAllTheContextThereIs) {
  for (std::uint64_t round = 0; round < 300; ++round) {
    Rng rng({.seed = 2, .index = round});
    const auto length = static_cast<std::int64_t>(1 + rng.below(500));
    const auto most = static_cast<int>(1 + rng.below(100));
    const auto stride = static_cast<int>(1 + rng.below(static_cast<std::uint64_t>(most)));
    std::int64_t scored = 0;
    for (const Window& window : sliding_windows(length, most, stride)) {
      EXPECT_EQ(window.scored, scored);
      EXPECT_GT(window.end, window.scored);
      EXPECT_LE(window.begin, window.scored);
      EXPECT_LE(window.end - window.begin, most);
      EXPECT_EQ(window.begin % stride, 0);
      scored = window.end;
    }
    EXPECT_EQ(scored, length);
  }
}

class Scripted final : public LanguageModel {
 public:
  std::function<Result<Score>(int max_length, int stride)> on_score = [](int, int) {
    return Score{0, 10};
  };
  std::function<Answer(const Question&)> on_question = [](const Question&) {
    return Answer{"nothing"};
  };
  int tokens = 128;

  [[nodiscard]] Json describe() const override { return {{"kind", "scripted"}}; }
  [[nodiscard]] int context() const override { return tokens; }
  Result<Score> score(std::string_view /*text*/, int max_length, int stride,
                      Progress& /*progress*/) override {
    return on_score(max_length, stride);
  }
  Result<std::vector<Answer>> answer(const std::vector<Question>& questions, int /*most*/,
                                     Progress& /*progress*/) override {
    std::vector<Answer> answers;
    for (const Question& question : questions)
      answers.push_back(on_question(question));
    return answers;
  }
};

TEST(Evaluate, PerplexityIsTheExponentOfTheMeanSurprise) {
  Scripted model;
  EvalConfig config;
  EXPECT_DOUBLE_EQ(*evaluate(model, config)->ppl_fixed_shard, 1.0);  // no surprise at all
  model.on_score = [](int, int) { return Score{20 * std::log(7.0), 20}; };
  EXPECT_NEAR(*evaluate(model, config)->ppl_fixed_shard, 7.0, 1e-12);
  model.on_score = [](int, int) { return Score{std::numeric_limits<double>::quiet_NaN(), 20}; };
  EXPECT_EQ(evaluate(model, config).error().code, Errc::measurement);
}

TEST(Evaluate, TakesTheWindowOfTheModel) {
  const struct {
    int context;
    int max_length;
    int stride;
  } kCases[] = {{128, 128, 32}, {2048, 2048, 512}, {8192, 2048, 512}, {16, 64, 16}};
  for (const auto& one : kCases) {
    Scripted model;
    model.tokens = one.context;
    int seen_length = 0;
    int seen_stride = 0;
    model.on_score = [&](int max_length, int stride) {
      seen_length = max_length;
      seen_stride = stride;
      return Score{1, 1};
    };
    const auto result = evaluate(model, {});
    ASSERT_TRUE(result);
    EXPECT_EQ(seen_length, one.max_length);
    EXPECT_EQ(seen_stride, one.stride);
    EXPECT_EQ(*result->config.max_length, one.max_length);
  }
  Scripted model;
  EvalConfig config;
  config.stride = 129;  // more than the window that the model gives
  EXPECT_EQ(evaluate(model, config).error().code, Errc::usage);
}

TEST(Evaluate, CountsRightAnswersAndErrorsAsWrong) {
  Scripted model;
  model.on_question = [](const Question& question) -> Answer {
    if (question.prompt.find("spider") != std::string::npos) return {" 8 legs"};
    if (question.prompt.find("a bee") != std::string::npos) return {" 6", "out of memory"};
    return {"???"};
  };
  EvalConfig config;
  config.probes = {"basic_reasoning_25"};
  const auto result = evaluate(model, config);
  ASSERT_TRUE(result);
  ASSERT_EQ(result->probes.size(), 1U);
  EXPECT_EQ(result->probes[0].correct(), 1);
  EXPECT_DOUBLE_EQ(result->probes[0].accuracy(), 0.04);
  EXPECT_EQ(result->probes[0].answers.size(), 25U);
}

TEST(Evaluate, WithoutProbabilitiesThePerplexityIsAbsentWithTheReason) {
  Scripted model;
  model.on_score = [](int, int) -> Result<Score> { return Error{Errc::unsupported, "only words"}; };
  const auto result = evaluate(model, {});
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->ppl_fixed_shard);
  EXPECT_EQ(result->no_ppl, "only words");
  model.on_score = [](int, int) -> Result<Score> { return Error{Errc::timeout, "late"}; };
  EXPECT_EQ(evaluate(model, {}).error().code, Errc::timeout);
}

TEST(Evaluate, ChecksTheShard) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "eval_shard";
  ASSERT_TRUE(create_folders(folder));
  ASSERT_TRUE(write_file_atomic(folder / "a.txt", "some text\n"));
  ASSERT_TRUE(write_file_atomic(folder / "empty.txt", ""));
  Scripted model;
  EvalConfig config;
  config.fixed_shard_path = folder / "a.txt";
  const auto result = evaluate(model, config);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->shard_sha256, sha256_hex("some text\n"));
  config.fixed_shard_sha256 = sha256_hex("some text\n");
  EXPECT_TRUE(evaluate(model, config));
  config.fixed_shard_sha256 = std::string(64, '0');
  EXPECT_EQ(evaluate(model, config).error().code, Errc::invalid_input);
  config = {};
  config.fixed_shard_path = folder / "missing.txt";
  EXPECT_EQ(evaluate(model, config).error().code, Errc::not_found);
  config.fixed_shard_path = folder / "empty.txt";
  EXPECT_EQ(evaluate(model, config).error().code, Errc::invalid_input);
  std::filesystem::remove_all(folder);
}

TEST(CheckConfig, RefusesByName) {
  const struct {
    const char* named;
    std::function<void(EvalConfig&)> change;
  } kCases[] = {
      {"temperature", [](EvalConfig& c) { c.temperature = 0.7; }},
      {"temperature", [](EvalConfig& c) { c.temperature = std::nan(""); }},
      {"max_new_tokens", [](EvalConfig& c) { c.max_new_tokens = 0; }},
      {"max_length", [](EvalConfig& c) { c.max_length = 63; }},
      {"stride", [](EvalConfig& c) { c.stride = 0; }},
      {"stride",
       [](EvalConfig& c) {
         c.max_length = 64;
         c.stride = 65;
       }},
      {"probes", [](EvalConfig& c) { c.probes.clear(); }},
      {"allow-network", [](EvalConfig& c) { c.endpoint = "http://127.0.0.1:1/v1"; }},
      {"three models",
       [](EvalConfig& c) {
         c.checkpoint = "a";
         c.worker = {"b"};
       }},
      {"save_model",
       [](EvalConfig& c) {
         c.checkpoint = "a";
         c.save_model = "b";
       }},
  };
  EXPECT_TRUE(check_config({}));
  for (const auto& one : kCases) {
    EvalConfig config;
    one.change(config);
    const auto checked = check_config(config);
    ASSERT_FALSE(checked) << one.named;
    EXPECT_EQ(checked.error().code, Errc::usage);
    EXPECT_NE(checked.error().message.find(one.named), std::string::npos)
        << checked.error().message;
  }
}

TEST(RunEval, RefusesBeforeAModelIsMade) {
  EvalConfig config;
  config.probes = {"code_sanity_21"};
  EXPECT_EQ(run_eval(config).error().code, Errc::usage);
  config = {};
  config.fixed_shard_path = "no/such/shard.txt";
  EXPECT_EQ(run_eval(config).error().code, Errc::not_found);
}

}  // namespace
}  // namespace sluice::eval::evaluate_test
