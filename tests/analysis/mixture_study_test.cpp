// tests/analysis/mixture_study_test.cpp - what may be claimed of a study: winners, ties, too few
// runs, what metadata costs.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/mixture/study.h"
#include "sluice/core/rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sluice::analysis::mixture_study_test {
namespace {

using ::testing::HasSubstr;

const MixtureKnobs kBase{.cpus = 2};

MixtureKnobs knobs(MixtureKnob knob, MixtureKnobs other) {
  return with(kBase, knob, other);
}

struct Level {
  MixtureKnobs knobs;
  double rate;
};

/// Every level once per repeat, each run `noise` off (relative sd), each repeat slower by `drift`.
std::vector<MixtureStudyRun> study(const std::vector<Level>& levels, int repeats, double noise,
                                   double drift = 0, std::uint64_t seed = 5) {
  std::vector<MixtureStudyRun> runs;
  Rng rng({.seed = seed});
  for (int repeat = 1; repeat <= repeats; ++repeat) {
    for (const Level& level : levels) {
      MixtureStudyRun run;
      run.machine = "m";
      run.repeat = repeat;
      run.knobs = level.knobs;
      run.samples_per_s = level.rate * std::exp(noise * rng.normal() - drift * repeat);
      run.batches_per_s = run.samples_per_s / 64;
      runs.push_back(run);
    }
  }
  return runs;
}

StudyVerdict judged(const std::vector<MixtureStudyRun>& runs) {
  const auto verdicts = judge_study(runs, kBase);
  EXPECT_EQ(verdicts.size(), 1U);
  return verdicts.front();
}

const StudyContrast& contrast(const StudyVerdict& verdict, MixtureKnob knob,
                              const std::string& value) {
  for (const StudyContrast& one : verdict.contrasts)
    if (one.knob == knob && value_of(verdict.settings[one.setting].knobs, knob) == value)
      return one;
  ADD_FAILURE() << "no contrast of " << to_string(knob) << " " << value;
  static const StudyContrast kNone;
  return kNone;
}

const MixtureKnobs kRead8 = knobs(MixtureKnob::read, {.decode = 8, .interleave = 8});
const MixtureKnobs kQueue8 = knobs(MixtureKnob::mix, {.mix_block = 4, .queue = 8});
const MixtureKnobs kNames = knobs(MixtureKnob::metadata, {.metadata = "dataset_only"});
const MixtureKnobs kAll = knobs(MixtureKnob::samples_per_episode, {.samples_per_episode = 0});

struct Case {
  const char* name;
  double rate;  // of read 8/8; the base has 100
  int repeats;
  double noise;
  StudyOutcome outcome;
  bool best_decided;  // of the two with full metadata
};

class StudyOutcomeTest : public ::testing::TestWithParam<Case> {};

TEST_P(StudyOutcomeTest, IsWhatTheIntervalSupports) {
  const Case& c = GetParam();
  // Six more settings of no interest, as a study has: the spread is known from all.
  std::vector<Level> levels = {{kBase, 100}, {kRead8, c.rate}};
  for (int i = 2; i < 8; ++i)
    levels.push_back({knobs(MixtureKnob::samples_per_episode, {.samples_per_episode = i}), 50});
  const StudyVerdict verdict = judged(study(levels, c.repeats, c.noise));
  const StudyContrast& found = contrast(verdict, MixtureKnob::read, "8/8");
  EXPECT_EQ(found.outcome, c.outcome)
      << to_string(found.outcome) << " " << found.ratio.low << " " << found.ratio.high;
  EXPECT_EQ(found.more_runs > 0, c.outcome == StudyOutcome::undecided);
  EXPECT_EQ(verdict.full_metadata.decided, c.best_decided);
  EXPECT_EQ(verdict.full_metadata.considered, 2U);
  EXPECT_LE(found.ratio.low, found.ratio.point);
  EXPECT_GE(found.ratio.high, found.ratio.point);
}

INSTANTIATE_TEST_SUITE_P(
    All, StudyOutcomeTest,
    ::testing::Values(Case{"clear_winner", 130, 3, 0.02, StudyOutcome::faster, true},
                      Case{"clear_loser", 75, 3, 0.02, StudyOutcome::slower, true},
                      Case{"equal_and_known", 100, 20, 0.01, StudyOutcome::same, false},
                      Case{"overlap", 94, 3, 0.10, StudyOutcome::undecided, false},
                      Case{"one_run_each", 130, 1, 0.02, StudyOutcome::undecided, false},
                      Case{"two_runs_of_a_quiet_machine", 115, 2, 0.01, StudyOutcome::faster,
                           true}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(MixtureStudyTest, RunsStillNeededFollowTheSpread) {
  // 4 % apart with a spread of 10 %: about 2 (1.96 + 0.84)^2 (0.1 / 0.04)^2 = 98 of each.
  const std::vector<Level> levels = {{kBase, 100}, {kRead8, 104}, {kAll, 50}, {kQueue8, 50}};
  std::vector<MixtureStudyRun> runs = study(levels, 4, 0.10);
  const StudyContrast found = contrast(judged(runs), MixtureKnob::read, "8/8");
  ASSERT_EQ(found.outcome, StudyOutcome::undecided);
  EXPECT_GT(found.more_runs, 5);
  EXPECT_LE(found.more_runs, 9'999);
  const StudyContrast alone =
      contrast(judged(study({{kBase, 100}, {kRead8, 104}}, 1, 0)), MixtureKnob::read, "8/8");
  EXPECT_EQ(alone.more_runs, 2);  // 3 of each, before a spread means anything
  EXPECT_FALSE(alone.has_interval);
}

TEST(MixtureStudyTest, DriftBetweenRepeatsIsTakenOut) {
  const std::vector<Level> levels = {{kBase, 100}, {kRead8, 110}, {kAll, 50}, {kQueue8, 90}};
  const StudyVerdict steady = judged(study(levels, 3, 0.01));
  const StudyVerdict drifting = judged(study(levels, 3, 0.01, 0.3));
  EXPECT_NEAR(*steady.spread, *drifting.spread, 1e-9);
  EXPECT_EQ(contrast(drifting, MixtureKnob::read, "8/8").outcome, StudyOutcome::faster);
  EXPECT_EQ(drifting.degrees, 6);  // (4 - 1) (3 - 1)
}

TEST(MixtureStudyTest, AnInterruptedRepeatCounts) {
  std::vector<MixtureStudyRun> runs =
      study({{kBase, 100}, {kRead8, 130}, {kAll, 50}}, 3, 0.01, 0.2);
  runs.pop_back();
  runs.pop_back();  // of the third repeat only the base was measured
  const StudyVerdict verdict = judged(runs);
  EXPECT_NEAR(contrast(verdict, MixtureKnob::read, "8/8").ratio.point, 1.3, 0.05);
  EXPECT_EQ(verdict.degrees, 7 - 3 - 3 + 1);
}

TEST(MixtureStudyTest, WhatMetadataCosts) {
  const StudyVerdict verdict = judged(study({{kBase, 100}, {kNames, 109}}, 6, 0.01));
  const StudyContrast& found = contrast(verdict, MixtureKnob::metadata, "dataset_only");
  EXPECT_EQ(found.outcome, StudyOutcome::faster);
  EXPECT_NEAR(found.ratio.point, 1.09, 0.02);
  EXPECT_EQ(verdict.full_metadata.settings.size(), 1U);
  EXPECT_FALSE(verdict.full_metadata.decided);  // there was nothing to choose from
  EXPECT_TRUE(verdict.throughput.decided);
  EXPECT_EQ(verdict.settings[verdict.throughput.settings.front()].knobs.metadata, "dataset_only");
}

TEST(MixtureStudyTest, OnlyEqualLengthsAreCompared) {
  MixtureKnobs long_run = kBase;
  long_run.steps = 1200;
  long_run.warmup = 20;
  const StudyVerdict verdict = judged(study({{kBase, 100}, {long_run, 80}, {kRead8, 90}}, 3, 0.01));
  EXPECT_EQ(verdict.contrasts.size(), 1U);
  ASSERT_TRUE(verdict.sustained);
  EXPECT_EQ(verdict.settings[*verdict.sustained].knobs.steps, 1200U);
  EXPECT_EQ(verdict.full_metadata.considered, 2U);
}

TEST(MixtureStudyTest, EveryOneKnobPairWithTheBaseIsAContrast) {
  MixtureKnobs both = kRead8;
  both.metadata = "off";
  MixtureKnobs off = kBase;
  off.metadata = "off";
  const StudyVerdict verdict =
      judged(study({{kBase, 100}, {off, 110}, {both, 95}, {kRead8, 90}}, 3, 0.001));
  // metadata: off against full at 4/4 and at 8/8; read: 8/8 against 4/4 with and without metadata.
  ASSERT_EQ(verdict.contrasts.size(), 4U);
  EXPECT_EQ(verdict.contrasts[0].knob, MixtureKnob::metadata);
  EXPECT_EQ(verdict.contrasts[3].knob, MixtureKnob::read);
}

TEST(MixtureStudyTest, DisturbedRunsAreLeftOutWhereEnoughRemain) {
  std::vector<MixtureStudyRun> runs = study({{kBase, 100}, {kRead8, 120}}, 4, 0.005);
  runs[0].others = 0.5;
  runs[0].samples_per_s = 20;
  StudyVerdict verdict = judged(runs);
  EXPECT_TRUE(verdict.disturbed_left_out);
  EXPECT_EQ(verdict.disturbed, 1U);
  EXPECT_NEAR(contrast(verdict, MixtureKnob::read, "8/8").ratio.point, 1.2, 0.02);
  for (MixtureStudyRun& run : runs)
    run.others = 0.5;
  verdict = judged(runs);
  EXPECT_FALSE(verdict.disturbed_left_out);
  EXPECT_EQ(verdict.disturbed, 8U);
  EXPECT_EQ(verdict.settings.front().runs, 4);
}

TEST(MixtureStudyTest, MachinesAreJudgedApart) {
  std::vector<MixtureStudyRun> runs = study({{kBase, 100}, {kRead8, 120}}, 3, 0.01);
  for (MixtureStudyRun run : study({{kBase, 100}, {kRead8, 80}}, 3, 0.01)) {
    run.machine = "other";
    runs.push_back(run);
  }
  const auto verdicts = judge_study(runs, kBase);
  ASSERT_EQ(verdicts.size(), 2U);
  EXPECT_EQ(contrast(verdicts[0], MixtureKnob::read, "8/8").outcome, StudyOutcome::faster);
  EXPECT_EQ(contrast(verdicts[1], MixtureKnob::read, "8/8").outcome, StudyOutcome::slower);
  EXPECT_EQ(verdicts[1].machine, "other");
}

TEST(MixtureStudyTest, FailedRunsAreCountedAndNothingElse) {
  std::vector<MixtureStudyRun> runs = study({{kBase, 100}}, 2, 0.01);
  runs[0].failure = "shard 3 is damaged";
  runs[0].samples_per_s = 0;
  const StudyVerdict verdict = judged(runs);
  EXPECT_EQ(verdict.failed, 1U);
  EXPECT_EQ(verdict.settings.front().runs, 1);
  runs[1].failure = "so is shard 4";
  EXPECT_TRUE(judged(runs).settings.empty());
  EXPECT_TRUE(judged(runs).throughput.settings.empty());
  EXPECT_TRUE(judge_study({}, kBase).empty());
}

TEST(MixtureStudyTest, FalseClaimsAreRare) {
  // Eight equal settings, three repeats: in at most 5 % of studies may any be called different.
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<Level> levels = {{kBase, 100}};
    for (int i = 2; i < 9; ++i)
      levels.push_back({knobs(MixtureKnob::samples_per_episode, {.samples_per_episode = i}), 100});
    const StudyVerdict verdict = judged(study(levels, 3, 0.05, 0, seed));
    for (const StudyContrast& one : verdict.contrasts) {
      if (one.outcome == StudyOutcome::faster || one.outcome == StudyOutcome::slower) {
        ++wrong;
        break;
      }
    }
  }
  EXPECT_LE(wrong, 19);  // 10 are expected, sd 3.1
  EXPECT_GE(wrong, 1);
}

TEST(MixtureStudyTest, NotesSayWhatIsWrongWithARun) {
  MixtureStudyRun run;
  EXPECT_EQ(note_of(run), "");
  run.knobs.steps = 16;
  run.others = 0.34;
  run.throttled = true;
  EXPECT_EQ(note_of(run), "short; overlapped: others took 34 % of the cores; throttled");
  run.others = 0.05;
  run.throttled = false;
  EXPECT_EQ(note_of(run), "short");
  run.failure = "worker\ngone";
  EXPECT_THAT(note_of(run), HasSubstr("failed: worker\\ngone"));
}

TEST(MixtureStudyTest, RunsSurviveJson) {
  MixtureStudyRun run = study({{kQueue8, 123.25}}, 1, 0.1).front();
  run.id = "r2.07";
  run.labels = {"ablation", "sweep"};
  run.seed = ~std::uint64_t{0};
  run.others = 0.01;
  run.dominants = 29;
  const Json json = to_json(run);
  const auto read = mixture_study_run_from_json(Json::parse(json.dump()), "study.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(*read), json);
  EXPECT_EQ(read->knobs, run.knobs);
  for (const char* key : {"cpus", "samples_per_s", "labels", "steps", "seed"}) {
    Json broken = json;
    broken[key] = Json::object();
    const auto refused = mixture_study_run_from_json(broken, "study.json: runs[3]");
    ASSERT_FALSE(refused) << key;
    EXPECT_THAT(refused.error().message, HasSubstr("study.json: runs[3]: "));
    broken.erase(key);
    EXPECT_FALSE(mixture_study_run_from_json(broken, "s"));
  }
  EXPECT_FALSE(mixture_study_run_from_json(Json(3), "s"));
}

}  // namespace
}  // namespace sluice::analysis::mixture_study_test
