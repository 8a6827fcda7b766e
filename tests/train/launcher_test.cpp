// tests/train/launcher_test.cpp - ranks by the variables of launchers, where they meet, and
// variables that disagree.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/world/launcher.h"

#include "sluice/train/world/local_ranks.h"
#include "sluice/train/world/meeting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace sluice::train::launcher_test {
namespace {

using ::testing::HasSubstr;
using Set = std::map<std::string, std::string>;

Variables variables_of(const Set& set) {
  return [&set](const char* name) -> std::optional<std::string> {
    const auto one = set.find(name);
    if (one == set.end()) return std::nullopt;
    return one->second;
  };
}
Result<LaunchedRank> found(const Set& set) {
  return find_rank(variables_of(set));
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

TEST(Launcher, RanksOfThisMachine) {
  const auto local = [](const Set& set, const Set& more) {
    const Set all = both(set, more);
    return local_ranks_of(*found(all), variables_of(all));
  };
  EXPECT_EQ(local(kMpirun, {}), 4) << "nothing is said: all of them";
  EXPECT_EQ(local(kMpirun, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}), 2);
  EXPECT_EQ(local({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}}, {{"MPI_LOCALNRANKS", "1"}}), 1);
  EXPECT_EQ(local(kTorchrun, {{"LOCAL_WORLD_SIZE", "8"}}), 8);
  EXPECT_EQ(local(kSrun, {{"SLURM_STEP_TASKS_PER_NODE", "4(x2)"}}), 4);
  EXPECT_EQ(local(kSrun, {{"SLURM_STEP_TASKS_PER_NODE", "5,3"}}), 5);
  EXPECT_EQ(local(kTorchrun, {{"LOCAL_WORLD_SIZE", "many"}}), 16);
}

TEST(Launcher, ThreadsOfARank) {
  EXPECT_EQ(threads_of_rank({.usable = 16, .affinity = 16, .node = 128}, 8), 16)
      << "bound to cores of its own, whatever the number of nodes";
  EXPECT_EQ(threads_of_rank({.usable = 128, .affinity = 128, .node = 128}, 8), 16) << "not bound";
  EXPECT_EQ(threads_of_rank({.usable = 32, .affinity = 32, .node = 64}, 8), 8)
      << "bound to a socket, with three others";
  EXPECT_EQ(threads_of_rank({.usable = 16, .affinity = 16, .node = 16}, 2), 8)
      << "an allocation that tasks share";
  EXPECT_EQ(threads_of_rank({.usable = 4, .affinity = 64, .node = 64}, 2), 2) << "a quota of both";
  EXPECT_EQ(threads_of_rank({.usable = 1, .affinity = 1, .node = 2}, 2), 1);
  EXPECT_EQ(threads_of_rank({.usable = 2, .affinity = 2, .node = 2}, 4), 1) << "at least one";
  const Set job{{"SLURM_CPUS_ON_NODE", "7"}};
  EXPECT_EQ(rank_cores(variables_of(job)).node, 7);
  const RankCores here = rank_cores(variables_of({}));
  EXPECT_GE(here.node, here.affinity);
  EXPECT_GE(here.affinity, here.usable);
}

TEST(Launcher, ABatchScriptIsNoRank) {
  expect_rank({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "8"}}, Launcher::none, 0, 1, 0);
}

TEST(Launcher, WhatSrunStartedCountsMore) {
  expect_rank(both(kSrun, kMpirun), Launcher::mpirun, 1, 4, 1);
  expect_rank(both(kSrun, kTorchrun), Launcher::torchrun, 3, 16, 3);
}

TEST(Launcher, WhoMeetsByTcp) {
  EXPECT_FALSE(found({})->by_tcp);
  EXPECT_FALSE(found(kMpirun)->by_tcp);
  EXPECT_FALSE(found(both(kMpirun, {{"PMIX_NAMESPACE", "1"}}))->by_tcp);
  EXPECT_TRUE(found(kTorchrun)->by_tcp);
  EXPECT_TRUE(found(kSrun)->by_tcp);
  EXPECT_FALSE(found(both(kSrun, {{"PMIX_NAMESPACE", "slurm.pmix.7.0"}}))->by_tcp);
  EXPECT_FALSE(found(both(kSrun, {{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}}))->by_tcp);
  EXPECT_TRUE(found(both(both(kSrun, {{"PMIX_NAMESPACE", "1"}}), kTorchrun))->by_tcp);
}

const Set kStep = both(kSrun, {{"SLURM_JOB_ID", "123"},
                               {"SLURM_STEP_NUM_NODES", "4"},
                               {"SLURM_NODEID", "2"},
                               {"SLURM_STEP_NODELIST", "gpu[07-09,12]"}});

Result<Meeting> meeting(const Set& set) {
  return meeting_of(*found(set), variables_of(set));
}
void expect_meeting(const Set& set, const std::string& address, int port, const std::string& key) {
  const auto one = meeting(set);
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->address, address);
  EXPECT_EQ(one->port, port);
  EXPECT_EQ(one->key, key);
}

TEST(Meeting, WhereTorchrunSays) {
  const Set there = both(kTorchrun, {{"MASTER_ADDR", "a"}, {"MASTER_PORT", "29500"}});
  expect_meeting(there, "a", 29501, "");
  expect_meeting(both(there, {{"TORCHELASTIC_RUN_ID", "r"}}), "a", 29501, "r");
  expect_meeting(both(there, {{"SLUICE_WORLD_PORT", "7"}, {"SLUICE_WORLD_KEY", "k"}}), "a", 7, "k");
}

TEST(Meeting, OfAStepOfSrun) {
  expect_meeting(kStep, "gpu07", 10000 + 123 * 7, "123.0");
  const auto with = [](const Set& more) { return both(more, kStep); };
  expect_meeting(with({{"SLURM_STEP_ID", "3"}}), "gpu07", 10000 + 123 * 7 + 3, "123.3");
  expect_meeting(with({{"SLURM_STEP_NUM_NODES", "1"}}), "127.0.0.1", 10861, "123.0");
  expect_meeting(with({{"MASTER_ADDR", "other"}}), "other", 10861, "123.0");
  expect_meeting(with({{"MASTER_PORT", "29500"}}), "gpu07", 29501, "123.0");
  expect_meeting(with({{"SLUICE_WORLD_PORT", "8"}}), "gpu07", 8, "123.0");
  for (const char* job : {"2857", "99999999", "4294967294"}) {
    const auto one = meeting(with({{"SLURM_JOB_ID", job}}));
    ASSERT_TRUE(one);
    EXPECT_GE(one->port, 10000) << job;
    EXPECT_LT(one->port, 30000) << job;
  }
}

TEST(Meeting, TheFirstHostOfAList) {
  const auto first = [](const char* list) { return first_host(list).value(); };
  EXPECT_EQ(first("node7"), "node7");
  EXPECT_EQ(first("node7,node3"), "node7");
  EXPECT_EQ(first("gpu[07-09,12],cpu3"), "gpu07");
  EXPECT_EQ(first("gpu[12,07]"), "gpu12");
  EXPECT_EQ(first("rack[1-2]node[03-04].example"), "rack1node03.example");
  EXPECT_EQ(first("a-b-1"), "a-b-1");
  for (const char* list : {"", ",", "a[1", "a]", "[[1]]"}) {
    const auto one = first_host(list);
    ASSERT_FALSE(one) << list;
    EXPECT_EQ(one.error().code, Errc::usage);
  }
}

TEST(Meeting, Refusals) {
  const auto says = [](const Set& set, const char* text) {
    const auto one = meeting(set);
    ASSERT_FALSE(one) << text;
    EXPECT_EQ(one.error().code, Errc::usage);
    EXPECT_THAT(one.error().message, HasSubstr(text));
    EXPECT_EQ(one.error().message.find('\n'), std::string::npos);
  };
  says(both({{"SLURM_PROCID", "0"}}, kStep),
       "SLURM_PROCID is 0 and SLURM_NODEID 2: rank 0 is not on the first node of the step");
  says(both({{"SLURM_STEP_ID", "x"}}, kStep), "SLURM_STEP_ID is x; a whole number is accepted");
  says(both({{"SLURM_STEP_NODELIST", "a[1"}}, kStep), "SLURM_STEP_NODELIST is a[1;");
  Set without = kStep;
  without.erase("SLURM_JOB_ID");
  says(without, "SLURM_JOB_ID is not set; srun sets it with SLURM_PROCID");
  without = kStep;
  without.erase("SLURM_STEP_NODELIST");
  says(without, "SLURM_STEP_NODELIST is not set");
  says(kTorchrun, "MASTER_ADDR is not set; torchrun sets it with RANK and WORLD_SIZE");
  says(both(kTorchrun, {{"MASTER_ADDR", "a"}, {"MASTER_PORT", "70000"}}),
       "MASTER_PORT is 70000; 1 to 65534 are accepted");
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
