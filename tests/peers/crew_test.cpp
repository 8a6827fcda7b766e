// tests/peers/crew_test.cpp - one crew over many cases, with scripted workers.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/crew.h"

#include "tests/measure/scripted_world.h"
#include <set>

namespace sluice::peers::crew_test {
namespace {

using measure::Row;
using measure::RowStatus;

class CrewTest : public ::testing::Test {
 protected:
  CrewTest() {
    log::set_level(log::Level::off);
    world.preflight_everywhere = false;
    options.policy.runs = 3;
    options.policy.min_sample_ms = 10;
    options.policy.seed = 5;
    options.thread_policy = "micro-single";
    options.cpu_limit = 1.05;
    options.load.data_dir = "d";
    context.clock = &world.clock;
    context.launcher = &world;
    context.progress = &Progress::silent();
    context.session_id = "s1";
  }
  ~CrewTest() override { EXPECT_TRUE(world.alive.empty()) << "a worker was left behind"; }

  void use(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      Member member;
      member.library = name;
      member.command = {name};
      options.members.push_back(member);
    }
  }

  /// Rows of `cases` cases named c0, c1, ...
  std::vector<std::vector<Row>> run(int cases) {
    Crew crew(options, context);
    auto left_out = crew.start();
    EXPECT_TRUE(left_out);
    processes = crew.processes_per_library();
    std::vector<std::vector<Row>> rows;
    for (int i = 0; i < cases; ++i) {
      CrewCase one;
      one.name = "c" + std::to_string(i);
      one.spec = Json{{"transform", one.name}};
      auto measured = crew.measure(one, i);
      EXPECT_TRUE(measured) << (measured ? "" : measured.error().message);
      if (measured) rows.push_back(*measured);
    }
    return rows;
  }

  measure::World world;
  measure::RunnerContext context;
  CrewOptions options;
  int processes = 0;
};

TEST_F(CrewTest, OneProcessPerLibraryAndRunServesAllCases) {
  use({"a", "b"});
  const auto rows = run(4);
  EXPECT_EQ(world.launches["a"], 3);
  EXPECT_EQ(world.launches["b"], 3);
  ASSERT_EQ(rows.size(), 4U);
  for (const auto& of_case : rows) {
    ASSERT_EQ(of_case.size(), 2U);
    for (const Row& row : of_case) {
      EXPECT_EQ(row.status, RowStatus::ok) << row.reason;
      EXPECT_EQ(row.thread_policy.name, "micro-single");
      ASSERT_EQ(row.runs.size(), 3U);
      std::set<std::int64_t> pids;
      for (const measure::Run& run : row.runs)
        pids.insert(run.pid);
      EXPECT_EQ(pids.size(), 3U) << "runs are fresh processes for each other";
      EXPECT_EQ(row.items_per_sample, 4 * 10);  // 10 ms of passes of 1 ms, 4 items each
    }
  }
}

TEST_F(CrewTest, LibrariesAlternateInRandomOrderWithinABlock) {
  use({"a", "b", "c"});
  run(8);
  ASSERT_EQ(world.measured.size(), 3U * 3U * 8U);
  std::set<std::string> orders;
  for (std::size_t at = 0; at < world.measured.size(); at += 3) {
    std::string order;
    for (std::size_t k = 0; k < 3; ++k)
      order += world.measured[at + k].name;
    std::string sorted = order;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, "abc") << "a block has every library once";
    orders.insert(order);
  }
  EXPECT_GE(orders.size(), 3U);
}

TEST_F(CrewTest, ACrashCostsOneRowAndTheNextCaseHasANewProcess) {
  use({"a", "b"});
  int measures = 0;
  world.hook = [&](const std::string& name, const std::string& type, int, Json&) {
    if (name == "b" && type == "measure" && ++measures == 4)  // the first of the second case
      return std::optional<Error>(Error{Errc::measurement, "killed by signal 11"});
    return std::optional<Error>();
  };
  const auto rows = run(3);
  EXPECT_EQ(rows[0][1].status, RowStatus::ok);
  EXPECT_EQ(rows[1][0].status, RowStatus::ok);
  EXPECT_EQ(rows[1][1].status, RowStatus::failed);
  EXPECT_EQ(rows[1][1].reason, "killed by signal 11");
  EXPECT_EQ(rows[2][1].status, RowStatus::ok);
  EXPECT_EQ(world.launches["a"], 3);
  EXPECT_EQ(world.launches["b"], 4);
}

TEST_F(CrewTest, UnsupportedKeepsItsReasonAndItsProcess) {
  use({"a"});
  world.hook = [](const std::string&, const std::string& type, int, Json&) {
    if (type == "prepare") return std::optional<Error>(Error{Errc::unsupported, "a has no c0"});
    return std::optional<Error>();
  };
  const auto rows = run(2);
  EXPECT_EQ(rows[1][0].status, RowStatus::unsupported);
  EXPECT_EQ(rows[1][0].reason, "a has no c0");
  EXPECT_EQ(world.launches["a"], 1);
}

TEST_F(CrewTest, ASlowItemStopsTheRowAtTheLimitInclusive) {
  use({"a"});
  options.policy.slow_item_s = 0.05;
  world.pass_ns = 200'000'000;  // 4 items of exactly 50 ms
  const auto rows = run(1);
  EXPECT_EQ(rows[0][0].status, RowStatus::early_stopped);
  EXPECT_EQ(rows[0][0].reason, "preflight: 0.05 s per item, the limit is 0.05 s");
  EXPECT_TRUE(rows[0][0].runs.empty());
  EXPECT_TRUE(world.measured.empty());
}

TEST_F(CrewTest, APreflightWithoutEndStopsTheRowToo) {
  use({"a"});
  world.hook = [](const std::string&, const std::string& type, int launch, Json&) {
    if (type == "preflight" && launch == 1)
      return std::optional<Error>(Error{Errc::timeout, "preflight: no answer within 60 s; killed"});
    return std::optional<Error>();
  };
  const auto rows = run(2);
  EXPECT_EQ(rows[0][0].status, RowStatus::early_stopped);
  EXPECT_EQ(rows[0][0].reason, "preflight: 10 items took longer than 60 s");
  EXPECT_EQ(rows[1][0].status, RowStatus::ok) << "in a new process";
}

TEST_F(CrewTest, AnAbsentMemberSaysWhyAndStartsNothing) {
  use({"a", "b"});
  options.members[1].absent = "environment 'torch' is not installed";
  const auto rows = run(2);
  EXPECT_EQ(rows[0][0].status, RowStatus::ok);
  EXPECT_EQ(rows[0][1].status, RowStatus::unsupported);
  EXPECT_EQ(rows[1][1].reason, "environment 'torch' is not installed");
  EXPECT_EQ(world.launches["b"], 0);
}

TEST_F(CrewTest, AnExcludedLibraryIsNotAsked) {
  use({"a", "b"});
  Crew crew(options, context);
  ASSERT_TRUE(crew.start());
  const auto rows = crew.measure(
      CrewCase{"c0", {}, Json::object(), {{"b", {RowStatus::skipped, "crashes here"}}}}, 0);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->at(0).status, RowStatus::ok);
  EXPECT_EQ(rows->at(1).status, RowStatus::skipped);
  EXPECT_EQ(rows->at(1).reason, "crashes here");
  EXPECT_TRUE(std::all_of(world.measured.begin(), world.measured.end(),
                          [](const auto& taken) { return taken.name == "a"; }));
}

TEST_F(CrewTest, ALibraryThatNeverComesUpIsGivenUpAfterTwoAttempts) {
  use({"a", "b"});
  world.hook = [](const std::string& name, const std::string& type, int, Json&) {
    if (name == "b" && type == "load")
      return std::optional<Error>(Error{Errc::measurement, "load: the worker exited with code 1"});
    return std::optional<Error>();
  };
  const auto rows = run(4);
  EXPECT_EQ(world.launches["b"], 2);
  for (const auto& of_case : rows) {
    EXPECT_EQ(of_case[0].status, RowStatus::ok);
    EXPECT_EQ(of_case[1].status, RowStatus::failed);
    EXPECT_EQ(of_case[1].reason, "load: the worker exited with code 1");
  }
}

TEST_F(CrewTest, AMissingDeviceIsUnsupportedAtOnce) {
  use({"a"});
  world.hook = [](const std::string&, const std::string& type, int, Json&) {
    if (type == "configure")
      return std::optional<Error>(Error{Errc::unsupported, "no CUDA device"});
    return std::optional<Error>();
  };
  const auto rows = run(3);
  EXPECT_EQ(world.launches["a"], 1);
  EXPECT_EQ(rows[2][0].status, RowStatus::unsupported);
  EXPECT_EQ(rows[2][0].reason, "no CUDA device");
}

TEST_F(CrewTest, ADigestThatDiffersBetweenProcessesFailsTheRow) {
  use({"a"});
  world.hook = [](const std::string&, const std::string& type, int launch, Json& answer) {
    if (type == "check") answer["digest"] = "d" + std::to_string(launch);
    return std::optional<Error>();
  };
  const auto rows = run(1);
  EXPECT_EQ(rows[0][0].status, RowStatus::failed);
  EXPECT_THAT(rows[0][0].reason, ::testing::HasSubstr("output differs between processes"));
  EXPECT_TRUE(world.measured.empty()) << "results before times";
}

TEST_F(CrewTest, ATooShortFirstSampleIsTakenAgainWithMorePasses) {
  use({"a"});
  world.hook = [](const std::string&, const std::string& type, int, Json& answer) {
    if (type == "preflight") answer["pass_ns"] = 10'000'000;  // cold: ten times too slow
    return std::optional<Error>();
  };
  const auto rows = run(1);
  EXPECT_EQ(rows[0][0].status, RowStatus::ok);
  EXPECT_EQ(rows[0][0].items_per_sample, 4 * 11);
  EXPECT_EQ(rows[0][0].runs.size(), 3U);
  EXPECT_EQ(rows[0][0].runs[0].samples_ns, std::vector<std::int64_t>{11'000'000});
  EXPECT_EQ(rows[0][0].runs[0].cpu_ns, 11'000'000) << "the dropped sample leaves nothing behind";
}

TEST_F(CrewTest, MoreBusyCoresThanThePolicyAsksForFailTheRow) {
  use({"a"});
  world.hook = [](const std::string&, const std::string& type, int, Json& answer) {
    if (type == "measure") answer["cpu_ns"] = 2 * answer["samples_ns"][0].get<std::int64_t>();
    return std::optional<Error>();
  };
  const auto rows = run(1);
  EXPECT_EQ(rows[0][0].status, RowStatus::failed);
  EXPECT_EQ(rows[0][0].reason, "thread policy violated: 2.00 cores busy, micro-single asks for 1");
}

TEST_F(CrewTest, GpuMemoryIsTheLargestOfTheRuns) {
  use({"a"});
  int n = 0;
  world.hook = [&](const std::string&, const std::string& type, int, Json& answer) {
    if (type == "measure")
      answer["gpu_memory"] =
          Json{{"peak_allocated_bytes", ++n == 2 ? 700 : 5}, {"peak_reserved_bytes", 1000}};
    return std::optional<Error>();
  };
  const auto rows = run(1);
  ASSERT_TRUE(rows[0][0].gpu_memory);
  EXPECT_EQ(rows[0][0].gpu_memory->peak_allocated_bytes, 700);
  EXPECT_EQ(rows[0][0].gpu_memory->peak_reserved_bytes, 1000);
}

TEST_F(CrewTest, InterruptionKeepsNothingOfTheCase) {
  use({"a", "b"});
  int measures = 0;
  world.hook = [&](const std::string&, const std::string& type, int, Json&) {
    if (type == "measure") ++measures;
    return std::optional<Error>();
  };
  context.interrupted = [&] { return measures >= 2; };
  Crew crew(options, context);
  ASSERT_TRUE(crew.start());
  const auto measured = crew.measure(CrewCase{"c0", {}, Json::object(), {}}, 0);
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().code, Errc::interrupted);
}

}  // namespace
}  // namespace sluice::peers::crew_test
