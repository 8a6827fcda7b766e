// tests/report/tour_text_test.cpp - the three sentences of a tour say what its file holds, and what
// it does not.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/tour_text.h"

#include "sluice/analysis/bottleneck.h"
#include "sluice/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/results/fixtures.h"

namespace sluice::report::tour_text_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

measure::Row tour_row(const std::string& name, const std::string& library, double rate,
                      std::uint64_t seed) {
  measure::Row row = fixtures::make_row(
      {.case_name = name, .library = library, .rate = rate, .spread = 0.001, .seed = seed});
  if (name.find("vit5-tiny") != std::string::npos) {
    row.unit = "samples/s";
    row.params["batch_size"] = "8";
  }
  return row;
}

/// Twice as fast as pillow in one case, as fast as opencv-wheel in the other; a step of 400 ms.
results::ResultFile tour_file() {
  results::ResultFile file;
  file.rows = {tour_row("image-rgb/micro/Resize", "sluice", 2000, 1),
               tour_row("image-rgb/micro/Resize", "pillow", 1000, 2),
               tour_row("image-rgb/micro/Resize", "opencv-wheel", 900, 3),
               tour_row("decode/jpeg/threads=1", "sluice", 400, 4),
               tour_row("decode/jpeg/threads=1", "opencv-wheel", 800, 5),
               tour_row("loader/rrc224", "sluice", 500, 6),
               tour_row("training/vit5-tiny", "sluice", 20, 7),
               tour_row("end-to-end/vit5-tiny", "sluice", 19.9, 8)};
  analysis::StepTimes times;
  times.loader = analysis::exactly(40);
  times.model = analysis::exactly(18);
  times.together = analysis::exactly(41);
  times.wait_share = analysis::exactly(0.55);
  file.diagnosis.emplace().step = "an emulated accelerator that trains 1786 images/s";
  file.diagnosis->attribution.value = analysis::attribute(times);
  return file;
}

TEST(TourText, SaysHowOursStandsBesideTheOthers) {
  const std::string said = tour_sentences(tour_file())[0];
  EXPECT_THAT(said, HasSubstr("Beside pillow and opencv-wheel, ours is faster in 1 of 2 cases, "
                              "level in 0 and slower in 1: "));
  EXPECT_THAT(said, HasSubstr("least in decode/jpeg/threads=1 (0.5"));
}

TEST(TourText, ARowThatComputesSomethingElseDoesNotCount) {
  results::ResultFile file = tour_file();
  file.rows[1].not_comparable = "another kernel";
  file.rows[2].not_comparable = "another kernel";
  EXPECT_THAT(tour_sentences(file)[0], HasSubstr("faster in 0 of 1 cases"));
}

TEST(TourText, SaysWhatLimitsTraining) {
  const std::string said = tour_sentences(tour_file())[1];
  EXPECT_THAT(said, HasSubstr("A training step of vit5-tiny takes "));
  EXPECT_THAT(said, HasSubstr(" ms for 8 images on this CPU (20"));
  EXPECT_THAT(said, HasSubstr("loading is hidden behind it"));
  EXPECT_THAT(said,
              HasSubstr("an emulated accelerator that trains 1786 images/s would wait for our "
                        "loader 55 % of the time"));

  results::ResultFile file = tour_file();
  file.rows.back() = tour_row("end-to-end/vit5-tiny", "sluice", 10, 8);
  EXPECT_THAT(tour_sentences(file)[1], HasSubstr("loading costs it cores"));
}

TEST(TourText, TheNextCommandFollowsFromWhatWasFound) {
  EXPECT_THAT(tour_sentences(tour_file())[2],
              AllOf(HasSubstr("Next: `sluice tune --input DIR`"),
                    HasSubstr("`sluice profile --model vit5-tiny --gpu cpu`")));
  results::ResultFile file = tour_file();
  analysis::StepTimes times;
  times.loader = analysis::exactly(10);
  times.model = analysis::exactly(18);
  times.together = analysis::exactly(18.1);
  times.wait_share = analysis::exactly(0.001);
  file.diagnosis->attribution.value = analysis::attribute(times);
  EXPECT_THAT(tour_sentences(file)[1], HasSubstr("would be kept busy by our loader"));
  EXPECT_THAT(tour_sentences(file)[2], Not(HasSubstr("sluice tune")));
  file.rows[0].status = measure::RowStatus::failed;
  EXPECT_THAT(tour_sentences(file)[2], HasSubstr("Next: the folder logs of this run"));
}

TEST(TourText, WhatWasNotMeasuredIsSaidWithItsReason) {
  results::ResultFile file = tour_file();
  file.rows = {tour_row("decode/jpeg/threads=1", "sluice", 400, 4),
               tour_row("training/vit5-tiny", "sluice", 20, 7)};
  file.rows[1].status = measure::RowStatus::unsupported;
  file.rows[1].reason = "libsluice_dnn.so is not installed";
  file.tour.emplace().peers_reason = "environment 'light' is not installed";
  const std::vector<std::string> said = tour_sentences(file);
  EXPECT_EQ(said[0], "Nothing was measured beside us: environment 'light' is not installed.");
  EXPECT_THAT(
      said[1],
      HasSubstr("Training was not measured: libsluice_dnn.so is not installed; an emulated"));
  EXPECT_THAT(said[2], HasSubstr("Next: `sluice peers install light`"));
  EXPECT_THAT(said[2], Not(HasSubstr("sluice profile")));
}

TEST(TourText, AnEmptyFileStillGivesThree) {
  const std::vector<std::string> said = tour_sentences(results::ResultFile{});
  EXPECT_THAT(said, SizeIs(3));
  EXPECT_EQ(said[0], "Only our own rows were measured.");
  EXPECT_EQ(said[1], "Training was not measured.");
}

TEST(TourText, ReportsShowTheSentencesOfAFileAsText) {
  results::ResultFile file = tour_file();
  EXPECT_TRUE(found_sentences(file).empty());
  file.tour.emplace().found = {"first <b>", "second"};
  EXPECT_THAT(found_sentences(file), ElementsAre("first <b>", "second"));
  EXPECT_THAT(markdown({file}), AllOf(HasSubstr("first &lt;b&gt;"), HasSubstr("\nsecond\n")));
  EXPECT_THAT(html({file}),
              AllOf(HasSubstr("\">first &lt;b&gt;</p>"), HasSubstr("<li>second</li>")));
}

TEST(TourText, TheTableOfATerminalComparesFirst) {
  TextOptions options;
  options.width = 80;
  options.brief = true;
  const std::string text = text_table({tour_file()}, options);
  const std::size_t compared = text.find("over pillow"), rest = text.find("loader/rrc224");
  ASSERT_NE(compared, std::string::npos);
  ASSERT_NE(rest, std::string::npos);
  EXPECT_LT(compared, rest);
  EXPECT_THAT(text, HasSubstr("Resize"));
  EXPECT_THAT(text, Not(HasSubstr("image-rgb/micro/Resize"))) << "not once more below";
  options.brief = false;
  options.width = 200;  // nothing is cut
  EXPECT_THAT(text_table({tour_file()}, options), HasSubstr("image-rgb/micro/Resize"));
}

}  // namespace
}  // namespace sluice::report::tour_text_test
