// tests/measure/runner_resume_test.cpp - interruption, what is written after every block, and going
// on from there.
// SPDX-License-Identifier: Apache-2.0
#include "tests/measure/scripted_world.h"

namespace sluice::measure::runner_resume_test {
namespace {

using ::testing::HasSubstr;

class RunnerResumeTest : public RunnerFixture {
 protected:
  /// The user asks to stop during the `nth` answer to `measure`.
  void stop_during_sample(int nth) {
    stopped_ = false;
    int samples = 0;
    context.interrupted = [this] { return stopped_; };
    world.hook = [this, nth, samples](const std::string&, const std::string& type, int,
                                      Json&) mutable -> std::optional<Error> {
      if (type == "measure" && ++samples == nth) {
        stopped_ = true;
        return Error{Errc::interrupted, "interrupted"};
      }
      return std::nullopt;
    };
  }
  void go_on() {
    context.interrupted = nullptr;
    world.hook = nullptr;
    world.measured.clear();
    world.launches.clear();
  }

  bool stopped_ = false;
};

std::vector<int> blocks(const Row& row) {
  std::vector<int> result;
  for (const measure::Run& run : row.runs)
    result.push_back(run.block);
  return result;
}

TEST_F(RunnerResumeTest, InterruptKeepsFinishedBlocksAndDropsTheOneUnderWay) {
  use({"a", "b"});
  stop_during_sample(7);  // four samples a block
  const WaveResult wave = run();
  EXPECT_TRUE(wave.interrupted);
  for (const Row& row : wave.rows) {
    EXPECT_EQ(blocks(row), std::vector<int>{0});
    EXPECT_EQ(row.status, RowStatus::skipped);
    EXPECT_EQ(row.reason, "interrupted after 1 of 3 runs; continue with --resume");
    EXPECT_TRUE(row.summary);
  }
}

TEST_F(RunnerResumeTest, InterruptInTheFirstBlockLeavesRowsWithoutRuns) {
  use({"a", "b"});
  stop_during_sample(2);
  const WaveResult wave = run();
  EXPECT_TRUE(wave.interrupted);
  for (const Row& row : wave.rows) {
    EXPECT_TRUE(row.runs.empty());
    EXPECT_EQ(row.status, RowStatus::skipped);
    EXPECT_EQ(row.reason, "not measured yet");
    EXPECT_FALSE(row.summary);
  }
}

TEST_F(RunnerResumeTest, InterruptAtEveryStepOfTheStart) {
  use({"a", "b"});
  for (const char* step :
       {"launch", "hello", "configure", "load", "prepare", "check", "preflight", "measure"}) {
    world.launches.clear();
    world.hook = [&](const std::string&, const std::string& type, int launch,
                     Json&) -> std::optional<Error> {
      if (type == step && launch == 2) return Error{Errc::interrupted, "interrupted"};
      return std::nullopt;
    };
    const WaveResult wave = run();
    EXPECT_TRUE(wave.interrupted) << step;
    for (const Row& row : wave.rows) {
      EXPECT_EQ(row.status, RowStatus::skipped) << step;
      EXPECT_EQ(row.runs.size(), 1u) << step;
    }
    EXPECT_TRUE(world.alive.empty());
  }
}

TEST_F(RunnerResumeTest, AFailedRowStaysFailedWhenTheBlockIsInterrupted) {
  use({"a", "b"});
  int samples = 0;
  world.hook = [&](const std::string& name, const std::string& type, int,
                   Json&) -> std::optional<Error> {
    if (name == "b" && type == "hello") return Error{Errc::measurement, "hello: broken"};
    if (type == "measure" && ++samples == 2) return Error{Errc::interrupted, "interrupted"};
    return std::nullopt;
  };
  const WaveResult wave = run();
  EXPECT_TRUE(wave.interrupted);
  EXPECT_EQ(wave.rows[0].status, RowStatus::skipped);
  EXPECT_EQ(wave.rows[1].status, RowStatus::failed);
}

TEST_F(RunnerResumeTest, ContinuesWithTheNextBlockAndRepeatsNothing) {
  use({"a", "b"});
  stop_during_sample(7);
  WaveResult wave = run();
  const auto first_id = wave.rows[0].runs[0].run_id;
  go_on();
  context.session_id = "s2";
  wave = run(std::move(wave.rows));
  EXPECT_FALSE(wave.interrupted);
  for (const Row& row : wave.rows) {
    EXPECT_EQ(blocks(row), (std::vector<int>{0, 1, 2}));
    EXPECT_EQ(row.status, RowStatus::ok);
    EXPECT_EQ(row.reason, "");
    EXPECT_EQ(row.summary->n_runs, 3);
  }
  EXPECT_EQ(world.measured.size(), 8u);
  EXPECT_EQ(wave.rows[0].runs[0].run_id, first_id);
  EXPECT_THAT(wave.rows[0].runs[1].run_id, HasSubstr("s2/"));
}

TEST_F(RunnerResumeTest, TheInterruptedBlockHasTheSameOrderTheSecondTime) {
  use({"a", "b", "c", "d"});
  run();
  const auto whole = world.orders(2);
  world.measured.clear();
  stop_during_sample(9);  // the first of the second block
  WaveResult wave = run();
  go_on();
  run(std::move(wave.rows));
  const auto rest = world.orders(2);
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0], whole[1]);
  EXPECT_EQ(rest[1], whole[2]);
}

TEST_F(RunnerResumeTest, InterruptedAgainBeforeAnyBlockKeepsWhatWasThere) {
  use({"a", "b"});
  stop_during_sample(5);
  WaveResult wave = run();
  stop_during_sample(1);
  wave = run(std::move(wave.rows));
  EXPECT_TRUE(wave.interrupted);
  for (const Row& row : wave.rows) {
    EXPECT_EQ(row.runs.size(), 1u);
    EXPECT_EQ(row.reason, "interrupted after 1 of 3 runs; continue with --resume");
  }
}

TEST_F(RunnerResumeTest, AFinishedWaveIsLeftAlone) {
  use({"a", "b"});
  WaveResult wave = run();
  go_on();
  wave = run(std::move(wave.rows));
  EXPECT_TRUE(world.launches.empty());
  EXPECT_FALSE(wave.interrupted);
  for (const Row& row : wave.rows) {
    EXPECT_EQ(row.status, RowStatus::ok);
    EXPECT_EQ(row.runs.size(), 3u);
    EXPECT_TRUE(row.summary);
  }
}

TEST_F(RunnerResumeTest, RowsThatHadEnoughRunsWhenTheProgramDiedAreOk) {
  use({"a"});
  WaveResult wave = run();
  wave.rows[0].status = RowStatus::skipped;  // as a crash between two writes would leave it
  wave.rows[0].reason = "interrupted after 2 of 3 runs; continue with --resume";
  go_on();
  wave = run(std::move(wave.rows));
  EXPECT_TRUE(world.launches.empty());
  EXPECT_EQ(wave.rows[0].status, RowStatus::ok);
  EXPECT_EQ(wave.rows[0].reason, "");
}

TEST_F(RunnerResumeTest, AFailedRowIsMeasuredAgainFromTheStartAndFinishedCasesAreNot) {
  use({"a", "b"});
  world.hook = [](const std::string& name, const std::string& type, int launch, Json& reply) {
    if (name == "b" && type == "check" && launch == 3) reply["digest"] = "changed";
    if (name == "b" && type == "prepare") reply["items_per_pass"] = 5;
    if (name == "b" && type == "measure") reply["items_per_sample"] = 50;
    return std::nullopt;
  };
  WaveResult wave = run();
  ASSERT_EQ(wave.rows[1].status, RowStatus::failed);
  ASSERT_EQ(wave.rows[1].runs.size(), 2u);
  go_on();  // now with 4 items per pass and the other digest from the start
  world.hook = [](const std::string&, const std::string& type, int, Json& reply) {
    if (type == "check") reply["digest"] = "changed";
    return std::nullopt;
  };
  wave = run(std::move(wave.rows));
  EXPECT_EQ(wave.rows[0].runs.size(), 3u);
  EXPECT_EQ(wave.rows[0].output_digest, "d-a");
  EXPECT_EQ(world.launches.count("a"), 0u);
  EXPECT_EQ(wave.rows[1].status, RowStatus::ok) << wave.rows[1].reason;
  EXPECT_EQ(wave.rows[1].output_digest, "changed");
  EXPECT_EQ(wave.rows[1].items_per_sample, 40);
  EXPECT_EQ(blocks(wave.rows[1]), (std::vector<int>{3, 4, 5})) << "ids are used once";
}

TEST_F(RunnerResumeTest, AnUnfinishedCaseGoesOnInAllItsLibraries) {
  use({"a", "b"});
  subjects[1].case_name = subjects[0].case_name;
  subjects[1].library = "peer";
  world.hook = [](const std::string& name, const std::string& type, int,
                  Json&) -> std::optional<Error> {
    if (name == "b" && type == "load") return Error{Errc::measurement, "load: no memory"};
    return std::nullopt;
  };
  WaveResult wave = run();
  go_on();
  wave = run(std::move(wave.rows));
  EXPECT_EQ(blocks(wave.rows[0]), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(blocks(wave.rows[1]), (std::vector<int>{3, 4, 5}));
  EXPECT_EQ(wave.rows[0].status, RowStatus::ok);
  EXPECT_EQ(wave.rows[1].status, RowStatus::ok);
}

TEST_F(RunnerResumeTest, EarlyStoppedAndUnsupportedCasesAreFinished) {
  use({"a", "b", "c"});
  const World::Hook odd = [](const std::string& name, const std::string& type, int,
                             Json& reply) -> std::optional<Error> {
    if (name == "b" && type == "preflight") reply["pass_ns"] = 10'000'000'000;
    if (name == "c" && type == "prepare") return Error{Errc::unsupported, "no such case"};
    return std::nullopt;
  };
  world.hook = odd;
  WaveResult wave = run();
  go_on();
  wave = run(std::move(wave.rows));
  EXPECT_TRUE(world.launches.empty());
  EXPECT_EQ(wave.rows[1].status, RowStatus::early_stopped);
  EXPECT_EQ(wave.rows[2].status, RowStatus::unsupported);
  EXPECT_EQ(wave.rows[2].reason, "no such case");
}

TEST_F(RunnerResumeTest, MoreRunsAskedForAreAdded) {
  use({"a"});
  WaveResult wave = run();
  policy.runs = 5;
  wave = run(std::move(wave.rows));
  EXPECT_EQ(blocks(wave.rows[0]), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(wave.rows[0].status, RowStatus::ok);
}

TEST_F(RunnerResumeTest, ARowThatWasNotThereYetIsMeasured) {
  use({"a"});
  WaveResult wave = run();
  use({"b"});
  wave.rows.emplace_back();
  wave = run(std::move(wave.rows));
  EXPECT_EQ(blocks(wave.rows[1]), (std::vector<int>{3, 4, 5}));
  EXPECT_EQ(wave.rows[1].case_name, "case-b");
}

TEST_F(RunnerResumeTest, RowsOfSomethingElseAreRefused) {
  use({"a", "b"});
  const std::vector<Row> rows = run().rows;
  world.launched.clear();
  const auto refused = [&](std::vector<Row> so_far) {
    const auto wave = run_wave(subjects, policy, context, std::move(so_far));
    EXPECT_FALSE(wave);
    return wave ? std::string() : wave.error().message;
  };
  EXPECT_THAT(refused({rows[0]}), HasSubstr("1 earlier rows; expected 2"));
  EXPECT_THAT(refused({rows[1], rows[0]}),
              HasSubstr("earlier row 0 is case-b in sluice; expected case-a in sluice"));
  std::vector<Row> other = rows;
  other[1].library = "peer\n";
  EXPECT_THAT(refused(other), HasSubstr("case-b in peer\\n"));
  EXPECT_TRUE(world.launched.empty());
}

TEST_F(RunnerResumeTest, EveryBlockIsReportedWithConsistentRows) {
  use({"a", "b"});
  std::vector<std::vector<Row>> written;
  context.on_block = [&](const std::vector<Row>& rows) -> Status {
    written.push_back(rows);
    EXPECT_TRUE(world.alive.empty()) << "workers are gone before anything is written";
    return ok;
  };
  run();
  ASSERT_EQ(written.size(), 3u);
  for (std::size_t block = 0; block < 3; ++block) {
    ASSERT_EQ(written[block].size(), 2u);
    for (const Row& row : written[block]) {
      EXPECT_EQ(row.runs.size(), block + 1);
      EXPECT_EQ(row.status, block == 2 ? RowStatus::ok : RowStatus::skipped);
      EXPECT_EQ(row.summary->n_runs, static_cast<int>(block) + 1);
    }
  }
}

TEST_F(RunnerResumeTest, ARowThatEndsTheWaveLeavesTheOthersUnmeasured) {
  use({"a", "b"});
  world.hook = [](const std::string&, const std::string& type, int, Json&) -> std::optional<Error> {
    if (type == "prepare") return Error{Errc::unsupported, "rank 1 of 2: no such folder"};
    return std::nullopt;
  };
  context.goes_on = [](const Row& row) { return !row.reason.starts_with("rank "); };
  const auto wave = run_wave(subjects, policy, context);
  ASSERT_TRUE(wave);
  EXPECT_TRUE(wave->interrupted);
  EXPECT_TRUE(world.measured.empty());
}

TEST_F(RunnerResumeTest, AnErrorWhileWritingEndsTheWave) {
  use({"a", "b"});
  context.on_block = [](const std::vector<Row>&) -> Status {
    return Error{Errc::io, "results.json: No space left on device"};
  };
  const auto wave = run_wave(subjects, policy, context);
  ASSERT_FALSE(wave);
  EXPECT_EQ(wave.error().code, Errc::io);
  EXPECT_EQ(world.measured.size(), 4u) << "one block";
}

}  // namespace
}  // namespace sluice::measure::runner_resume_test
