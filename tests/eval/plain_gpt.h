// tests/eval/plain_gpt.h - a GPT of ours as plain loops in double, right or wrong in one known way:
// shares no code with the engine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/eval/gpt_weights.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::eval::testing {

/// Mistakes that engines were seen to make.
enum class Defect {
  none,
  tanh_gelu,           // in place of the error function
  rope_base,           // 500,000 in place of 10,000
  no_qk_norm,          // queries and keys as they are
  no_norm1,            // of the first block
  no_norm2,            // of the last block
  no_final_norm,       // before the logits
  mask_sees_next,      // a token attends to the one after it
  mask_misses_itself,  // a token attends only to those before it
  bf16_softmax,        // probabilities of attention rounded to bf16
};
inline constexpr Defect kDefects[] = {
    Defect::tanh_gelu,      Defect::rope_base,          Defect::no_qk_norm,
    Defect::no_norm1,       Defect::no_norm2,           Defect::no_final_norm,
    Defect::mask_sees_next, Defect::mask_misses_itself, Defect::bf16_softmax};
std::string to_string(Defect defect);

/// Logits [vocabulary] after token `place` (from 0) of `ids`.
std::vector<double> plain_logits(const GptWeights& weights, const std::vector<std::int32_t>& ids,
                                 int place, Defect defect = Defect::none);

}  // namespace sluice::eval::testing
