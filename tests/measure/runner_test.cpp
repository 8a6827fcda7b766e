// tests/measure/runner_test.cpp - order, isolation, failures and statuses of a wave; no process, no
// clock.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/summary.h"

#include "tests/measure/scripted_world.h"
#include <set>

namespace sluice::measure::runner_test {
namespace {

using ::testing::HasSubstr;
using RunnerTest = RunnerFixture;  // whose workers check that no two ever run at once

TEST_F(RunnerTest, EverySubjectOncePerBlockInAFreshProcess) {
  use({"a", "b", "c", "d", "e"});
  const WaveResult wave = run();
  EXPECT_FALSE(wave.interrupted);
  ASSERT_EQ(wave.rows.size(), 5u);
  const auto orders = world.orders(2);
  ASSERT_EQ(orders.size(), 3u);
  std::set<std::vector<std::string>> different;
  for (std::vector<std::string> order : orders) {
    different.insert(order);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector<std::string>{"a", "b", "c", "d", "e"}));
  }
  EXPECT_GT(different.size(), 1u) << "the order of the blocks is always the same";
  std::set<std::int64_t> pids;
  for (const Row& row : wave.rows) {
    EXPECT_EQ(row.status, RowStatus::ok) << row.reason;
    EXPECT_EQ(row.reason, "");
    ASSERT_EQ(row.runs.size(), 3u);
    for (int block = 0; block < 3; ++block) {
      const measure::Run& one = row.runs[static_cast<std::size_t>(block)];
      EXPECT_EQ(one.block, block);
      EXPECT_EQ(one.run_id, "s1/" + row.case_name + "/sluice/" + std::to_string(block));
      EXPECT_EQ(one.samples_ns, (std::vector<std::int64_t>{10'000'000, 10'000'000}));
      const auto& order = orders[static_cast<std::size_t>(block)];
      EXPECT_EQ(order.at(static_cast<std::size_t>(one.position)), row.case_name.substr(5));
      pids.insert(one.pid);
    }
  }
  EXPECT_EQ(pids.size(), 15u);
}

TEST_F(RunnerTest, ATurnIsSeveralSamplesInARow) {
  for (const bool knows_samples : {false, true}) {
    World fresh;
    std::vector<Json> requests;
    fresh.hook = [&](const std::string&, const std::string& type, int, Json& reply) {
      if (type == "measure" && knows_samples) {  // as many as were asked for
        const auto count = fresh.last_request.value("samples", 1);
        reply["samples_ns"] = std::vector<std::int64_t>(static_cast<std::size_t>(count), 7'000'000);
        reply["cpu_ns"] = 7'000'000 * count;
      }
      if (type == "measure") requests.push_back(fresh.last_request);
      return std::nullopt;
    };
    context.launcher = &fresh;
    context.clock = &fresh.clock;
    policy.runs = 1;
    policy.samples_per_run = 5;
    policy.samples_per_turn = 3;
    subjects.clear();
    use({"a", "b"});
    const WaveResult wave = run();
    for (const Row& row : wave.rows) {
      ASSERT_EQ(row.status, RowStatus::ok) << row.reason;
      EXPECT_EQ(row.runs.at(0).samples_ns.size(), 5u);
    }
    // Turns of 3 and 2; a worker that gives one at a time is asked 5 times, and warmed up twice.
    EXPECT_EQ(requests.size(), knows_samples ? 4u : 10u);
    int warmed = 0;
    for (const Json& request : requests)
      warmed += request.at("warmup_ms").get<double>() > 0 ? 1 : 0;
    EXPECT_EQ(warmed, 4);
    for (std::size_t i = 1; !knows_samples && i < 3; ++i)
      EXPECT_EQ(fresh.measured[i].name, fresh.measured[0].name) << "a turn was interrupted";
  }
}

TEST_F(RunnerTest, ASinglePassComesFirstAndOnItsOwnCores) {
  use({"a", "b"});
  subjects[0].single_pass = true;
  subjects[0].cpus = {1, 3};
  policy.cpus = {0};
  policy.samples_per_run = 1;
  world.preflight_everywhere = false;
  world.hook = [&](const std::string& name, const std::string& type, int, Json&) {
    EXPECT_FALSE(name == "a" && type == "preflight");
    if (type == "measure") {
      EXPECT_EQ(world.last_request.at("passes"), name == "a" ? 1 : 10);
    }
    return std::nullopt;
  };
  const WaveResult wave = run();
  EXPECT_EQ(wave.rows[0].items_per_sample, 4);
  EXPECT_EQ(wave.rows[0].status, RowStatus::ok) << wave.rows[0].reason;
  for (const LaunchOptions& options : world.launched)
    EXPECT_EQ(options.cpus, options.command.at(0) == "a" ? (CpuList{1, 3}) : CpuList{0});
}

TEST_F(RunnerTest, OrderAndPaddingFollowTheSeed) {
  use({"a", "b", "c", "d"});
  const auto paddings = [&] {
    std::vector<std::size_t> result;
    for (const LaunchOptions& options : world.launched)
      result.push_back(options.environment_padding);
    return result;
  };
  run();
  const auto first = world.orders(2);
  const auto first_padding = paddings();
  EXPECT_EQ(std::set(first_padding.begin(), first_padding.end()).size(), 12u);
  world.measured.clear();
  world.launched.clear();
  run();
  EXPECT_EQ(world.orders(2), first);
  EXPECT_EQ(paddings(), first_padding);
  world.measured.clear();
  world.launched.clear();
  policy.seed = 6;
  run();
  EXPECT_NE(world.orders(2), first);
  EXPECT_NE(paddings(), first_padding);
}

TEST_F(RunnerTest, RowHoldsWhatTheWorkerSaid) {
  use({"a"});
  subjects[0].threads = 2;
  subjects[0].params = {{"threads", "2"}};
  subjects[0].unit = "rows/s";
  context.log_dir = "logs";
  policy.cpus = {0};
  world.hook = [&](const std::string&, const std::string& type, int, Json& reply) {
    if (type == "measure") {
      reply["counters"] =
          Json{{"cycles", 1}, {"instructions", 2}, {"cache_misses", 3}, {"branch_misses", 4}};
      reply["throttled"] = true;
    }
    return std::nullopt;
  };
  const Row row = run().rows.at(0);
  EXPECT_EQ(row.library_version, "v-a");
  EXPECT_EQ(row.output_digest, "d-a");
  EXPECT_EQ(row.thread_policy.asked, 2);
  EXPECT_EQ(row.thread_policy.in_force, 2);
  EXPECT_DOUBLE_EQ(row.thread_policy.cpu_per_wall, 1);
  EXPECT_EQ(row.params, subjects[0].params);
  EXPECT_EQ(row.unit, "rows/s");
  EXPECT_DOUBLE_EQ(row.bytes_per_item, 2.5);
  EXPECT_EQ(row.items_per_sample, 40);
  EXPECT_EQ(row.peak_rss_bytes, 1102);
  const measure::Run& one = row.runs.at(0);
  EXPECT_GT(one.start_ns, 0);
  EXPECT_EQ(one.warmup_discarded, 6);
  EXPECT_EQ(one.cpu_ns, 20'000'000);
  EXPECT_EQ(one.major_faults, 2);
  EXPECT_EQ(one.involuntary_switches, 4);
  EXPECT_TRUE(one.throttled);
  ASSERT_TRUE(one.counters.value);
  EXPECT_EQ(one.counters.value->branch_misses, 4u);
  ASSERT_TRUE(row.summary);
  EXPECT_DOUBLE_EQ(row.summary->mean, 4000);
  EXPECT_EQ(world.launched[0].log_file, "logs/sluice.log");
  EXPECT_EQ(world.launched[0].cpus, CpuList{0});
}

TEST_F(RunnerTest, IdleTimeIsWhatPassedWhileItWasStopped) {
  use({"a", "b"});
  policy.runs = 1;
  policy.samples_per_run = 1;
  const WaveResult wave = run();
  for (const Row& row : wave.rows) {
    // Started first: stopped through the six steps of the other; measured second: through a sample.
    EXPECT_GE(row.runs.at(0).idle_before_ms, 0);
    EXPECT_LE(row.runs.at(0).idle_before_ms, 10.007 + 1e-9);
  }
  EXPECT_GT(wave.rows[0].runs[0].idle_before_ms + wave.rows[1].runs[0].idle_before_ms, 10.0069);
}

TEST_F(RunnerTest, TimesThatDidNotPassCostOnlyTheirRow) {
  use({"honest", "liar"});
  world.hook = [](const std::string& name, const std::string& type, int, Json& reply) {
    if (type == "measure" && name == "liar")
      reply["start_ns"] = reply.at("start_ns").get<std::int64_t>() + 1'000'000'000'000'000;
    return std::nullopt;
  };
  const WaveResult wave = run();
  EXPECT_EQ(wave.rows[0].status, RowStatus::ok) << wave.rows[0].reason;
  EXPECT_EQ(wave.rows[1].status, RowStatus::failed);
  EXPECT_THAT(wave.rows[1].reason, ::testing::HasSubstr("between question and answer"));
}

TEST_F(RunnerTest, AFailureAtAnyStepCostsOnlyItsRow) {
  for (const char* step :
       {"launch", "hello", "configure", "load", "prepare", "check", "preflight", "measure"}) {
    for (const int failing_launch : {1, 2}) {
      World fresh;
      fresh.hook = [&](const std::string& name, const std::string& type, int launch,
                       Json&) -> std::optional<Error> {
        if (name == "b" && type == step && launch == failing_launch)
          return Error{Errc::measurement, std::string(step) + ": it broke"};
        return std::nullopt;
      };
      context.launcher = &fresh;
      context.clock = &fresh.clock;
      subjects.clear();
      use({"a", "b", "c"});
      const WaveResult wave = run();
      EXPECT_EQ(wave.rows[0].status, RowStatus::ok);
      EXPECT_EQ(wave.rows[2].status, RowStatus::ok);
      EXPECT_EQ(wave.rows[0].runs.size(), 3u);
      EXPECT_EQ(wave.rows[1].status, RowStatus::failed);
      EXPECT_EQ(wave.rows[1].reason, std::string(step) + ": it broke");
      EXPECT_EQ(wave.rows[1].runs.size(), static_cast<std::size_t>(failing_launch - 1));
      EXPECT_EQ(fresh.launches["b"], failing_launch) << "not started again";
    }
  }
}

TEST_F(RunnerTest, UnsupportedIsNotAFailure) {
  use({"a", "b"});
  world.hook = [](const std::string& name, const std::string& type, int,
                  Json&) -> std::optional<Error> {
    if (name == "b" && type == "prepare") return Error{Errc::unsupported, "b has no such case"};
    return std::nullopt;
  };
  const WaveResult wave = run();
  EXPECT_EQ(wave.rows[0].status, RowStatus::ok);
  EXPECT_EQ(wave.rows[1].status, RowStatus::unsupported);
  EXPECT_EQ(wave.rows[1].reason, "b has no such case");
  EXPECT_FALSE(wave.rows[1].summary);
}

TEST_F(RunnerTest, AllRowsMayFail) {
  use({"a", "b"});
  world.hook = [](const std::string&, const std::string& type, int, Json&) -> std::optional<Error> {
    if (type == "hello") return Error{Errc::timeout, "hello: late"};
    return std::nullopt;
  };
  for (const Row& row : run().rows)
    EXPECT_EQ(row.status, RowStatus::failed);
}

TEST_F(RunnerTest, SlowPreflightStopsEarlyFromTheLimitOn) {
  // 4 items per pass; the limit is per item.
  for (const double limit_s : {0.05, 0.1, 0.3, 0.001, 0.007}) {
    for (const int over_ns : {-1, 0, 1}) {
      subjects.clear();
      use({"a"});
      policy.slow_item_s = limit_s;
      world.pass_ns = static_cast<std::int64_t>(std::llround(limit_s * 4e9)) + over_ns;
      const Row row = run().rows.at(0);
      EXPECT_EQ(row.status, over_ns < 0 ? RowStatus::ok : RowStatus::early_stopped) << limit_s;
      if (over_ns >= 0) {
        EXPECT_THAT(row.reason, HasSubstr("s per item, the limit is"));
        EXPECT_TRUE(row.runs.empty());
      }
    }
  }
}

TEST_F(RunnerTest, SlowPreflightOffOrInALaterRunStopsNothing) {
  use({"a"});
  policy.slow_item_s = 0;
  world.pass_ns = 50'000'000'000;
  EXPECT_EQ(run().rows.at(0).status, RowStatus::ok);
  policy.slow_item_s = 0.05;
  world.pass_ns = 1'000'000;
  world.launches.clear();
  world.hook = [](const std::string&, const std::string& type, int launch, Json& reply) {
    if (type == "preflight" && launch == 2) reply["pass_ns"] = 900'000'000;  // a hiccup
    return std::nullopt;
  };
  EXPECT_EQ(run().rows.at(0).status, RowStatus::ok);
}

TEST_F(RunnerTest, SampleSizeIsSetByTheFirstRunAndKept) {
  use({"a"});
  world.hook = [](const std::string&, const std::string& type, int launch, Json& reply) {
    if (type == "preflight") reply["pass_ns"] = launch * 1'000'000;
    return std::nullopt;
  };
  const Row row = run().rows.at(0);
  EXPECT_EQ(row.status, RowStatus::ok) << row.reason;
  EXPECT_EQ(row.items_per_sample, 40);
}

TEST_F(RunnerTest, OtherItemsPerPassInALaterRunFail) {
  use({"a"});
  world.hook = [](const std::string&, const std::string& type, int launch, Json& reply) {
    if (type == "prepare" && launch == 2) reply["items_per_pass"] = 7;
    return std::nullopt;
  };
  const Row row = run().rows.at(0);
  EXPECT_EQ(row.status, RowStatus::failed);
  EXPECT_THAT(row.reason, HasSubstr("7 items per pass"));
}

TEST_F(RunnerTest, OutputThatChangesBetweenRunsFails) {
  use({"a", "b"});
  world.hook = [](const std::string& name, const std::string& type, int launch, Json& reply) {
    if (name == "a" && type == "check" && launch == 3) reply["digest"] = "other\n";
    return std::nullopt;
  };
  const WaveResult wave = run();
  EXPECT_EQ(wave.rows[0].status, RowStatus::failed);
  EXPECT_EQ(wave.rows[0].reason,
            "check: output differs between runs (digest other\\n, earlier d-a)");
  EXPECT_EQ(wave.rows[1].status, RowStatus::ok);
}

TEST_F(RunnerTest, MoreCoresThanAskedForViolateTheThreadPolicy) {
  use({"a", "b", "c"});
  subjects[1].threads = 2;
  world.hook = [](const std::string& name, const std::string& type, int, Json& reply) {
    if (type == "measure") {
      const std::int64_t ns = reply["samples_ns"][0];
      reply["cpu_ns"] = name == "c" ? ns * 105 / 100 : ns * 198 / 100;
    }
    return std::nullopt;
  };
  const WaveResult wave = run();
  EXPECT_EQ(wave.rows[0].status, RowStatus::failed);
  EXPECT_EQ(wave.rows[0].reason, "thread policy violated: 1.98 cores busy, 1 asked for");
  EXPECT_EQ(wave.rows[0].runs.size(), 1u) << "found in the first block";
  EXPECT_EQ(wave.rows[1].status, RowStatus::ok) << "1.98 of 2";
  EXPECT_EQ(wave.rows[2].status, RowStatus::ok) << "1.05 is the limit itself";
}

TEST_F(RunnerTest, ShortSamplesMaySeemToKeepMoreCoresBusy) {
  measure::Run run;
  run.samples_ns = {1'000'000, 3'000'000};
  EXPECT_DOUBLE_EQ(spare_cores({run}), 0.5);
  run.samples_ns = {100'000'000};
  EXPECT_DOUBLE_EQ(spare_cores({run}), 0.01);
  EXPECT_DOUBLE_EQ(spare_cores({}), 0);
}

TEST_F(RunnerTest, WidthRuleAddsRunsUntilTheIntervalIsNarrow) {
  use({"steady", "wild"});
  policy.stop = StopKind::width;
  policy.target_width = 0.05;
  policy.max_runs = 8;
  world.hook = [](const std::string& name, const std::string& type, int launch, Json& reply) {
    if (type == "measure" && name == "wild") {
      reply["samples_ns"] = Json::array({launch <= 2 ? 9'700'000 + launch * 300'000 : 10'150'000});
      reply["cpu_ns"] = 1000;
    }
    return std::nullopt;
  };
  WaveResult wave = run();
  EXPECT_EQ(wave.rows[1].status, RowStatus::ok);
  const std::size_t runs = wave.rows[1].runs.size();
  EXPECT_GT(runs, 3u);
  EXPECT_LT(runs, 8u);
  EXPECT_EQ(wave.rows[0].runs.size(), runs) << "measured along, so that blocks stay pairs";
  policy.target_width = 1e-6;
  world.launches.clear();
  wave = run();
  EXPECT_EQ(wave.rows[1].runs.size(), 8u);
  EXPECT_EQ(wave.rows[1].status, RowStatus::ok);
}

TEST_F(RunnerTest, TimeRuleGoesOnUntilTheBudgetIsSpent) {
  use({"a"});
  policy.stop = StopKind::time;
  policy.time_budget_s = 1;
  world.hook = [&](const std::string&, const std::string& type, int, Json&) {
    if (type == "measure") world.clock.advance(100'000'000);
    return std::nullopt;
  };
  EXPECT_EQ(run().rows.at(0).runs.size(), 5u);  // two samples of 0.1 s in each
}

TEST_F(RunnerTest, APolicyThatCannotEndIsRefused) {
  use({"a"});
  policy.samples_per_run = 0;
  const auto wave = run_wave(subjects, policy, context);
  ASSERT_FALSE(wave);
  EXPECT_EQ(wave.error().code, Errc::usage);
  EXPECT_TRUE(world.launched.empty());
}

TEST_F(RunnerTest, NoSubjectsAreNoRows) {
  EXPECT_TRUE(run().rows.empty());
}

}  // namespace
}  // namespace sluice::measure::runner_test
