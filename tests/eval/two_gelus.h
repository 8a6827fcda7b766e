// tests/eval/two_gelus.h - which GELU the engine of this test program computes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sluice::eval::testing {

/// Off at first: the error function, as the engine has it.
void use_tanh_gelu(bool on);

}  // namespace sluice::eval::testing
