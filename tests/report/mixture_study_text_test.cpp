// tests/report/mixture_study_text_test.cpp - the pages of a study claim what was shown, and no
// more.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/mixture/study_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace sluice::report::mixture_study_text_test {
namespace {

using analysis::MixtureKnobs;
using analysis::MixtureStudyRun;
using ::testing::HasSubstr;
using ::testing::Not;

struct Level {
  MixtureKnobs knobs;
  double rate;
};

/// Each rate once per repeat, alternately `off` above and below it.
std::vector<MixtureStudyRun> runs_of(const std::vector<Level>& levels, int repeats, double off) {
  std::vector<MixtureStudyRun> runs;
  for (int repeat = 1; repeat <= repeats; ++repeat) {
    for (std::size_t i = 0; i < levels.size(); ++i) {
      MixtureStudyRun run;
      run.id = "r" + std::to_string(repeat) + "." + std::to_string(i);
      run.date = "2026-02-10";
      run.machine = "cpux2";
      run.labels = {"ablation"};
      run.knobs = levels[i].knobs;
      run.repeat = repeat;
      const bool up = (static_cast<std::size_t>(repeat) + i) % 2 == 0;
      run.samples_per_s = levels[i].rate * (up ? 1 + off : 1 - off);
      run.batches_per_s = run.samples_per_s / 64;
      run.p50_s = 0.4;
      run.p90_s = 0.5;
      run.p99_s = 0.6;
      runs.push_back(run);
    }
  }
  return runs;
}

const MixtureKnobs kBase{.cpus = 2};
const MixtureKnobs kRead8{.cpus = 2, .decode = 8, .interleave = 8};
const MixtureKnobs kNames{.metadata = "dataset_only", .cpus = 2};

StudyFacts facts() {
  StudyFacts out;
  out.name = "cluster_samples1";
  out.preset = "oxe29";
  out.base = kBase;
  out.base.cpus = 32;
  out.repeats = 4;
  out.remarks["cpux2"] = {"CPUs 32 clipped to 2"};
  return out;
}

std::string recommended(const std::vector<MixtureStudyRun>& runs, const StudyFacts& about) {
  return study_recommendation(about, analysis::judge_study(runs, about.base));
}

TEST(MixtureStudyTextTest, AClearStudyIsClear) {
  const auto runs = runs_of({{kBase, 150}, {kRead8, 100}, {kNames, 165}}, 4, 0.005);
  const std::string text = recommended(runs, facts());
  EXPECT_THAT(text,
              HasSubstr("Use metadata full, 2 CPUs, read 4/4, mix 4/4, 1 sample per episode"));
  EXPECT_THAT(text, HasSubstr("Use metadata dataset_only"));
  EXPECT_THAT(text, HasSubstr("faster than each of the 2 others"));
  EXPECT_THAT(text, HasSubstr("read 8/8 instead of 4/4 (160 batches): -33"));
  EXPECT_THAT(text, HasSubstr("full metadata costs time"));
  EXPECT_THAT(text, HasSubstr("CPUs 32 clipped to 2"));
  EXPECT_THAT(text, Not(HasSubstr("undecided")));
  EXPECT_THAT(text, Not(HasSubstr("short")));
}

TEST(MixtureStudyTextTest, ANoisyStudyClaimsNothing) {
  const auto runs = runs_of({{kBase, 150}, {kRead8, 140}, {kNames, 152}}, 2, 0.2);
  const std::string text = recommended(runs, facts());
  EXPECT_THAT(text, HasSubstr("undecided: needs"));
  EXPECT_THAT(text, HasSubstr("more runs"));
  EXPECT_THAT(text, HasSubstr("The base of the study is among them"));
  EXPECT_THAT(text, HasSubstr("Nothing: no setting was shown to be slower"));
  EXPECT_THAT(text, Not(HasSubstr("Use ")));
  EXPECT_THAT(text, Not(HasSubstr("faster.")));
}

TEST(MixtureStudyTextTest, OneRunEachSaysSo) {
  const std::string text = recommended(runs_of({{kBase, 150}, {kRead8, 100}}, 1, 0), facts());
  EXPECT_THAT(text,
              HasSubstr("One run of each setting has no spread, so no interval and no claim"));
  EXPECT_THAT(text, HasSubstr("needs 2 more runs of each"));
  EXPECT_THAT(text, Not(HasSubstr("Use ")));
}

TEST(MixtureStudyTextTest, ShortOverlappedAndFailedRunsAreFlagged) {
  auto runs = runs_of({{kBase, 150}, {kRead8, 100}}, 4, 0.01);
  for (MixtureStudyRun& run : runs) {
    run.knobs.steps = 16;
    run.others = 0.5;
  }
  runs.back().failure = "rt1: shard is damaged | <b>";
  const std::string text = recommended(runs, facts());
  EXPECT_THAT(text, HasSubstr("7 of 8 runs are short"));
  EXPECT_THAT(text, HasSubstr("7 of 8 runs were overlapped"));
  EXPECT_THAT(text, HasSubstr("repeat the study on a quiet machine"));
  EXPECT_THAT(text, HasSubstr("1 of 8 runs failed"));
  const std::string log = study_run_log(facts(), runs, analysis::judge_study(runs, facts().base));
  EXPECT_THAT(log, HasSubstr("short; overlapped: others took 50 % of the cores"));
  EXPECT_THAT(log, HasSubstr("failed: rt1: shard is damaged"));
  EXPECT_THAT(log, Not(HasSubstr("<b>")));
}

TEST(MixtureStudyTextTest, TheLongRunIsHeldAgainstTheTarget) {
  MixtureKnobs sustained = kBase;
  sustained.steps = 1200;
  sustained.warmup = 20;
  StudyFacts about = facts();
  about.target_samples_per_s = 150;
  struct Case {
    double rate, off;
    const char* says;
  };
  for (const Case& c : {Case{200, 0.01, "the target of 150 is reached"},
                        Case{100, 0.01, "the target of 150 is not reached"},
                        Case{150, 0.01, "the target of 150 is within the interval"}}) {
    const std::string text =
        recommended(runs_of({{kBase, 160}, {sustained, c.rate}}, 4, c.off), about);
    EXPECT_THAT(text, HasSubstr(c.says));
    EXPECT_THAT(text, HasSubstr("Sustained over 1200 batches"));
  }
  EXPECT_THAT(recommended(runs_of({{kBase, 160}}, 2, 0.01), about),
              HasSubstr("what a long run sustains is not known"));
}

TEST(MixtureStudyTextTest, TheLogHasAllColumns) {
  auto runs = runs_of({{kBase, 150}}, 2, 0.01);
  runs[1].machine = "another";
  StudyFacts about = facts();
  about.planned = 8;
  const std::string log = study_run_log(about, runs, analysis::judge_study(runs, about.base));
  for (const char* column :
       {"Date", "Run", "Label", "CPUs", "Metadata", "Metadata mode", "Warmup", "Steps",
        "Decode/Interleave", "Mix block/queue", "batches/s", "samples/s", "p50 (s)", "p90 (s)",
        "p99 (s)", "Notes", "95 % interval"})
    EXPECT_THAT(log, HasSubstr("| " + std::string(column))) << column;
  EXPECT_THAT(log, HasSubstr("2 of 8 runs: the study is not finished"));
  EXPECT_THAT(log, HasSubstr("## Machine cpux2"));
  EXPECT_THAT(log, HasSubstr("## Machine another"));
  // Every row of a table has as many cells as its head.
  std::size_t cells = 0;
  std::size_t begin = 0;
  for (std::size_t end = log.find('\n'); end != std::string::npos; end = log.find('\n', begin)) {
    const std::string line = log.substr(begin, end - begin);
    begin = end + 1;
    const auto bars = static_cast<std::size_t>(std::count(line.begin(), line.end(), '|'));
    if (line.empty() || line[0] != '|') {
      cells = 0;
      continue;
    }
    if (cells != 0) {
      EXPECT_EQ(bars, cells) << line;
    }
    cells = bars;
  }
}

TEST(MixtureStudyTextTest, NoRunsAtAll) {
  EXPECT_THAT(study_recommendation(facts(), {}), HasSubstr("No run was finished"));
  EXPECT_THAT(study_run_log(facts(), {}, {}), HasSubstr("# Run log"));
}

TEST(StudyText, TrainedSettingsSayWhatTheMachineDid) {
  analysis::MixtureTrainedRun trained;
  trained.run.machine = "cpux2";
  trained.run.knobs = kBase;
  trained.model = "vit5-tiny";
  trained.device = "cuda:0";
  trained.run.use = {.cpu = 0.62, .ram_bytes = 2e9, .gpu = 0.914, .gpu_ram_bytes = 1e9};
  const auto read = analysis::mixture_trained_run_from_json(analysis::to_json(trained), "trained");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(study_end_to_end({*read}), HasSubstr("| 62 % | 91 % |"));
  trained.run.use->gpu = trained.run.use->gpu_ram_bytes = {};
  trained.run.use->no_gpu = "no GPU was asked for";
  const Json json = analysis::to_json(trained);
  EXPECT_TRUE(json["use"]["gpu"].is_null());
  EXPECT_EQ(json["use"]["gpu_reason"], "no GPU was asked for");
  const auto without = analysis::mixture_trained_run_from_json(json, "trained");
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_EQ(without->run.use->no_gpu, "no GPU was asked for");
  EXPECT_THAT(study_end_to_end({*without}), HasSubstr("| 62 % | n/a |"));
  trained.run.use.reset();  // of an earlier version
  EXPECT_THAT(study_end_to_end({trained}), HasSubstr("| n/a | n/a |"));
  Json broken = json;
  broken["use"]["cpu"] = "much";
  EXPECT_THAT(analysis::mixture_trained_run_from_json(broken, "t").error().message,
              HasSubstr("t: use: cpu must be"));
}

}  // namespace
}  // namespace sluice::report::mixture_study_text_test
