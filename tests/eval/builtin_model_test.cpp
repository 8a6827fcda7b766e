// tests/eval/builtin_model_test.cpp - the built-in model as it is evaluated by default: its scores,
// that they repeat, and that an engine that is wrong in a small way does not pass the gate.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/builtin_model.h"

#include "sluice/eval/evaluate.h"
#include "sluice/eval/gpt_model.h"
#include "sluice/eval/probe_set.h"

#include <gtest/gtest.h>

#include "tests/eval/two_gelus.h"
#include <algorithm>
#include <string>

namespace sluice::eval::builtin_model_test {
namespace {

using testing::use_tanh_gelu;

constexpr std::uint64_t kSeed = 42;  // the default

Result<GptWeights> trained(const BuiltinRecipe& recipe) {
  SLUICE_TRY(const Tokenizer tokenizer, Tokenizer::built_in());
  return train_builtin(tokenizer, recipe, kSeed, Progress::silent());
}

BuiltinRecipe recipe() {
  return builtin_recipe(Tokenizer::built_in()->vocabulary());
}

EvalResult evaluated(const GptWeights& weights, GptModelOptions options = {}) {
  GptModel model(*Tokenizer::built_in(), weights, std::move(options));
  auto result = evaluate(model, {});
  EXPECT_TRUE(result) << result.error().message;
  return *result;
}

std::string scores(const EvalResult& result) {
  std::string out = std::to_string(*result.ppl_fixed_shard);
  for (const ProbeOutcome& probe : result.probes)
    out += " " + probe.name + " " + std::to_string(probe.correct());
  return out;
}

/// The rules of the gate: perplexity up by more than 1.5 %, or a probe set down by more than 2
/// points.
bool gate_fails(const EvalResult& baseline, const EvalResult& candidate) {
  bool fails = *candidate.ppl_fixed_shard > *baseline.ppl_fixed_shard * 1.015;
  for (std::size_t i = 0; i < baseline.probes.size(); ++i)
    fails |= (baseline.probes[i].accuracy() - candidate.probes[i].accuracy()) * 100 > 2 + 1e-9;
  return fails;
}

/// Trained once, by the engine as it is.
class BuiltinModel : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto weights = trained(recipe());
    ASSERT_TRUE(weights) << weights.error().message;
    weights_ = new GptWeights(std::move(*weights));
    baseline_ = new EvalResult(evaluated(*weights_));
    std::printf("as it is: %s\n", scores(*baseline_).c_str());
  }
  static void TearDownTestSuite() {
    delete weights_;
    delete baseline_;
  }
  void TearDown() override { use_tanh_gelu(false); }

  static inline GptWeights* weights_ = nullptr;
  static inline EvalResult* baseline_ = nullptr;
};

TEST_F(BuiltinModel, IsNeitherHopelessNorPerfectInAnySet) {
  for (const ProbeOutcome& probe : baseline_->probes) {
    if (find_probe_set(probe.name)->of_engine)
      continue;  // known answers: all or something is wrong
    EXPECT_GE(probe.accuracy(), 0.3) << probe.name;
    EXPECT_LE(probe.accuracy(), 0.9) << probe.name;
  }
  EXPECT_LT(*baseline_->ppl_fixed_shard, 1024 / 2);  // it has learned some English
}

TEST_F(BuiltinModel, EvaluatesToTheSameBits) {
  const EvalFacts facts{"p", {}, "t"};
  EXPECT_EQ(dump_json(eval_json(*baseline_, facts)),
            dump_json(eval_json(evaluated(*weights_), facts)));
}

TEST_F(BuiltinModel, RopeTurnedTheOtherWayFails) {
  GptModelOptions options;
  options.prepare = [](train::Engine& engine) -> Status {
    SLUICE_TRY(std::vector<float> sine, engine.read("rope.sine"));
    for (float& value : sine)
      value = -value;
    return engine.write("rope.sine", sine);
  };
  const EvalResult wrong = evaluated(*weights_, options);
  EXPECT_TRUE(gate_fails(*baseline_, wrong)) << scores(wrong);
}

TEST_F(BuiltinModel, EpsilonTimes100Fails) {
  GptWeights weights = *weights_;
  weights.spec.norm_epsilon *= 100;
  const EvalResult wrong = evaluated(weights);
  EXPECT_TRUE(gate_fails(*baseline_, wrong)) << scores(wrong);
}

/// Its values differ by less than 0.0005, so the same weights hardly notice; a training does.
TEST_F(BuiltinModel, TanhGeluFails) {
  use_tanh_gelu(true);
  const auto weights = trained(recipe());
  ASSERT_TRUE(weights) << weights.error().message;
  EXPECT_NE(weights->digest(), weights_->digest());
  const EvalResult wrong = evaluated(*weights);
  std::printf("tanh: %s\n", scores(wrong).c_str());
  EXPECT_TRUE(gate_fails(*baseline_, wrong)) << scores(wrong);
}

}  // namespace
}  // namespace sluice::eval::builtin_model_test
