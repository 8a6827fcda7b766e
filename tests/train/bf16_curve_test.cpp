// tests/train/bf16_curve_test.cpp - how far bf16 alone takes a learning curve from that of fp32:
// the reason for the limit of cuda_engine_test.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/engine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/train/curve_support.h"

namespace sluice::train::bf16_curve_test {
namespace {

TEST(Bf16Curve, OnTheCpuItStaysNearerThanAGpuMayLie) {
  const auto exact = testing::toy_curve("cpu", Regime::fp32);
  const auto rounded = testing::toy_curve("cpu", Regime::mixed);
  ASSERT_EQ(exact.losses.size(), std::size_t{testing::kCurveSteps});
  if (rounded.regime == Regime::fp32) GTEST_SKIP() << "this CPU has no products in bf16";
  EXPECT_LT(exact.losses.back(), exact.losses.front() / 2) << "nothing is learned";
  const testing::CurveDistance apart = testing::distance(rounded, exact);
  RecordProperty("worst", fmt::format("{:.3g}", apart.worst));
  RecordProperty("mean", fmt::format("{:.3g}", apart.mean));
  EXPECT_GT(apart.worst, 0) << "nothing was rounded";
  EXPECT_LT(apart.worst, testing::kMostCpuWorst);
  EXPECT_LT(apart.mean, testing::kMostCpuMean);
}

}  // namespace
}  // namespace sluice::train::bf16_curve_test
