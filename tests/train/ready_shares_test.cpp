// tests/train/ready_shares_test.cpp - when buckets are whole, of a real program.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/world/ready_shares.h"

#include "sluice/train/engine.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sluice::train::ready_shares_test {
namespace {

Program program_of(const char* model) {
  EngineConfig config;
  config.model = *find_model(model);
  config.batch = 2;
  config.device = "cpu";
  return *plan_engine(config);
}

TEST(ReadyShares, GrowInTheOrderOfBackwardAndEndWithIt) {
  for (const char* model : {"vit5-tiny", "gpt-tiny"}) {
    const Program program = program_of(model);
    const auto buckets = gradient_buckets(program, std::size_t{1} << 20);
    const std::vector<double> shares = ready_shares(program, buckets);
    ASSERT_EQ(shares.size(), buckets.size());
    EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end())) << model;
    EXPECT_GT(shares.front(), 0) << model;
    EXPECT_LT(shares.front(), 0.5) << model << ": the last layers come first";
    EXPECT_GT(shares.back(), 0.95) << model;
    EXPECT_LE(shares.back(), 1) << model;
  }
}

TEST(ReadyShares, OneBucketOfEverythingIsWholeInTheEnd) {
  const Program program = program_of("vit5-tiny");
  const auto buckets = gradient_buckets(program, std::size_t{1} << 30);
  for (const double share : ready_shares(program, buckets))
    EXPECT_GT(share, 0.9);
}

}  // namespace
}  // namespace sluice::train::ready_shares_test
