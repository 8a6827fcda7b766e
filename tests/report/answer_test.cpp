// tests/report/answer_test.cpp - which library to take, and that a memory copy is none.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/matrix/answer.h"

#include "sluice/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/results/fixtures.h"

namespace sluice::report::answer_test {
namespace {

using fixtures::matrix_file;
using fixtures::matrix_row;
using fixtures::MatrixShape;
using ::testing::HasSubstr;
using ::testing::Not;
using Rates = std::vector<std::pair<std::string, double>>;

results::ResultFile measured(const std::string& library, const Rates& rates, double cv = 0.001) {
  const MatrixShape shape;
  auto file = matrix_file(shape, library);
  std::uint64_t seed = 0;  // rows of different libraries vary apart
  for (const char letter : library)
    seed += static_cast<std::uint64_t>(letter);
  for (const auto& [transform, rate] : rates)
    file.rows.push_back(matrix_row(shape, transform, library, rate, cv, ++seed));
  return file;
}

MatrixTable table_of(const std::vector<results::ResultFile>& files) {
  std::vector<const results::ResultFile*> pointers;
  for (const auto& file : files)
    pointers.push_back(&file);
  return matrix_tables(pointers).front();
}

TEST(AnswerTest, TheFastestInMostRowsIsTaken) {
  const std::vector<results::ResultFile> files{
      measured("sluice", {{"Resize", 400}, {"Rotate", 300}, {"Blur", 100}}),
      measured("opencv", {{"Resize", 200}, {"Rotate", 100}, {"Blur", 200}}),
      measured("pillow", {{"Resize", 50}, {"Rotate", 50}, {"Blur", 50}})};
  EXPECT_THAT(
      answer_text(table_of(files)),
      HasSubstr("Take sluice: fastest in 2 of 3 rows (opencv in 1); next is opencv, 0.50 to "
                "3.00 × its time."));
}

TEST(AnswerTest, TheNextIsTheNearestWithTheRangeOverRows) {
  const std::vector<results::ResultFile> files{
      measured("sluice", {{"Resize", 400}, {"Rotate", 300}}),
      measured("opencv", {{"Resize", 200}, {"Rotate", 100}}),
      measured("pillow", {{"Resize", 50}, {"Rotate", 50}})};
  EXPECT_EQ(answer_text(table_of(files)),
            "Take sluice: fastest in 2 of 2 rows; next is opencv, 2.00 to 3.00 × slower.");
}

TEST(AnswerTest, WithoutAMajorityNobodyIsTaken) {
  const std::vector<results::ResultFile> files{
      measured("sluice", {{"Resize", 400}, {"Rotate", 100}}),
      measured("opencv", {{"Resize", 200}, {"Rotate", 300}})};
  const MatrixTable table = table_of(files);
  EXPECT_FALSE(answer_of(table).take);
  EXPECT_THAT(answer_text(table), HasSubstr("No one library to take"));
  EXPECT_TRUE(answer_json(table).at("take").is_null());
}

TEST(AnswerTest, WhatTheIntervalDoesNotSeparateIsTooClose) {
  const std::vector<results::ResultFile> files{measured("sluice", {{"Resize", 400}}, 0.2),
                                               measured("opencv", {{"Resize", 396}}, 0.2)};
  const MatrixTable table = table_of(files);
  EXPECT_EQ(answer_of(table).close, 1U);
  EXPECT_THAT(answer_text(table), HasSubstr("Too close to call"));
  EXPECT_THAT(winner_text(table, table.lines[0]), HasSubstr("too close: "));
}

TEST(AnswerTest, AMemoryCopyIsAYardstickAndNoLibrary) {
  const std::vector<results::ResultFile> files{
      measured("memcpy", {{"Resize", 1600}, {"Rotate", 1000}}),
      measured("sluice", {{"Resize", 400}, {"Rotate", 300}}),
      measured("opencv", {{"Resize", 200}, {"Rotate", 100}})};
  const MatrixTable table = table_of(files);
  ASSERT_EQ(table.columns.size(), 2U);
  EXPECT_TRUE(table.copies);
  EXPECT_NEAR(*table.lines[0].of_copy, 0.25, 0.01);
  EXPECT_THAT(answer_text(table), HasSubstr("Take sluice"));
  for (const std::string& page : {markdown(files), text_table(files)}) {
    EXPECT_THAT(page, HasSubstr(kCopyShare));
    EXPECT_THAT(page, HasSubstr("25 %"));
    EXPECT_THAT(page, HasSubstr("Take sluice"));
  }
  const std::string page = html(files);
  EXPECT_THAT(page, HasSubstr("<p class=\"headline\">Take sluice"));
  EXPECT_LT(page.find("Take sluice"), page.find("<table")) << "the answer comes first";
  EXPECT_THAT(page, Not(HasSubstr("<th scope=\"col\">memcpy")));
}

TEST(AnswerTest, WhatComputesSomethingElseIsApart) {
  std::vector<results::ResultFile> files{measured("sluice", {{"Resize", 400}}),
                                         measured("opencv", {{"Resize", 200}}),
                                         measured("pillow", {{"Resize", 900}})};
  files[2].rows[0].not_comparable = "rounds down";
  const MatrixTable table = table_of(files);
  EXPECT_THAT(answer_text(table), HasSubstr("Take sluice: fastest in 1 of 1 row; next is opencv"));
  EXPECT_THAT(text_table(files), HasSubstr("(" + median_text(files[2].rows[0])));
  EXPECT_EQ(answer_json(table).at("rows")[0].at("not_comparable"), Json::array({"pillow"}));
}

TEST(AnswerTest, SingleRunsSayThatTheyAreNotSure) {
  std::vector<results::ResultFile> files{measured("sluice", {{"Resize", 400}}),
                                         measured("opencv", {{"Resize", 200}})};
  for (auto& file : files) {
    file.rows[0].runs.resize(1);
    file.rows[0].summary->n_runs = 1;
  }
  EXPECT_THAT(answer_text(table_of(files)), HasSubstr("no interval"));
}

TEST(AnswerTest, LibrariesThatAreNotInstalledHaveNoColumnOnATerminal) {
  std::vector<results::ResultFile> files{measured("sluice", {{"Resize", 400}}),
                                         measured("kornia", {{"Resize", 1}}),
                                         measured("opencv", {{"Resize", 200}})};
  files[1].rows[0].status = measure::RowStatus::unsupported;
  files[1].rows[0].reason = "not installed";
  files[1].rows[0].summary.reset();
  files[1].rows[0].runs.clear();
  const std::string text = text_table(files);
  const std::string head = text.substr(text.find("\ntransform") + 1);
  EXPECT_THAT(head.substr(0, head.find('\n')), Not(HasSubstr("kornia")));
  EXPECT_THAT(text, HasSubstr("unsupported in kornia: Resize: not installed"));
  EXPECT_THAT(text, HasSubstr("sluice 2.00×"));
}

}  // namespace
}  // namespace sluice::report::answer_test
