// tests/report/golden_test.cpp - Markdown, CSV and the terminal table, byte for byte. tools/approve
// writes them again.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/report/format.h"
#include "sluice/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/places.h"
#include "tests/results/fixtures.h"
#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace sluice::report::golden_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

void expect_golden(const std::string& name, const std::string& text) {
  const auto path = testing_support::source_dir() / "tests/golden/report" / name;
  if (std::getenv("SLUICE_APPROVE") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    ASSERT_TRUE(create_folders(path.parent_path()));
    ASSERT_TRUE(write_file_atomic(path, text));
    return;
  }
  const auto golden = read_text_file(path);
  ASSERT_TRUE(golden) << golden.error().message << "; make it with tools/approve";
  EXPECT_EQ(text, *golden) << "if this change is meant: tools/approve, and review the difference";
}

TEST(GoldenTest, Markdown) {
  expect_golden("quick.md", markdown({fixtures::quick()}));
  expect_golden("peers.md", markdown({fixtures::peers()}));
  expect_golden("hostile.md", markdown({fixtures::hostile()}));
  expect_golden("matrix.md", markdown(fixtures::matrix()));
}

TEST(GoldenTest, Csv) {
  expect_golden("peers.csv", csv({fixtures::peers()}));
  expect_golden("hostile.csv", csv({fixtures::hostile()}));
  expect_golden("matrix.csv", csv(fixtures::matrix()));
}

TEST(GoldenTest, Text) {
  expect_golden("quick.txt", text_table({fixtures::quick()}));
  expect_golden("peers.txt", text_table({fixtures::peers()}));
  expect_golden("hostile.txt", text_table({fixtures::hostile()}));
  expect_golden("matrix.txt", text_table(fixtures::matrix()));
  expect_golden("empty.txt", text_table({fixtures::empty()}));
}

TEST(TextTest, TablesKeepToTheirWidth) {
  for (const unsigned width : {60U, 80U, 100U, 200U}) {
    for (const auto& [name, file] : fixtures::all()) {
      TextOptions options;
      options.width = width;
      for (const auto& line : split(text_table({file}, options), '\n')) {
        if (line.starts_with("repeat: ")) continue;  // one line to copy
        EXPECT_LE(display_width(line), width < 80 ? 90U : width) << name << ": " << line;
      }
    }
  }
}

TEST(TextTest, NoColourUnlessAsked) {
  EXPECT_THAT(text_table({fixtures::hostile()}), Not(HasSubstr("\x1b")));
  TextOptions options;
  options.colour = true;
  const std::string coloured = text_table({fixtures::peers()}, options);
  EXPECT_THAT(coloured, HasSubstr("\x1b[31mfailed\x1b[0m"));
  EXPECT_THAT(coloured, HasSubstr("\x1b[1m"));
}

TEST(SectionsTest, LibrariesOfOneSessionShareATable) {
  auto first = fixtures::peers();
  auto second = first;
  second.rows.erase(second.rows.begin(), second.rows.begin() + 1);  // opencv and others
  first.rows.resize(1);                                             // sluice's resize
  const std::string split_up = text_table({first, second});
  EXPECT_EQ(std::count(split_up.begin(), split_up.end(), '*'), 3);  // two best rows, one legend
  second.session_id = "another session";
  EXPECT_THAT(markdown({first, second}), HasSubstr("\n---\n"));
}

TEST(SectionsTest, WhatIntervalsDoNotSeparateIsBestTogether) {
  auto file = fixtures::peers();
  file.rows.resize(3);
  file.rows[1].summary->ci95->high = file.rows[0].summary->ci95->low + 1;
  const std::string text = markdown({file});
  EXPECT_EQ(std::count(text.begin(), text.end(), '*') / 4, 2 + 1)
      << text;  // two bold medians and the noise
}

TEST(MarkdownTest, EveryRowHasEveryCell) {
  for (const auto& [name, file] : fixtures::all()) {
    int header = 0;  // of the table that the line is in; a column more where ratios stand
    for (const auto& line : split(markdown({file}), '\n')) {
      int bars = 0;
      for (std::size_t i = 0; i < line.size(); ++i)
        bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
      if (!line.starts_with("|")) {
        header = 0;
        continue;
      }
      if (header == 0) header = bars;
      EXPECT_TRUE(header == 8 || header == 9) << name << ": " << line;
      EXPECT_EQ(bars, header) << name << ": " << line;
    }
  }
}

TEST(CsvTest, EveryLineHasEveryColumn) {
  for (const auto& [name, file] : fixtures::all()) {
    for (const auto& line : split(csv({file}), '\n')) {
      if (line.empty()) continue;
      int commas = 0;
      bool quoted = false;
      for (const char c : line) {
        if (c == '"') quoted = !quoted;
        commas += c == ',' && !quoted;
      }
      EXPECT_EQ(commas, 33) << name << ": " << line;
      EXPECT_FALSE(quoted) << line;
    }
  }
}

}  // namespace
}  // namespace sluice::report::golden_test
