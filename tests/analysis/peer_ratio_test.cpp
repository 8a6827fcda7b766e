// tests/analysis/peer_ratio_test.cpp - pairs by block, whatever order the runs are stored in.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/peer_ratio.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice::analysis::peer_ratio_test {
namespace {

measure::Row row(const std::string& library,
                 const std::vector<std::pair<int, std::int64_t>>& block_and_ns) {
  measure::Row made;
  made.case_name = "decode/jpeg/threads=1";
  made.library = library;
  made.items_per_sample = 64;
  for (const auto& [block, ns] : block_and_ns) {
    measure::Run run;
    run.block = block;
    run.samples_ns = {ns};
    made.runs.push_back(run);
  }
  return made;
}

TEST(PeerRatioTest, PairsRunsOfOneBlock) {
  results::ResultFile file;
  // The machine halves its speed in block 1; the ratio inside each block stays 1.25.
  file.rows = {row("sluice", {{0, 80}, {1, 160}, {2, 80}}),
               row("opencv", {{2, 100}, {1, 200}, {0, 100}})};
  const auto ratios = peer_ratios(file);
  ASSERT_EQ(ratios.size(), 1U);
  EXPECT_EQ(ratios[0].peer, "opencv");
  EXPECT_EQ(ratios[0].pairs, 3);
  EXPECT_NEAR(ratios[0].ratio.point, 1.25, 1e-12);
  EXPECT_NEAR(ratios[0].ratio.low, 1.25, 1e-9);
  EXPECT_NEAR(ratios[0].ratio.high, 1.25, 1e-9);
}

TEST(PeerRatioTest, BlocksWithoutAPartnerDoNotCount) {
  results::ResultFile file;
  file.rows = {row("sluice", {{0, 100}, {1, 100}, {5, 1}}),
               row("opencv", {{0, 200}, {1, 200}, {7, 1}})};
  const auto ratios = peer_ratios(file);
  ASSERT_EQ(ratios.size(), 1U);
  EXPECT_EQ(ratios[0].pairs, 2);
  EXPECT_NEAR(ratios[0].ratio.point, 2.0, 1e-12);
}

TEST(PeerRatioTest, ClaimsNothingFromOnePairOrFromRowsThatAreNotOk) {
  results::ResultFile file;
  file.rows = {row("sluice", {{0, 100}}), row("opencv", {{0, 200}})};
  EXPECT_TRUE(peer_ratios(file).empty());
  file.rows = {row("sluice", {{0, 100}, {1, 100}}), row("opencv", {{0, 200}, {1, 200}})};
  file.rows[1].status = measure::RowStatus::failed;
  EXPECT_TRUE(peer_ratios(file).empty());
  file.rows[1].status = measure::RowStatus::ok;
  EXPECT_EQ(peer_ratios(file).size(), 1U);
  EXPECT_TRUE(peer_ratios(file, "pillow").empty());
}

TEST(PeerRatioTest, IntervalWidensWithDisagreement) {
  results::ResultFile file;
  file.rows = {row("sluice", {{0, 100}, {1, 100}, {2, 100}}),
               row("opencv", {{0, 90}, {1, 100}, {2, 110}})};
  const auto ratios = peer_ratios(file);
  ASSERT_EQ(ratios.size(), 1U);
  EXPECT_NEAR(ratios[0].ratio.point, std::cbrt(0.9 * 1.1), 1e-12);
  EXPECT_LT(ratios[0].ratio.low, 1.0);
  EXPECT_GT(ratios[0].ratio.high, 1.0);
}

}  // namespace
}  // namespace sluice::analysis::peer_ratio_test
