// sluice/eval/eval.cpp - one evaluation: the model, the shard, the probe sets, in this order.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/eval.h"

#include "sluice/core/file.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/eval/data.h"
#include "sluice/eval/engine_model.h"
#include "sluice/eval/evaluate.h"
#include "sluice/eval/open_model.h"
#include "sluice/eval/probe_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::eval {
namespace {

constexpr int kMostLength = 2048;
constexpr std::uint64_t kLargestShard = std::uint64_t{16} << 20;  // bytes

struct Shard {
  std::string name;
  std::string text;
  std::string sha256;
};

Result<Shard> read_shard(const EvalConfig& config) {
  Shard shard;
  if (config.fixed_shard_path.empty()) {
    SLUICE_TRY(const std::string_view text, data_file(kShardFile));
    shard = {std::string(kDataFolder) + kShardFile, std::string(text), {}};
  } else {
    SLUICE_TRY(std::string text, read_text_file(config.fixed_shard_path, kLargestShard));
    shard = {config.fixed_shard_path.string(), std::move(text), {}};
  }
  shard.sha256 = sha256_hex(shard.text);
  if (!config.fixed_shard_sha256.empty() && config.fixed_shard_sha256 != shard.sha256) {
    return Error{Errc::invalid_input,
                 fmt::format("{}: its SHA-256 is {}; {} is accepted", printable(shard.name),
                             shard.sha256, printable(config.fixed_shard_sha256))};
  }
  if (shard.text.empty()) {
    return Error{Errc::invalid_input,
                 fmt::format("{}: is empty; some text is accepted", printable(shard.name))};
  }
  return shard;
}

/// The windows in force.
Status set_windows(EvalConfig& config, int context) {
  if (!config.max_length) config.max_length = std::clamp(context, 64, kMostLength);
  if (!config.stride) config.stride = std::max(1, *config.max_length / 4);
  return check_config(config);  // a stride beyond what the model's context allows
}

Status score_shard(LanguageModel& model, const Shard& shard, EvalResult& result,
                   Progress& progress) {
  const auto score =
      model.score(shard.text, *result.config.max_length, *result.config.stride, progress);
  if (!score && score.error().code == Errc::unsupported) {
    result.no_ppl = score.error().message;
    return ok;
  }
  SLUICE_CHECK(score);
  const double ppl = std::exp(score->nll / static_cast<double>(score->tokens));
  if (!std::isfinite(ppl) || score->tokens < 1) {
    return Error{Errc::measurement,
                 fmt::format("perplexity of {}: {} over {} tokens is no finite number",
                             printable(shard.name), ppl, score->tokens)};
  }
  result.ppl_fixed_shard = ppl;
  result.shard_tokens = score->tokens;
  return ok;
}

Result<ProbeOutcome> ask(LanguageModel& model, const ProbeSet& set, int max_new_tokens,
                         Progress& progress) {
  std::vector<Question> questions;
  for (const ProbeItem& item : set.items)
    questions.push_back({item.prompt, item.stop});
  SLUICE_TRY(const std::vector<Answer> answers, model.answer(questions, max_new_tokens, progress));
  ProbeOutcome outcome{set.name, set.sha256, {}};
  for (std::size_t i = 0; i < set.items.size(); ++i) {
    const bool correct = answers[i].error.empty() && is_correct(set.items[i], answers[i].text);
    outcome.answers.push_back({set.items[i].prompt, answers[i].text, correct, answers[i].error});
  }
  return outcome;
}

}  // namespace

Result<EvalResult> evaluate(LanguageModel& model, const EvalConfig& config, Progress& progress) {
  SLUICE_CHECK(check_config(config));
  EvalResult result;
  result.config = config;
  SLUICE_CHECK(set_windows(result.config, model.context()));
  SLUICE_TRY(const Shard shard, read_shard(config));
  result.shard_name = shard.name;
  result.shard_sha256 = shard.sha256;
  result.model = model.describe();
  SLUICE_CHECK(score_shard(model, shard, result, progress));
  EngineModel engine;
  result.config.probes.clear();
  for (const std::string& name : config.probes) {
    SLUICE_TRY(const ProbeSet set, find_probe_set(name));
    if (set.of_engine && !model.is_ours()) continue;
    LanguageModel& asked = set.of_engine ? static_cast<LanguageModel&>(engine) : model;
    SLUICE_TRY(ProbeOutcome outcome, ask(asked, set, config.max_new_tokens, progress));
    result.config.probes.push_back(name);
    result.probes.push_back(std::move(outcome));
  }
  if (result.probes.empty())
    return Error{Errc::usage, fmt::format("probes {}: asks our engine, which a worker or an "
                                          "endpoint has not; sets of language are accepted, such "
                                          "as basic_reasoning_25",
                                          join(config.probes))};
  return result;
}

Result<EvalResult> run_eval(const EvalConfig& config, Progress& progress) {
  SLUICE_CHECK(check_config(config));
  // Whatever can be refused is refused before a model is trained or started.
  for (const std::string& name : config.probes)
    SLUICE_CHECK(find_probe_set(name));
  SLUICE_CHECK(read_shard(config));
  SLUICE_TRY(const auto model, open_model(config, progress));
  return evaluate(*model, config, progress);
}

}  // namespace sluice::eval
