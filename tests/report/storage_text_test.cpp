// tests/report/storage_text_test.cpp - what a table of reads says, and what it does not claim.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/storage_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::report::storage_text_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

analysis::StorageLine line_of(const char* pattern, double rate, double p50_us) {
  analysis::StorageLine line;
  line.pattern = pattern;
  line.mode = "buffered";
  line.concurrency = 1;
  line.size = 4096;
  line.cache = "cold";
  line.rate = stats::Estimate{rate, rate, rate};
  line.mb_per_s = line.rate;
  const stats::Estimate p50{p50_us, p50_us, p50_us};
  line.latency_us = analysis::ReadLatency{p50, p50, p50, p50_us};
  line.reads = 512;
  line.smallest = line.largest = 4096;
  line.memory_share = 0;
  return line;
}

TEST(StorageText, ReadsFromADeviceAreConcludedFrom) {
  const std::string text = storage_table({line_of("random", 20000, 40)});
  EXPECT_THAT(text, HasSubstr("20000 random reads/s of 4 KiB"));
  EXPECT_THAT(text, Not(HasSubstr("\nfrom memory:")));  // nothing was warm
  EXPECT_THAT(text, Not(HasSubstr("Too little data")));
}

// A p50 of 1 us is no disk, though the pages were cold when the sample began.
TEST(StorageText, ReadsFromMemoryAreNamedAndNotTakenForTheDevice) {
  analysis::StorageLine fast = line_of("random", 900000, 1);
  fast.memory_share = 0.93;
  const std::string text = storage_table({fast, line_of("random", 20000, 40)});
  EXPECT_THAT(text, HasSubstr("cold; 93 % of reads from memory"));
  EXPECT_THAT(text, HasSubstr("at best, not from memory: 20000 random reads/s"));
  EXPECT_THAT(text, HasSubstr("came from memory: the system had read them ahead"));
  EXPECT_THAT(storage_table({fast}), Not(HasSubstr("at best")));
}

TEST(StorageText, WarmRowsAreMeantToComeFromMemory) {
  analysis::StorageLine warm = line_of("random", 900000, 1);
  warm.cache = "warm";
  warm.memory_share = 1;
  EXPECT_THAT(storage_table({warm}), Not(HasSubstr("from memory")));
}

TEST(StorageText, TooFewReadsAreMarkedAndNotConcludedFrom) {
  analysis::StorageLine few = line_of("get", 5787, 583);
  few.reads = 1;
  const std::string text = storage_table({few});
  EXPECT_THAT(text, HasSubstr("cold; only 1 read\n"));
  EXPECT_THAT(text, HasSubstr("Too little data: rows with fewer than 32 small reads"));
  EXPECT_THAT(text, Not(HasSubstr("at best")));
}

TEST(StorageText, FewLargeObjectsAreEnough) {
  analysis::StorageLine large = line_of("get", 118, 9000);
  large.reads = 8;
  large.size = 8 << 20;
  large.smallest = large.largest = large.size;
  EXPECT_THAT(storage_table({large}), HasSubstr("at best, not from memory: 118 objects/s"));
  EXPECT_THAT(storage_table({large}), Not(HasSubstr("only 8 reads")));
}

TEST(StorageText, ObjectsAreNamedByWhatTheyAre) {
  analysis::StorageLine some = line_of("get", 100, 100);
  some.size = 131072;
  some.reads = 58;
  some.smallest = 31949;
  some.largest = 98714;
  EXPECT_THAT(storage_table({some}), HasSubstr("58 of 31.2 to 96.4 KiB"));
  some.smallest = 900;
  EXPECT_THAT(storage_table({some}), HasSubstr("58 of 900 B to 96.4 KiB"));
  some.smallest = some.largest = 131072;
  EXPECT_THAT(storage_table({some}), HasSubstr("58 of 128 KiB"));
  some.smallest.reset();  // a file of an earlier version
  EXPECT_THAT(storage_table({some}), HasSubstr("up to 128 KiB"));
}

TEST(StorageText, ASmallInputIsSaidToBeSmall) {
  results::ResultFile file;
  file.timing.data_source = "file";
  file.dataset.bytes = 3'785'564;
  file.dataset.count = 64;
  file.storage = results::StorageMetrics{{line_of("random", 20000, 40)}};
  EXPECT_THAT(storage_text(file), HasSubstr("The input is small: 3.6 MiB in 64 files"));
  file.dataset.bytes = 100'000'000;
  EXPECT_THAT(storage_text(file), Not(HasSubstr("The input is small")));
  file.dataset.bytes = 1000;
  file.timing.data_source = "object store";
  EXPECT_THAT(storage_text(file), Not(HasSubstr("The input is small")));
}

}  // namespace
}  // namespace sluice::report::storage_text_test
