// tests/storage/fault_run_test.cpp - the fault run of bench/storage_faults in small: every kind of
// fault, every byte checked. Its time is measured there and not here.
// SPDX-License-Identifier: Apache-2.0
#include "tests/storage/fault_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::storage::testing::fault_run_test {
namespace {

class FaultRunOf : public ::testing::TestWithParam<Protocol> {};
INSTANTIATE_TEST_SUITE_P(Protocols, FaultRunOf, ::testing::Values(Protocol::s3, Protocol::google));

TEST_P(FaultRunOf, NoReadFailsAndEveryByteIsRight) {
  const auto run = run_faults({.protocol = GetParam(),
                               .objects = 40,
                               .reads_per_object = 50,
                               .read_bytes = 8192,
                               .threads = 16,
                               .fault_rate = 0.1,
                               .seed = 1,
                               .waits = false});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->reads, 2000U);
  EXPECT_EQ(run->failed, 0U) << ::testing::PrintToString(run->errors);
  EXPECT_EQ(run->objects_right, 40U);
  EXPECT_THAT(run->faults, ::testing::Each(::testing::Ge(5U)));  // 20 expected
  EXPECT_GE(run->client["retries"].get<std::uint64_t>(), 50U);
}

TEST_P(FaultRunOf, WithThreeAttemptsFailuresNameObjectCauseAndAttempts) {
  const auto run = run_faults({.protocol = GetParam(),
                               .objects = 20,
                               .reads_per_object = 50,
                               .read_bytes = 1000,
                               .threads = 16,
                               .fault_rate = 0.5,
                               .seed = 2,
                               .attempts = 3,
                               .waits = false});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_GE(run->failed, 5U);  // about 40 expected
  EXPECT_EQ(run->failed, run->errors.size());
  EXPECT_EQ(run->objects_wrong, 0U);
  for (const std::string& error : run->errors)
    EXPECT_TRUE(names_object_cause_and_attempts(error, 3)) << error;
}

}  // namespace
}  // namespace sluice::storage::testing::fault_run_test
