// sluice/train/cpu/cross_entropy_reference.h - what cross_entropy.h computes, in plain loops; T is
// float or double.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cpu/team.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace sluice::train::cpu::reference {

template <class T>
void cross_entropy(T* row_loss, T* d_logits, const T* logits, const std::int32_t* labels,
                   const T* soft, T smoothing, T factor, Rows rows, std::int64_t classes) {
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const T* x = logits + r * classes;
    const bool scored = labels == nullptr || labels[r] >= 0;
    T most = x[0], sum = 0;
    for (std::int64_t c = 1; c < classes; ++c)
      most = std::max(most, x[c]);
    for (std::int64_t c = 0; c < classes; ++c)
      sum += std::exp(x[c] - most);
    const T log_sum = std::log(sum);
    row_loss[r] = 0;
    for (std::int64_t c = 0; c < classes; ++c) {
      const T given = soft != nullptr ? soft[r * classes + c] : T(labels[r] == c ? 1 : 0);
      const T target = (1 - smoothing) * given + smoothing / static_cast<T>(classes);
      const T log_probability = x[c] - most - log_sum;
      // An absent class says nothing, also where it is impossible (0 · −∞).
      if (scored && target != 0) row_loss[r] -= target * log_probability;
      if (d_logits != nullptr)
        d_logits[r * classes + c] = scored ? (std::exp(log_probability) - target) * factor : T(0);
    }
  }
}

}  // namespace sluice::train::cpu::reference
