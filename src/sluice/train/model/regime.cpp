// sluice/train/model/regime.cpp - names and types of the regimes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/model/regime.h"

#include <fmt/format.h>

namespace sluice::train {

const char* to_string(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return "F32";
    case Dtype::bf16:
      return "BF16";
    case Dtype::i32:
      return "I32";
  }
  return "";
}

std::size_t bytes_of(Dtype dtype) {
  return dtype == Dtype::bf16 ? 2 : 4;
}

const char* to_string(Regime regime) {
  switch (regime) {
    case Regime::fp32:
      return "fp32";
    case Regime::mixed:
      return "bf16";
    case Regime::mixed_bf16_residual:
      return "bf16-residual";
    case Regime::bf16:
      return "bf16-weights";
  }
  return "";
}

Result<Regime> parse_regime(std::string_view text) {
  for (const Regime regime :
       {Regime::fp32, Regime::mixed, Regime::mixed_bf16_residual, Regime::bf16}) {
    if (text == to_string(regime)) return regime;
  }
  if (text == "float32") return Regime::fp32;
  if (text == "bfloat16") return Regime::mixed;
  return Error{
      Errc::usage,
      fmt::format("--dtype '{}': fp32, bf16, bf16-residual and bf16-weights are accepted", text)};
}

Dtype activation_type(Regime regime) {
  return regime == Regime::fp32 ? Dtype::f32 : Dtype::bf16;
}

Dtype residual_type(Regime regime) {
  return regime == Regime::fp32 || regime == Regime::mixed ? Dtype::f32 : Dtype::bf16;
}

}  // namespace sluice::train
