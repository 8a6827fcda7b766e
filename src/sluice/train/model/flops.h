// sluice/train/model/flops.h - floating-point operations of a model from its shapes, and how much
// of the hardware they use.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/train/model/model_spec.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::train {

struct FlopItem {
  std::string component;
  std::int64_t parameters = 0;
  std::int64_t forward = 0;  // FLOP of one sample, all layers
};

/// Of one sample. One multiply-add is 2 FLOP; only matrix products count (norms, RoPE, softmax,
/// GELU do not); attention counts the whole matrix, causal or not; training is 3 forwards.
struct ModelFlops {
  std::vector<FlopItem> items;  // in the order of the forward pass
  std::int64_t parameters = 0;
  /// Without what is looked up and multiplies nothing: an untied token table, positions, class
  /// token, registers. A tied table counts: it is the head.
  std::int64_t non_embedding_parameters = 0;
  std::int64_t forward = 0;
  std::int64_t train = 0;
};
/// Precondition: check_model(model).
ModelFlops count_flops(const ModelSpec& model);

/// 6·N·T: N parameters that multiply, T tokens of a step.
double flop_6nd(double parameters, double tokens);
/// 6·N·T + 12·layers·dim·sequence·T: attention added (the PaLM form).
double flop_transformer_aware(double parameters, double tokens, double sequence, double dim,
                              double layers);

enum class MfuEstimator : std::uint8_t { six_nd, transformer_aware, shapes };
const char* to_string(MfuEstimator estimator);  // 6ND, transformer_aware, shapes
/// Usage error that lists them.
Result<MfuEstimator> parse_mfu_estimator(std::string_view text);

/// FLOP of a training step over `samples`.
double step_flop(const ModelSpec& model, MfuEstimator estimator, double samples);

/// Model FLOP utilisation, 0 to 1: `flop` in `seconds` on `devices` of `peak_tflops` each.
/// 0 where an argument is not above 0.
double mfu(double flop, double seconds, int devices, double peak_tflops);

}  // namespace sluice::train
