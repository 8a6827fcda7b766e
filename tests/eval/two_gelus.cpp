// tests/eval/two_gelus.cpp - stands in for train/cpu/gelu.cpp when it is linked: the same functions
// in plain loops, by the error function or, when a test wants the engine wrong, by tanh.
// SPDX-License-Identifier: Apache-2.0
#include "tests/eval/two_gelus.h"

#include "sluice/train/cpu/gelu.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numbers>

namespace sluice::train::cpu {
namespace {

bool tanh_form = false;

constexpr float kSlope = 0.7978845608F;  // sqrt(2 / pi)
constexpr float kCubic = 0.044715F;

float forward(float x) {
  if (tanh_form) return 0.5F * x * (1 + std::tanh(kSlope * (x + kCubic * x * x * x)));
  return 0.5F * x * std::erfc(-x / std::numbers::sqrt2_v<float>);
}

float derivative(float x) {
  if (tanh_form) {
    const float t = std::tanh(kSlope * (x + kCubic * x * x * x));
    return 0.5F * (1 + t) + 0.5F * x * (1 - t * t) * kSlope * (1 + 3 * kCubic * x * x);
  }
  return 0.5F * std::erfc(-x / std::numbers::sqrt2_v<float>) +
         x * 0.5F * kSlope * std::exp(-x * x / 2);
}

}  // namespace

template <>
void gelu_forward(float* y, const float* x, Rows elements) {
  for (std::int64_t i = elements.begin; i < elements.end; ++i)
    y[i] = forward(x[i]);
}
template <>
void gelu_backward(float* dx, const float* dy, const float* x, Rows elements) {
  for (std::int64_t i = elements.begin; i < elements.end; ++i)
    dx[i] = dy[i] * derivative(x[i]);
}
void add_into(float* y, const float* x, Rows elements) {
  for (std::int64_t i = elements.begin; i < elements.end; ++i)
    y[i] += x[i];
}

// bf16 is not evaluated here; the linker wants them, or it would take the whole original.
template <>
void gelu_forward(Bf16* /*y*/, const Bf16* /*x*/, Rows /*elements*/) {
  std::abort();
}
template <>
void gelu_backward(Bf16* /*dx*/, const Bf16* /*dy*/, const Bf16* /*x*/, Rows /*elements*/) {
  std::abort();
}
void to_bf16(Bf16* /*y*/, const float* /*x*/, Rows /*elements*/) {
  std::abort();
}
void to_float(float* /*y*/, const Bf16* /*x*/, Rows /*elements*/) {
  std::abort();
}

}  // namespace sluice::train::cpu

namespace sluice::eval::testing {

void use_tanh_gelu(bool on) {
  train::cpu::tanh_form = on;
}

}  // namespace sluice::eval::testing
