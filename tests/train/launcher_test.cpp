// tests/train/launcher_test.cpp - ranks by the variables of launchers, and variables that disagree.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/world/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace sluice::train::launcher_test {
namespace {

using ::testing::HasSubstr;
using Set = std::map<std::string, std::string>;

Result<LaunchedRank> found(const Set& set) {
  return find_rank([&set](const char* name) -> std::optional<std::string> {
    const auto one = set.find(name);
    if (one == set.end()) return std::nullopt;
    return one->second;
  });
}
void expect_rank(const Set& set, Launcher launcher, int rank, int size, int local_rank) {
  const auto one = found(set);
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->launcher, launcher);
  EXPECT_EQ(one->rank, rank);
  EXPECT_EQ(one->size, size);
  EXPECT_EQ(one->local_rank, local_rank);
}

const Set kMpirun{{"OMPI_COMM_WORLD_RANK", "1"},
                  {"OMPI_COMM_WORLD_SIZE", "4"},
                  {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}};
const Set kSrun{{"SLURM_STEP_ID", "0"},
                {"SLURM_PROCID", "5"},
                {"SLURM_STEP_NUM_TASKS", "8"},
                {"SLURM_LOCALID", "1"}};
const Set kTorchrun{{"RANK", "3"}, {"WORLD_SIZE", "16"}, {"LOCAL_RANK", "3"}};

Set both(Set one, const Set& other) {
  one.insert(other.begin(), other.end());
  return one;
}

TEST(Launcher, VariablesOfEach) {
  expect_rank({}, Launcher::none, 0, 1, 0);
  expect_rank(kMpirun, Launcher::mpirun, 1, 4, 1);
  expect_rank({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}}, Launcher::mpirun, 2, 3, 0);
  expect_rank(kSrun, Launcher::srun, 5, 8, 1);
  expect_rank(kTorchrun, Launcher::torchrun, 3, 16, 3);
}

TEST(Launcher, ABatchScriptIsNoRank) {
  expect_rank({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "8"}}, Launcher::none, 0, 1, 0);
}

TEST(Launcher, WhatSrunStartedCountsMore) {
  expect_rank(both(kSrun, kMpirun), Launcher::mpirun, 1, 4, 1);
  expect_rank(both(kSrun, kTorchrun), Launcher::torchrun, 3, 16, 3);
}

TEST(Launcher, Refusals) {
  const auto says = [](const Set& set, const char* text) {
    const auto one = found(set);
    ASSERT_FALSE(one);
    EXPECT_EQ(one.error().code, Errc::usage);
    EXPECT_THAT(one.error().message, HasSubstr(text));
  };
  says(
      both(kMpirun, kTorchrun),
      "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE say rank 1 of 4, RANK and WORLD_SIZE say rank "
      "3 of 16");
  says({{"RANK", "0"}}, "RANK is set and WORLD_SIZE is not");
  says({{"WORLD_SIZE", "2"}}, "WORLD_SIZE is set and RANK is not");
  says({{"RANK", "0"}, {"WORLD_SIZE", "0"}}, "WORLD_SIZE is 0; 1 to 1048576 are accepted");
  says({{"RANK", "2"}, {"WORLD_SIZE", "2"}}, "RANK is 2; 0 to 1 are accepted");
  says({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}, "RANK is -1; 0 to 1 are accepted");
  says({{"RANK", "1x"}, {"WORLD_SIZE", "2"}}, "RANK is 1x; 0 to 1 are accepted");
}

}  // namespace
}  // namespace sluice::train::launcher_test
