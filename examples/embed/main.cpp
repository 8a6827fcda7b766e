// examples/embed/main.cpp - Sluice from C++: which machine is this, how fast is a piece of code,
// did it get slower.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <sluice/core/rng.h>
#include <sluice/core/version.h>

int main() {
  fmt::print("sluice {}\n", sluice::version::kProgram);
  sluice::Rng rng(sluice::RngKey{.seed = 1});
  fmt::print("first draw of seed 1: {}\n", rng.next_u32());
  return 0;
}
