// tests/analysis/peer_step_test.cpp - another library's loader: verdict by times, advice by what
// was tried.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/peer_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::analysis::peer_step_test {
namespace {

using results::Bottleneck;
using ::testing::HasSubstr;

/// 32 samples of `ms` each, three runs with a little noise.
measure::Row row_of(double ms) {
  measure::Row row;
  row.case_name = "loader/rrc224-antialias";
  row.library = "torch-pil";
  row.items_per_sample = 32;
  for (int block = 0; block < 3; ++block) {
    measure::Run run;
    run.block = block;
    run.samples_ns = {static_cast<std::int64_t>(ms * 1e6 * (1 + 0.001 * block))};
    row.runs.push_back(run);
  }
  row.summary.emplace();
  row.summary->mean = 32e3 / ms;
  return row;
}

TEST(PeerStepTest, WhatWasTriedAndIsFasterIsAdvised) {
  const auto found = peer_diagnosis(
      row_of(100), {{0, "now", row_of(110)}, {2, "two", row_of(55)}, {4, "four", row_of(60)}}, 10,
      32);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->attribution.value->verdict, Bottleneck::input);
  ASSERT_EQ(found->advice.size(), 2U);
  EXPECT_EQ(found->advice[0].how, "two");
  EXPECT_EQ(found->advice[0].what, "use 2 workers instead of 0");
  EXPECT_NEAR(found->advice[0].gain.point, 2, 0.01);
  EXPECT_THAT(found->findings.front().solutions.front(), HasSubstr("two"));
}

TEST(PeerStepTest, WhatIsAsFastIsKept) {
  const auto found =
      peer_diagnosis(row_of(100), {{2, "now", row_of(110)}, {4, "four", row_of(109)}}, 10, 32);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->advice.empty());
  ASSERT_EQ(found->findings.front().solutions.size(), 1U);
  EXPECT_THAT(found->findings.front().solutions.front(), HasSubstr("keep `now`"));
}

TEST(PeerStepTest, AStepThatIsTheLimitHearsNothing) {
  const auto found =
      peer_diagnosis(row_of(20), {{2, "now", row_of(101)}, {4, "four", row_of(50)}}, 100, 32);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->attribution.value->verdict, Bottleneck::compute);
  EXPECT_TRUE(found->advice.empty());
}

TEST(PeerStepTest, ARowThatFailedGivesItsReason) {
  measure::Row failed = row_of(10);
  failed.summary.reset();
  failed.reason = "it died";
  const auto found = peer_diagnosis(row_of(20), {{2, "now", failed}}, 100, 32);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("it died"));
}

}  // namespace
}  // namespace sluice::analysis::peer_step_test
