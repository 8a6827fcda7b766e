// tests/report/matrix_test.cpp - what shares a table, what is bold, and what is said below it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/matrix/matrix.h"

#include "sluice/core/text.h"
#include "sluice/report/format.h"
#include "sluice/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/results/fixtures.h"

namespace sluice::report::matrix_test {
namespace {

using fixtures::matrix_file;
using fixtures::matrix_row;
using fixtures::MatrixShape;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<const results::ResultFile*> pointers(const std::vector<results::ResultFile>& files) {
  std::vector<const results::ResultFile*> out;
  for (const auto& file : files)
    out.push_back(&file);
  return out;
}

results::ResultFile file_with(const MatrixShape& shape, const std::string& library,
                              const std::vector<std::pair<std::string, double>>& rates) {
  auto file = matrix_file(shape, library);
  for (const auto& [transform, rate] : rates)
    file.rows.push_back(matrix_row(shape, transform, library, rate, 0.001));
  return file;
}

const MatrixCell& cell(const MatrixTable& table, const std::string& line,
                       const std::string& library) {
  for (const auto& one : table.lines) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (one.name == line && table.columns[c].library == library) return one.cells[c];
    }
  }
  static const MatrixCell kNothing;
  ADD_FAILURE() << "no cell " << line << ", " << library;
  return kNothing;
}

TEST(MatrixTest, TheYardstickIsNoLibraryAndNeverLeads) {
  const MatrixShape shape;
  const std::vector<results::ResultFile> files = {
      file_with(shape, "sluice", {{"Resize", 1000}, {"Invert", 3000}}),
      file_with(shape, "pillow", {{"Resize", 500}, {"Invert", 1000}}),
      file_with(shape, "memcpy", {{"Resize", 9000}, {"Invert", 9000}})};
  const auto tables = matrix_tables(pointers(files));
  ASSERT_EQ(tables.size(), 1U);
  for (const MatrixColumn& column : tables[0].columns)
    EXPECT_NE(column.library, "memcpy");
  EXPECT_TRUE(cell(tables[0], "Resize", "sluice").best);
  EXPECT_EQ(cell(tables[0], "Resize", "sluice").share, 1);
  for (const auto& line : tables[0].lines) {
    ASSERT_TRUE(line.lead);
    EXPECT_EQ(tables[0].columns[line.lead->first].library, "sluice");
    EXPECT_EQ(tables[0].columns[line.lead->second].library, "pillow");
  }
  const std::string page = html(files);
  EXPECT_THAT(page, HasSubstr("<p class=\"headline\">Take sluice: fastest in 2 of 2 rows"));
  EXPECT_THAT(page, Not(HasSubstr("Take memcpy")));
}

TEST(MatrixTest, AnyDifferenceOfTheRegimeOpensAnotherTable) {
  const MatrixShape base{.mode = "pipeline", .batch_size = 256, .workers = 8};
  std::vector<MatrixShape> shapes(6, base);
  shapes[1].device = "cuda";
  shapes[2].batch_size = 32;
  shapes[3].workers = 2;
  shapes[4].scope = "decode_dataloader_augment";
  shapes[5].scenario = "image-9ch";
  std::vector<results::ResultFile> files;
  for (const auto& shape : shapes)
    files.push_back(file_with(shape, "kornia", {{"Resize", 100}}));
  auto other_threads = file_with(base, "kornia", {{"Resize", 100}});
  other_threads.run_config["execution"]["thread_policy"] = "pipeline-single-worker";
  files.push_back(other_threads);
  auto other_machine = file_with(base, "kornia", {{"Resize", 100}});
  other_machine.machine_profile = "another";
  files.push_back(other_machine);
  for (const auto& one : pointers(files)) {
    const auto joined = matrix_tables({&files[0], one});
    EXPECT_EQ(joined.size(), 2U);  // with itself too: one row cannot stand twice in a table
  }
  EXPECT_EQ(matrix_tables(pointers(files)).size(), files.size());
  const auto second = file_with(base, "pillow", {{"Resize", 90}});
  EXPECT_EQ(matrix_tables({&files[0], &second}).size(), 1U);
}

TEST(MatrixTest, MicroIgnoresTheSizesOfTheLoader) {
  MatrixShape shape;
  const auto a = file_with(shape, "kornia", {{"Resize", 100}});
  shape.batch_size = 256;
  const auto b = file_with(shape, "pillow", {{"Resize", 100}});
  EXPECT_EQ(matrix_tables({&a, &b}).size(), 1U);
}

TEST(MatrixTest, DataLoaderLeadsAndExplorationComesLast) {
  const auto files = fixtures::matrix();
  std::vector<std::string> titles;
  for (const auto& table : matrix_tables(pointers(files)))
    titles.push_back(table.title());
  EXPECT_THAT(
      titles,
      ElementsAre(
          "DataLoader: image-rgb on the CPU, memory scope, batch 256, 8 workers",
          "DataLoader: image-rgb on cuda, memory scope, batch 256, 8 workers",
          "Profiler: image-rgb on the CPU", "Profiler: video-16f on the CPU",
          "Exploratory: DataLoader, image-rgb on the CPU, decode scope, batch 32, 2 workers"));
}

TEST(MatrixTest, MainSizesAreThosePublished) {
  Regime regime;
  regime.mode = "pipeline";
  regime.device = "none";
  regime.scope = "memory_dataloader_augment";
  regime.workers = 8;
  const auto main = [&](const char* scenario, std::int64_t batch) {
    regime.scenario = scenario;
    regime.batch_size = batch;
    return is_main(regime);
  };
  EXPECT_TRUE(main("image-rgb", 256));
  EXPECT_FALSE(main("image-rgb", 64));
  EXPECT_TRUE(main("image-9ch", 64));
  EXPECT_FALSE(main("image-9ch", 256));
  regime.workers = 2;
  EXPECT_FALSE(main("image-9ch", 64));
}

TEST(MatrixTest, TheFasterBuildOfOpencvCounts) {
  const auto files = fixtures::matrix();
  const auto tables = matrix_tables(pointers(files));
  const MatrixTable& micro = tables[2];
  EXPECT_EQ(micro.columns.size(), 4U);
  EXPECT_EQ(cell(micro, "Resize", "opencv").row->library, "opencv");
  EXPECT_EQ(cell(micro, "HorizontalFlip", "opencv").row->library, "opencv-wheel");
  EXPECT_THAT(micro.remarks, Contains(HasSubstr("opencv-wheel for HorizontalFlip")));
}

TEST(MatrixTest, WhatIsNotComparableIsNeverBoldAndNeverLeads) {
  const auto files = fixtures::matrix();
  const auto tables = matrix_tables(pointers(files));
  const MatrixTable& micro = tables[2];
  const MatrixCell& odd = cell(micro, "Solarize", "torchvision");
  EXPECT_GT(odd.row->summary->median, cell(micro, "Solarize", "pillow").row->summary->median);
  EXPECT_FALSE(odd.best);
  EXPECT_EQ(odd.note, 2U);
  EXPECT_THAT(micro.notes[1], HasSubstr("0.5"));
  EXPECT_TRUE(cell(micro, "Solarize", "albumentationsx").best);
  EXPECT_TRUE(cell(micro, "Solarize", "pillow").best) << "the intervals overlap";
  EXPECT_EQ(micro.columns[micro.lines.back().lead->first].library, "albumentationsx");
}

TEST(MatrixTest, ALibraryAloneIsNotTheFastest) {
  const MatrixShape shape;
  const auto a = file_with(shape, "kornia", {{"Resize", 100}});
  EXPECT_FALSE(matrix_tables({&a})[0].lines[0].cells[0].best);
}

TEST(MatrixTest, LeadIsTheRatioOfPairedRuns) {
  const MatrixShape shape;
  auto a = file_with(shape, "kornia", {{"Resize", 200}});
  auto b = file_with(shape, "pillow", {{"Resize", 100}});
  const Lead paired = *matrix_tables({&a, &b})[0].lines[0].lead;
  EXPECT_NEAR(paired.ratio, 2, 0.02);
  ASSERT_TRUE(paired.low && paired.high);
  EXPECT_LT(*paired.low, paired.ratio);
  EXPECT_GT(*paired.high, paired.ratio);
  b.session_id = "another";
  const auto apart = matrix_tables({&a, &b});
  EXPECT_NEAR(apart[0].lines[0].lead->ratio, 2, 0.02);
  EXPECT_THAT(apart[0].remarks, Contains(HasSubstr("2 sessions")));
  for (auto* file : {&a, &b}) {
    file->rows[0].runs.resize(1);
    file->rows[0].summary->n_runs = 1;
  }
  const Lead single = *matrix_tables({&a, &b})[0].lines[0].lead;
  EXPECT_NEAR(single.ratio, 2, 0.02);
  EXPECT_FALSE(single.low);
}

TEST(MatrixTest, CloseCallsAreListedWithTheRunsThatWouldTell) {
  const MatrixShape shape;
  auto a = matrix_file(shape, "kornia");
  auto b = matrix_file(shape, "pillow");
  a.rows = {matrix_row(shape, "Resize", "kornia", 100, 0.05, 1),
            matrix_row(shape, "Pad", "kornia", 500, 0.001)};
  b.rows = {matrix_row(shape, "Resize", "pillow", 101, 0.05, 2),
            matrix_row(shape, "Pad", "pillow", 100, 0.001)};
  const auto table = matrix_tables({&a, &b})[0];
  EXPECT_TRUE(is_close_call(table.lines[0]));
  EXPECT_FALSE(is_close_call(table.lines[1]));
  EXPECT_THAT(table.remarks,
              Contains(::testing::AllOf(HasSubstr("1 of 2 rows"), HasSubstr(": Resize."),
                                        HasSubstr("5 runs"))));
  MatrixShape five = shape;
  five.runs = 5;
  a.rows = {matrix_row(five, "Resize", "kornia", 100, 0.05, 1)};
  b.rows = {matrix_row(five, "Resize", "pillow", 101, 0.05, 2)};
  EXPECT_THAT(matrix_tables({&a, &b})[0].remarks, Not(Contains(HasSubstr("5 runs"))));
}

TEST(MatrixTest, GeneratedItemsAreSaidToBe) {
  const MatrixShape shape;
  auto a = file_with(shape, "kornia", {{"Resize", 100}});
  EXPECT_THAT(matrix_tables({&a})[0].remarks, Not(Contains(HasSubstr("generated"))));
  a.run_config["data"]["generated"] = true;
  EXPECT_THAT(matrix_tables({&a})[0].remarks, Contains(HasSubstr("items are generated")));
}

TEST(MatrixTest, TheSlowMarkerFollowsTheThreshold) {
  MatrixShape shape;
  auto file = matrix_file(shape, "kornia");
  EXPECT_EQ(slow_marker(file, "img/s"), "≤20 img/s");
  file.run_config["execution"]["slow_threshold_sec_per_item"] = 0.3;
  EXPECT_EQ(slow_marker(file, "img/s"), "≤3.33 img/s");
  shape.scenario = "video-16f";
  EXPECT_EQ(slow_marker(matrix_file(shape, "kornia"), "clips/s"), "≤0.5 clips/s");
}

TEST(MatrixTest, CoverageCountsTransformsWithoutAnyRow) {
  const MatrixShape shape;
  const auto a = file_with(shape, "kornia", {{"Resize", 100}, {"Pad", 7}});
  const auto tables = matrix_tables({&a});
  EXPECT_EQ(coverage_text(tables[0], tables[0].columns[0]), "2/9");
  EXPECT_THAT(tables[0].remarks, Contains(HasSubstr("7 of the 9 transforms")));
  EXPECT_EQ(*tables[0].columns[0].median,
            (a.rows[0].summary->median + a.rows[1].summary->median) / 2);
}

TEST(MatrixTest, LinesFollowTheConfiguration) {
  const MatrixShape shape;
  const auto a = file_with(shape, "kornia", {{"Pad", 1}, {"NotListed", 2}, {"Resize", 100}});
  std::vector<std::string> names;
  const auto tables = matrix_tables({&a});
  for (const auto& line : tables[0].lines)
    names.push_back(line.name);
  EXPECT_THAT(names, ElementsAre("Resize", "Pad", "NotListed"));
}

TEST(MatrixTest, PublishedWinnersAreComparedAmongLibrariesThatHaveFigures) {
  const MatrixShape shape;
  auto a = file_with(shape, "kornia", {{"Resize", 100}, {"Pad", 50}});
  auto b = file_with(shape, "pillow", {{"Resize", 90}, {"Pad", 60}});
  const auto ours = file_with(shape, "sluice", {{"Resize", 900}, {"Pad", 900}});
  a.matrix.emplace().published = {{"Resize", 10}, {"Pad", 11}};
  b.matrix.emplace().published = {{"Resize", 9}, {"Pad", -1}};
  EXPECT_THAT(matrix_tables({&a, &b, &ours})[0].remarks,
              Contains(HasSubstr("the same library wins in all 1 rows")));
  b.matrix->published[1].second = 5.0;
  EXPECT_THAT(matrix_tables({&a, &b, &ours})[0].remarks,
              Contains(HasSubstr("Pad (published kornia, here pillow)")));
}

TEST(MatrixTest, SixLibrariesFitATerminal) {
  const MatrixShape shape;
  std::vector<results::ResultFile> files;
  for (const char* library :
       {"sluice", "albumentationsx", "torchvision", "kornia", "pillow", "opencv"}) {
    files.push_back(matrix_file(shape, library));
    for (const char* transform :
         {"GaussianIllumination", "RandomResizedCrop", "PhotoMetricDistort"})
      files.back().rows.push_back(matrix_row(shape, transform, library, 38380, 0.03, files.size()));
  }
  for (const unsigned width : {60U, 80U, 100U}) {
    TextOptions options;
    options.width = width;
    const std::string text = text_table(files, options);
    for (const auto& line : split(text, '\n'))
      EXPECT_LE(display_width(line), width < 80 ? 90U : width) << line;
    EXPECT_THAT(text, HasSubstr("fastest over next"));
  }
  EXPECT_THAT(text_table(files), HasSubstr("±"));
}

TEST(MatrixTest, OtherFilesKeepTheirTables) {
  auto files = fixtures::matrix();
  const std::string alone = markdown({fixtures::quick()});
  files.push_back(fixtures::quick());
  EXPECT_THAT(markdown(files), HasSubstr("\n---\n\n" + alone));
  EXPECT_THAT(alone, Not(HasSubstr("Profiler")));
}

TEST(MatrixTest, StringsOfAFileStayText) {
  const MatrixShape shape;
  auto a = file_with(shape, "kornia", {{"<b>|x|</b>", 100}, {"Resize\n\x1b[31m", 3}});
  a.rows[0].not_comparable = "| <script> \n";
  a.rows[1].status = measure::RowStatus::unsupported;
  a.rows[1].reason = "a\nb | <i>";
  a.rows[1].library_version = "`1`";
  a.run_config["selection"]["scenario"] = "image-<i>|\n";
  for (const auto& text : {markdown({a}), html({a}), text_table({a}), csv({a})}) {
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  }
  EXPECT_THAT(markdown({a}), Not(HasSubstr("<script>")));
  EXPECT_THAT(html({a}), Not(HasSubstr("<script>")));
  for (const auto& line : split(markdown({a}), '\n')) {
    if (!line.starts_with("| ")) continue;
    EXPECT_THAT(line, Not(HasSubstr("<b>")));
  }
}

}  // namespace
}  // namespace sluice::report::matrix_test
