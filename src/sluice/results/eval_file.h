// sluice/results/eval_file.h - eval.json, schema 1.0: what must stand in it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"

#include <string>
#include <vector>

namespace sluice::results {

inline constexpr const char* kEvalSchema = "1.0";

/// Some models answer questions and give no probabilities: their perplexity is null, and
/// `ppl_fixed_shard_reason` says why. A baseline needs one.
enum class Perplexity { required, or_reason };

/// One line per key that is missing, of the wrong kind or out of range (perplexity above 0,
/// accuracies from 0 to 1); empty: a sound eval.json.
std::vector<std::string> eval_problems(const Json& eval, Perplexity perplexity);

}  // namespace sluice::results
