// sluice/train/cuda/update_settings.h - an optimizer's settings as the device reads them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda/kernels.h"
#include "sluice/train/optimizer.h"

#include <cmath>
#include <cstdint>

namespace sluice::train::cuda {

/// All but the lists and the state.
inline UpdateCall update_call(const OptimizerConfig& config) {
  const auto narrow = [](double value) { return static_cast<float>(value); };
  UpdateCall call;
  call.lamb = config.kind == OptimizerKind::lamb;
  call.beta1 = narrow(config.beta1);
  call.gain1 = narrow(1 - config.beta1);
  call.beta2 = narrow(config.beta2);
  call.gain2 = narrow(1 - config.beta2);
  call.epsilon = narrow(config.epsilon);
  call.weight_decay = narrow(config.weight_decay);
  call.max_gradient_norm = narrow(config.max_gradient_norm);
  call.average_gain = narrow(1 - config.average_decay);
  return call;
}

/// What the host writes before step `step` (0 is the first).
inline UpdateState update_state(const OptimizerConfig& config, std::uint64_t step) {
  const double t = static_cast<double>(step) + 1;
  UpdateState state;
  state.rate = static_cast<float>(learning_rate_at(config, step));
  state.correction1 = static_cast<float>(1 / (1 - std::pow(config.beta1, t)));
  state.correction2 = static_cast<float>(1 / (1 - std::pow(config.beta2, t)));
  return state;
}

}  // namespace sluice::train::cuda
