// sluice/cli/flags/eval.h - what a model is asked, as flags: for `eval` and for `gate`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/eval/eval.h"

#include <CLI/CLI.hpp>

#include <string>

namespace sluice::cli {

struct EvalQuestions {
  eval::EvalConfig config;
  std::string probes;  // separated by commas; empty: all
};

/// --shard, --shard-sha256, --probes, --max-length, --stride, --max-new-tokens.
void add_eval_questions(CLI::App& command, EvalQuestions& questions);
/// The configuration with the probe sets that were named.
eval::EvalConfig config_of(const EvalQuestions& questions);

}  // namespace sluice::cli
