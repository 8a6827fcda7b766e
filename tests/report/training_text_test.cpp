// tests/report/training_text_test.cpp - which FLOP a figure of a training step is of, in words.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/training_text.h"

#include "sluice/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::report::training_text_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A step of 20 ms with 6 TFLOP of the model, of which 5 were executed.
results::ResultFile shortened_step() {
  results::ResultFile file;
  results::TrainingMetrics& metrics = file.training.emplace();
  metrics.config.other = Json{{"last_block", "class-token"}};
  metrics.timing.p50.value = 0.02;
  metrics.memory.driver_peak_bytes.value = 3.0 * (1 << 30);
  metrics.mfu.estimator = "shapes";
  metrics.mfu.p50.value = 0.3;
  metrics.mfu.flop_per_step.value = 6e12;
  metrics.mfu.achieved_tflops_p50.value = 300;
  metrics.mfu.executed_flop_per_step.value = 5e12;
  metrics.mfu.executed_tflops_p50.value = 250;
  metrics.mfu.executed_p50.value = 0.25;
  metrics.mfu.six_nd_flop_per_step.value = 5.5e12;
  metrics.mfu.six_nd_p50.value = 0.275;
  results::TrainingSummary& summary = file.training_summary.emplace();
  for (const char* library : {"sluice", "torch-eager"}) {
    results::TrainingLibrary& line = summary.libraries.emplace_back();
    line.case_name = "training/vit5-small/last_block=class-token";
    line.library = library;
    line.status = "ok";
    line.samples_per_s = 100;
    line.model_flop = 6e12;
    line.executed_flop = 5e12;
  }
  return file;
}

TEST(TrainingText, EveryShareOfThePeakSaysOfWhichFlop) {
  const std::string text = training_text(shortened_step());
  EXPECT_THAT(text, AllOf(HasSubstr("300.000 TFLOP/s (FLOP of the model, shapes)"),
                          HasSubstr("250.000 TFLOP/s (FLOP executed: 5000 G of a step)"),
                          HasSubstr("the model has 6000 G, by 6ND 5500 G"),
                          HasSubstr("30.0 % (FLOP of the model, shapes)")));
  EXPECT_THAT(text, ::testing::ContainsRegex("executed FLOP of the peak +25.0 %"));
  EXPECT_THAT(text, ::testing::ContainsRegex("MFU p50 by 6ND +27.5 %"));
  EXPECT_THAT(text, HasSubstr("executes 83.3 % of the model's FLOP"));
  EXPECT_THAT(text, HasSubstr("3.0 GB, without the CUDA context"));
  EXPECT_THAT(training_markdown(shortened_step()), HasSubstr("Last block on the class token"));
}

TEST(TrainingText, NoRateHoldsThePackingOfBundles) {
  results::ResultFile file = shortened_step();
  EXPECT_THAT(training_text(file), Not(HasSubstr("Bundles")));
  file.run_config["bundles"] =
      Json{{"pack_seconds", 12.34}, {"total_bytes", 2'500'000}, {"kept", false}};
  EXPECT_THAT(
      training_text(file),
      AllOf(HasSubstr("packing took 12.3 s, with reading or downloading the input; no rate"),
            HasSubstr("2.5 MB stay in the cache")));
  file.run_config["bundles"]["kept"] = true;
  EXPECT_THAT(training_markdown(file), HasSubstr("packing took 12.3 s in an earlier run"));
  file.run_config["bundles"]["not_kept"] = "a.png has no version";
  EXPECT_THAT(training_text(file), AllOf(HasSubstr("for this run alone: a.png has no version"),
                                         Not(HasSubstr("in the cache"))));
  const std::string page = html({file});
  EXPECT_THAT(page, HasSubstr("packing took 12.3 s")) << "the page has the figures as facts";
}

TEST(TrainingText, AFileThatTellsLessSaysLess) {
  results::ResultFile file = shortened_step();
  results::TrainingMetrics::Mfu& mfu = file.training->mfu;
  mfu.executed_flop_per_step = mfu.executed_tflops_p50 = mfu.executed_p50 = {};
  mfu.six_nd_p50 = {};
  mfu.estimator = "6ND";
  for (results::TrainingLibrary& line : file.training_summary->libraries)
    line.executed_flop.reset();
  const std::string text = training_text(file);
  EXPECT_THAT(text, HasSubstr("30.0 % (FLOP of the model, 6ND)"));
  EXPECT_THAT(text, Not(HasSubstr("xecute")));
}

TEST(TrainingText, RowsThatWereBrokenOffAreKept) {
  results::ResultFile file = shortened_step();
  file.training.reset();
  file.rows.clear();
  EXPECT_THAT(training_text(file), HasSubstr("\nnothing was measured\n"));
  file.rows.emplace_back().runs.emplace_back();
  EXPECT_THAT(training_text(file),
              HasSubstr("\nno row was measured to its end; what there is of them is kept\n"));
}

TEST(TrainingText, TheReportSaysWhatFedTheStep) {
  results::ResultFile file = shortened_step();
  file.training->data = Json{{"source", "loader"}};
  file.run_config["num_workers"] = 3;
  file.run_config["storage"] = "page-cache";
  EXPECT_THAT(training_markdown(file),
              HasSubstr("- Data: loader, 3 workers, page-cache, the CPU decodes\n"));
  file.training->data["lanes"] = Json{{"gpu", 10}, {"cpu", 0}};
  EXPECT_THAT(training_markdown(file), HasSubstr("the GPU decodes"));
  file.training->data["lanes"]["cpu"] = 2;
  EXPECT_THAT(training_markdown(file), HasSubstr("GPU and CPU decode"));
}

TEST(TrainingText, ALineOfASweepSaysWhatItWasMeasuredWith) {
  results::TrainingSweepLine line;
  line.dtype = "bf16";
  EXPECT_EQ(settings_of(line), "bf16");
  line.compile = "graph";
  line.last_block = "full";
  EXPECT_EQ(settings_of(line), "bf16 graph full");
}

}  // namespace
}  // namespace sluice::report::training_text_test
