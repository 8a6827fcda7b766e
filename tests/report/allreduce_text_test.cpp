// tests/report/allreduce_text_test.cpp - what `bench allreduce` shows, and what it shows of a row
// that failed.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/allreduce_text.h"

#include "sluice/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::report::allreduce_text_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

results::ResultFile file_of(std::int64_t machines) {
  results::ResultFile file;
  results::AllreduceSummary& found = file.allreduce.emplace();
  found.world_size = 4;
  found.machines = machines;
  found.library = "Open MPI";
  found.lines.push_back({.bytes = 8,
                         .sums = 100,
                         .time_us = {12, 11, 13, 0.95},
                         .algorithm_gb_per_s = {0.0007, 0.0006, 0.0008, 0.95},
                         .bus_gb_per_s = {0.001, 0.0009, 0.0011, 0.95}});
  found.lines.push_back({.bytes = 4 << 20,
                         .sums = 16,
                         .time_us = {2000, 2000, 2000, 0},
                         .algorithm_gb_per_s = {2.097, 2.097, 2.097, 0},
                         .bus_gb_per_s = {3.146, 3.146, 3.146, 0}});
  return file;
}

TEST(AllreduceText, SizesTimesAndTheFastestBus) {
  const std::string text = allreduce_text(file_of(1));
  EXPECT_THAT(text, HasSubstr("11.00 to 13.00"));
  EXPECT_THAT(text, HasSubstr("4 MiB"));
  EXPECT_THAT(text, HasSubstr("4 ranks by Open MPI: bus bandwidth 3.146 GB/s at 4 MiB"));
  EXPECT_THAT(text, HasSubstr("8 B take 12.00 us, 2.00 us for each of the 6 hops of a ring"));
  EXPECT_THAT(text, Not(HasSubstr("2000.0 to")));  // one sample has no interval
  EXPECT_THAT(allreduce_text(file_of(2)), HasSubstr("by Open MPI on 2 machines: "));
}

TEST(AllreduceText, ThePageHasTheTable) {
  const std::string page = html({file_of(1)});
  EXPECT_THAT(page, HasSubstr("All-reduce by size"));
  EXPECT_THAT(page, HasSubstr("4 ranks by Open MPI: bus bandwidth 3.146 GB/s"));
}

TEST(AllreduceText, ARowThatFailedSaysWhy) {
  results::ResultFile file;
  measure::Row& row = file.rows.emplace_back();
  row.case_name = "allreduce/sum/world_size=2";
  row.status = measure::RowStatus::failed;
  row.reason = "rank 1 of 2 did not come\x1b";
  EXPECT_EQ(allreduce_text(file),
            "allreduce/sum/world_size=2: failed: rank 1 of 2 did not come\\x1b\n");
}

}  // namespace
}  // namespace sluice::report::allreduce_text_test
