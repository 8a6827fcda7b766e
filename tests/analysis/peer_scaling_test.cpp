// tests/analysis/peer_scaling_test.cpp - ranks of another library beside one process of it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/world/peer_scaling.h"

#include "sluice/measure/summary.h"

#include <gtest/gtest.h>

namespace sluice::analysis::peer_scaling_test {
namespace {

measure::Row row_of(const char* library, int ranks, std::int64_t step_ns) {
  measure::Row row;
  row.library = library;
  row.params = {{"batch_size", "8"}};
  if (ranks > 1) row.params["world_size"] = std::to_string(ranks);
  row.items_per_sample = 8 * ranks;
  for (int i = 0; i < 3; ++i) {
    measure::Run& run = row.runs.emplace_back();
    run.block = i;
    run.samples_ns = {step_ns + i, step_ns + i};
  }
  measure::summarise(row, 0.15);
  return row;
}

TEST(PeerScalingTest, RanksAreComparedWithOneProcessOfTheirLibrary) {
  const auto lines =
      peer_scaling({row_of("sluice", 1, 40'000'000), row_of("sluice", 2, 41'000'000),
                    row_of("torch-ddp", 1, 50'000'000), row_of("torch-ddp", 2, 62'500'000)});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].library, "torch-ddp");
  EXPECT_EQ(lines[0].world_size, 2);
  EXPECT_NEAR(lines[0].samples_per_s, 16 / 0.0625, 1e-3);
  EXPECT_NEAR(lines[0].alone_samples_per_s, 160, 1e-3);
  EXPECT_NEAR(lines[0].efficiency, 0.8, 1e-6);
  ASSERT_TRUE(lines[0].efficiency_of_runs);
  EXPECT_NEAR(lines[0].efficiency_of_runs->point, 0.8, 1e-6);
}

TEST(PeerScalingTest, WithoutOneProcessOrAMeasurementThereIsNone) {
  EXPECT_TRUE(peer_scaling({row_of("torch-ddp", 2, 62'500'000)}).empty());
  measure::Row failed = row_of("torch-ddp", 2, 62'500'000);
  failed.status = measure::RowStatus::failed;
  EXPECT_TRUE(peer_scaling({row_of("torch-ddp", 1, 50'000'000), failed}).empty());
}

}  // namespace
}  // namespace sluice::analysis::peer_scaling_test
