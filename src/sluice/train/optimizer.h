// sluice/train/optimizer.h - LAMB and AdamW as settings, the schedule, and what a step of them
// needs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <cstdint>
#include <string_view>

namespace sluice::train {

enum class OptimizerKind : std::uint8_t { lamb, adamw };
const char* to_string(OptimizerKind kind);
Result<OptimizerKind> parse_optimizer(std::string_view text);  // usage error otherwise

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::lamb;
  double learning_rate = 4e-3;
  double weight_decay = 0.05;  // of the decayed parameters, decoupled
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double max_gradient_norm = 1.0;  // global clip before everything else; 0: none
  std::uint64_t warmup_steps = 0;  // linear from 1e-8 of the rate
  std::uint64_t total_steps = 0;   // cosine to 0 from the end of the warm-up; 0: constant
  double average_decay = 0.99996;  // EMA, when the program has one
};
Status check_optimizer(const OptimizerConfig& config);

/// Rate of step `step` (0 is the first).
double learning_rate_at(const OptimizerConfig& config, std::uint64_t step);

}  // namespace sluice::train
