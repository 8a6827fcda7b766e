// tests/train/engine_mix_test.cpp - Mixup and CutMix inside the engine, on the CPU.
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/engine_mix_case.h"

namespace sluice::train::engine_mix_test {
namespace {

TEST(EngineMix, IsThatOfTheHost) {
  testing::engine_mixes_where_it_holds_the_batch("cpu");
}

}  // namespace
}  // namespace sluice::train::engine_mix_test
