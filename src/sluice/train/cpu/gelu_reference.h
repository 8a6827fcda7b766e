// sluice/train/cpu/gelu_reference.h - what gelu.h computes, in plain loops; T is float or double.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cpu/team.h"

#include <cmath>
#include <cstdint>
#include <numbers>

namespace sluice::train::cpu::reference {

/// Φ(x), the normal distribution; by erfc, which keeps its digits far below 0.
template <class T>
T normal_below(T x) {
  return std::erfc(-x / std::numbers::sqrt2_v<T>) / 2;
}

template <class T>
void gelu_forward(T* y, const T* x, Rows elements) {
  for (std::int64_t i = elements.begin; i < elements.end; ++i)
    y[i] = x[i] * normal_below(x[i]);
}

template <class T>
void gelu_backward(T* dx, const T* dy, const T* x, Rows elements) {
  const T peak = std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>;
  for (std::int64_t i = elements.begin; i < elements.end; ++i)
    dx[i] = dy[i] * (normal_below(x[i]) + x[i] * peak * std::exp(-x[i] * x[i] / 2));
}

template <class T>
void add_into(T* y, const T* x, Rows elements) {
  for (std::int64_t i = elements.begin; i < elements.end; ++i)
    y[i] += x[i];
}

}  // namespace sluice::train::cpu::reference
