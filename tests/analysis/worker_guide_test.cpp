// tests/analysis/worker_guide_test.cpp - where more workers stop paying, and what they take.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/sweep/worker_guide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::analysis::worker_guide_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WorkerGuide, TheKneeIsWhereADoublingBringsLessThanATenth) {
  const std::vector<WorkerPoint> points{{1, 100, 50e6}, {2, 190, 60e6},  {2, 150, 61e6},
                                        {4, 300, 80e6}, {8, 315, 120e6}, {16, 320, 200e6}};
  const auto guide = worker_guide(points, {.cores = 4, .free_bytes = 1e9});
  ASSERT_TRUE(guide);
  EXPECT_EQ(guide->knee, 4);
  EXPECT_EQ(guide->most, 16);
  EXPECT_DOUBLE_EQ(guide->past_knee, 320.0 / 300);
  ASSERT_TRUE(guide->bytes_per_worker.value);
  EXPECT_NEAR(*guide->bytes_per_worker.value, 10e6, 1e6);
  EXPECT_THAT(guide->advice,
              ElementsAre(HasSubstr("past 4 workers returns diminish: up to 16 were tried"),
                          HasSubstr("40 workers fit into 40 % of the 1.0 GB")));
}

TEST(WorkerGuide, ARateThatStillRisesHasNoKnee) {
  const auto guide = worker_guide(std::vector<WorkerPoint>{{1, 100}, {2, 200}, {4, 400}}, {});
  ASSERT_TRUE(guide);
  EXPECT_FALSE(guide->knee);
  EXPECT_FALSE(guide->bytes_per_worker.value);
  EXPECT_THAT(guide->advice.front(), HasSubstr("still rises at 4 workers"));
}

TEST(WorkerGuide, OfABucketMoreWorkersThanCoresAreCompared) {
  const std::vector<WorkerPoint> points{{2, 100}, {8, 210}};
  const auto guide = worker_guide(points, {.cores = 2, .remote = true});
  ASSERT_TRUE(guide);
  EXPECT_THAT(guide->advice.back(), HasSubstr("8 workers are 2.10 x as fast as one per core"));
  const auto untried = worker_guide(points, {.cores = 8, .remote = true});
  EXPECT_THAT(untried->advice.back(), HasSubstr("--sweep workers=8,16,32"));
}

TEST(WorkerGuide, OneNumberOfWorkersSaysNothing) {
  EXPECT_FALSE(worker_guide(std::vector<WorkerPoint>{{2, 100}, {2, 120}}, {}));
  EXPECT_FALSE(worker_guide(std::vector<WorkerPoint>{{2, 100}, {4, 0}}, {}));
}

}  // namespace
}  // namespace sluice::analysis::worker_guide_test
