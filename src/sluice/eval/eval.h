// sluice/eval/eval.h - the quality of a model in five figures: perplexity of a fixed text and four
// probe sets, the same bits every time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/progress.h"
#include "sluice/core/result.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::eval {

/// Which model answers: at most one of checkpoint, worker and endpoint. None: the built-in GPT,
/// trained here from its seed for a fixed number of steps.
struct EvalConfig {
  std::filesystem::path
      checkpoint{};                   // safetensors of our GPT with the vocabulary of our tokenizer
  std::vector<std::string> worker{};  // argv of a program that answers `logprobs` and `generate`
  std::string endpoint{};             // OpenAI-compatible base address, "http://127.0.0.1:8000/v1"
  std::string endpoint_model{};       // its name there; empty: the first it lists
  bool allow_network = false;         // an endpoint is refused without it

  std::filesystem::path fixed_shard_path{};  // empty: the built-in shard
  std::string fixed_shard_sha256{};          // of that file; empty: not checked
  /// Sets that ask our engine are left out where another program computes the model.
  std::vector<std::string> probes{"basic_reasoning_25", "format_following_30", "code_sanity_20",
                                  "engine_answers_40"};
  double temperature = 0;           // greedy; nothing else is accepted
  std::uint64_t seed = 42;          // of the built-in model's training; told to a worker
  int max_new_tokens = 32;          // of one answer, at least 1
  std::optional<int> max_length{};  // tokens of a window, at least 64; default: the model's
                                    // context, at most 2048
  std::optional<int> stride{};      // 1 to max_length; default: a quarter of it

  std::filesystem::path save_model{};  // the built-in model's weights go there; empty: nowhere
  std::filesystem::path worker_log{};  // stdout and stderr of the worker; empty: not kept
  int cancel_fd = -1;                  // readable: stop
};

struct ProbeAnswer {
  std::string prompt;
  std::string response;  // what was generated, as it came
  bool correct = false;
  std::string error;  // why there is no response (it counts as wrong); empty otherwise
};

struct ProbeOutcome {
  std::string name;
  std::string sha256;  // of the set
  std::vector<ProbeAnswer> answers;
  [[nodiscard]] int correct() const;
  [[nodiscard]] double accuracy() const;  // 0 to 1
};

struct EvalResult {
  EvalConfig config;              // with what was in force: max_length and stride are there
  std::string shard_name;         // "bench/data/fixed_shard.txt" for the built-in one
  std::string shard_sha256;       // of the bytes that were read
  std::int64_t shard_tokens = 0;  // 0: the model counts them its own way
  Json model;                     // kind, name, sizes, digest of the weights
  std::optional<double> ppl_fixed_shard;
  std::string no_ppl;  // why it is absent
  std::vector<ProbeOutcome> probes;
};

/// Usage errors that name the field, its value and what is accepted; needs no model.
Status check_config(const EvalConfig& config);

/// Two calls on one machine give the same bits (an endpoint may not). Errors: usage; invalid_input
/// (shard or checkpoint); unsupported (no matrix module); measurement (a perplexity that is not
/// finite); timeout; interrupted.
Result<EvalResult> run_eval(const EvalConfig& config, Progress& progress = Progress::silent());

/// What else stands in eval.json.
struct EvalFacts {
  std::string machine_profile;
  Json env;               // as in metrics.json
  std::string timestamp;  // UTC, 2026-01-31T23:59:59Z
};

/// eval.json. Apart from `timestamp` the same for the same result.
Json eval_json(const EvalResult& result, const EvalFacts& facts);

}  // namespace sluice::eval
