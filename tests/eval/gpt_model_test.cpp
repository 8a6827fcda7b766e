// tests/eval/gpt_model_test.cpp - our GPT as a language model: windows against one pass, greedy
// answers, checkpoints, and training that repeats to the bit.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/gpt_model.h"

#include "sluice/core/file.h"
#include "sluice/eval/builtin_model.h"
#include "sluice/eval/evaluate.h"

#include <gtest/gtest.h>

#include "tests/eval/small_gpt.h"
#include <algorithm>
#include <filesystem>
#include <unistd.h>

namespace sluice::eval::gpt_model_test {
namespace {

using testing::small_model;
using testing::small_spec;
using testing::small_weights;

const std::string kText =
    "The quick river runs past the old mill, and 27 boats wait for the bridge to open. "
    "Nobody counts them twice; the keeper knows each one by the colour of its sail.\n";

double nll(GptModel& model, const std::string& text, int max_length, int stride) {
  const auto score = model.score(text, max_length, stride, Progress::silent());
  EXPECT_TRUE(score) << score.error().message;
  return score->nll;
}

/// The surprise of every token by one pass over all of it, computed from the engine's loss.
TEST(GptModel, ScoresLikeTheLossOfTheEngine) {
  GptModel model = small_model();
  const auto tokenizer = Tokenizer::built_in();
  const auto ids = tokenizer->encode(kText);
  train::EngineConfig config;
  config.model = small_spec(tokenizer->vocabulary(), static_cast<int>(ids.size()));
  config.batch = 1;
  config.threads = 2;
  config.optimizer = false;
  const auto engine = train::Engine::make(config);
  ASSERT_TRUE(engine);
  ASSERT_TRUE(put_weights(small_weights(tokenizer->vocabulary()), **engine));
  std::vector<std::int32_t> inputs{tokenizer->end()};
  inputs.insert(inputs.end(), ids.begin(), ids.end() - 1);
  train::BatchView batch;
  batch.ids = inputs;
  batch.labels = ids;
  const auto evaluation = (*engine)->evaluate(batch);
  ASSERT_TRUE(evaluation);
  const double expected = static_cast<double>(evaluation->loss) * static_cast<double>(ids.size());
  EXPECT_NEAR(nll(model, kText, 2048, 512), expected, 1e-4 * expected);
}

TEST(GptModel, WindowsChangeOnlyTheContext) {
  GptModel model = small_model();
  const double whole = nll(model, kText, 2048, 512);
  const double cut = nll(model, kText, 16, 16);  // every window begins without a past
  const double slid = nll(model, kText, 16, 1);
  EXPECT_NE(cut, whole);
  EXPECT_NE(slid, whole);
  EXPECT_EQ(nll(model, kText, 16, 4), nll(model, kText, 16, 4));
}

TEST(GptModel, AnswersAreGreedyAndRepeat) {
  const std::vector<Question> questions{{"Q: one?\nA:", ""}, {"Q: other things?\nA:", ""}};
  GptModel model = small_model();
  const auto first = model.answer(questions, 6, Progress::silent());
  const auto second = small_model().answer(questions, 6, Progress::silent());
  const auto alone = model.answer({questions[1]}, 6, Progress::silent());
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  ASSERT_TRUE(alone);
  EXPECT_EQ((*first)[0].text, (*second)[0].text);
  EXPECT_EQ((*first)[1].text, (*alone)[0].text);
  EXPECT_FALSE((*first)[0].text.empty());
  const auto longer = model.answer(questions, 12, Progress::silent());
  EXPECT_EQ((*longer)[0].text.rfind((*first)[0].text, 0), 0U);  // it goes on where it was cut
}

TEST(GptModel, AnswersEndBeforeTheStop) {
  GptModel model = small_model();
  const auto free = model.answer({{"Q: one?\nA:", ""}}, 8, Progress::silent());
  ASSERT_TRUE(free);
  const std::string& text = (*free)[0].text;
  ASSERT_GT(text.size(), 3U);
  const std::string stop = text.substr(2, 1);
  const auto cut = model.answer({{"Q: one?\nA:", stop}}, 8, Progress::silent());
  EXPECT_EQ((*cut)[0].text, text.substr(0, text.find(stop)));
}

TEST(GptModel, OfALongPromptTheLast512TokensCount) {
  const auto tokenizer = Tokenizer::built_in();
  std::string prompt;
  for (int i = 0; i < 600; ++i)
    prompt += static_cast<char>('0' + i * 7 % 10);  // a token each
  const auto whole = tokenizer->encode(prompt);
  ASSERT_EQ(whole.size(), 600U);
  const auto kept = prompt_ids(*tokenizer, prompt);
  ASSERT_EQ(kept.size(), 513U);
  EXPECT_EQ(kept[0], tokenizer->end());
  EXPECT_TRUE(std::equal(kept.begin() + 1, kept.end(), whole.end() - 512));
  EXPECT_EQ(prompt_ids(*tokenizer, "ab").size(), tokenizer->encode("ab").size() + 1);
  EXPECT_TRUE(small_model().answer({{prompt, ""}}, 2, Progress::silent()));  // beyond its context
}

TEST(GptModel, StopsWhenItIsToldTo) {
  int fds[2] = {-1, -1};
  ASSERT_EQ(pipe(fds), 0);
  GptModelOptions options;
  options.cancel_fd = fds[0];
  GptModel model = small_model(options);
  EXPECT_TRUE(model.score(kText, 64, 16, Progress::silent()));
  ASSERT_EQ(write(fds[1], "x", 1), 1);
  EXPECT_EQ(model.score(kText, 64, 16, Progress::silent()).error().code, Errc::interrupted);
  close(fds[0]);
  close(fds[1]);
}

TEST(GptWeights, ComeBackFromACheckpointBitForBit) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "eval_gpt.safetensors";
  const GptWeights weights = small_weights(1024);
  ASSERT_TRUE(write_weights(path, weights));
  const auto back = read_weights(path, 1024);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->digest(), weights.digest());
  EXPECT_EQ(back->spec, weights.spec);
  EvalConfig config;
  config.checkpoint = path;
  config.probes = {"code_sanity_20"};
  config.max_new_tokens = 2;
  const auto shard = std::filesystem::path(::testing::TempDir()) / "eval_shard.txt";
  ASSERT_TRUE(write_file_atomic(shard, kText));
  config.fixed_shard_path = shard;
  const auto result = run_eval(config);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->model["weights_sha256"], weights.digest());
  EXPECT_GT(*result->ppl_fixed_shard, 1.0);

  EXPECT_EQ(read_weights(path, 1000).error().code, Errc::invalid_input);
  const auto bytes = read_text_file(path);
  ASSERT_TRUE(write_file_atomic(path, bytes->substr(0, bytes->size() - 7)));
  EXPECT_EQ(read_weights(path, 1024).error().code, Errc::invalid_input);
  ASSERT_TRUE(write_file_atomic(path, "nothing"));
  EXPECT_EQ(read_weights(path, 1024).error().code, Errc::invalid_input);
  EXPECT_FALSE(read_weights(path.string() + ".missing", 1024));
  std::filesystem::remove(path);
  std::filesystem::remove(shard);
}

TEST(BuiltinModel, IsTheSameForTheSameSeed) {
  const auto tokenizer = Tokenizer::built_in();
  BuiltinRecipe recipe = builtin_recipe(tokenizer->vocabulary());
  recipe.spec.dim = 16;
  recipe.spec.heads = 2;
  recipe.steps = 4;
  const auto digest = [&](std::uint64_t seed) {
    const auto weights = train_builtin(*tokenizer, recipe, seed, Progress::silent());
    EXPECT_TRUE(weights) << weights.error().message;
    return weights->digest();
  };
  const std::string first = digest(42);
  EXPECT_EQ(digest(42), first);
  EXPECT_NE(digest(43), first);
}

}  // namespace
}  // namespace sluice::eval::gpt_model_test
