// tests/analysis/pool_files_test.cpp - runs of several sessions as one table, and what stays apart.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/pool_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/results/fixtures.h"
#include <set>

namespace sluice::analysis::pool_files_test {
namespace {

using fixtures::matrix_file;
using fixtures::matrix_row;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// One run of one library in a session of its own.
results::ResultFile visit(const std::string& session, double rate, const std::string& library) {
  fixtures::MatrixShape shape;
  shape.runs = 1;
  results::ResultFile file = matrix_file(shape, library);
  file.session_id = session;
  for (const char* transform : {"Resize", "Rotate"}) {
    measure::Row row = matrix_row(shape, transform, library, rate);
    row.items_per_sample = 100;
    for (measure::Run& run : row.runs)
      run.run_id = session + "/" + run.run_id;
    file.rows.push_back(std::move(row));
  }
  return file;
}

TEST(PoolFiles, OneRunNowAndTwoLaterAreThreeRuns) {
  const auto pooled =
      pool_files({visit("a", 10, "pillow"), visit("b", 11, "pillow"), visit("c", 12, "pillow")});
  ASSERT_THAT(pooled.files, SizeIs(1));
  EXPECT_TRUE(pooled.notes.empty());
  for (const measure::Row& row : pooled.files[0].rows) {
    ASSERT_THAT(row.runs, SizeIs(3));
    ASSERT_TRUE(row.summary);
    EXPECT_EQ(row.summary->n_runs, 3);
    EXPECT_TRUE(row.summary->ci95);
    std::set<int> blocks;
    for (const measure::Run& run : row.runs)
      blocks.insert(run.block);
    EXPECT_EQ(blocks.size(), 3U) << "blocks of two sessions are no pairs";
  }
}

TEST(PoolFiles, RunsOfOneSessionStayPairsInEveryLibrary) {
  const auto pooled = pool_files({visit("a", 10, "pillow"), visit("a", 20, "kornia"),
                                  visit("b", 11, "pillow"), visit("b", 21, "kornia")});
  ASSERT_THAT(pooled.files, SizeIs(2));
  EXPECT_EQ(pooled.files[0].session_id, pooled.files[1].session_id);
  for (std::size_t run = 0; run < 2; ++run)
    EXPECT_EQ(pooled.files[0].rows[0].runs[run].block, pooled.files[1].rows[0].runs[run].block);
}

TEST(PoolFiles, WhatWasMeasuredOtherwiseStaysApart) {
  const auto apart = [](const auto& change) {
    results::ResultFile other = visit("b", 11, "pillow");
    change(other);
    return pool_files({visit("a", 10, "pillow"), other});
  };
  EXPECT_THAT(apart([](auto& file) { file.machine_profile = "another"; }).files, SizeIs(2));
  EXPECT_THAT(apart([](auto& file) { file.dataset.hash = "another"; }).files, SizeIs(2));
  EXPECT_THAT(apart([](auto& file) { file.tool.git = "another"; }).files, SizeIs(2));
  EXPECT_THAT(apart([](auto& file) { file.run_config["execution"]["device"] = "cuda"; }).files,
              SizeIs(2));
  EXPECT_THAT(apart([](auto& file) { file.session_id = "a"; }).files, SizeIs(2));
  EXPECT_THAT(apart([](auto& file) { file.run_config["execution"]["num_runs"] = 7; }).files,
              SizeIs(1));
  EXPECT_THAT(apart([](auto& file) { file.run_config["execution"]["seed"] = 7; }).files, SizeIs(1));
}

TEST(PoolFiles, ADisagreementIsToldAndPoolsNothing) {
  results::ResultFile other = visit("b", 11, "pillow");
  other.rows[1].library_version = "99";
  const auto versions = pool_files({visit("a", 10, "pillow"), other});
  EXPECT_THAT(versions.files, SizeIs(2));
  ASSERT_THAT(versions.notes, SizeIs(1));
  EXPECT_THAT(versions.notes[0], HasSubstr("99"));
  other = visit("b", 11, "pillow");
  other.rows[1].items_per_sample = 50;
  const auto work = pool_files({visit("a", 10, "pillow"), other});
  EXPECT_THAT(work.files, SizeIs(2));
  ASSERT_THAT(work.notes, SizeIs(1));
  EXPECT_THAT(work.notes[0], HasSubstr("items per sample"));
}

TEST(PoolFiles, AFailedRunIsNotHiddenByTheOthers) {
  results::ResultFile other = visit("b", 11, "pillow");
  other.rows[0].status = measure::RowStatus::failed;
  other.rows[0].reason = "it burnt";
  const auto pooled = pool_files({visit("a", 10, "pillow"), other});
  ASSERT_THAT(pooled.files, SizeIs(1));
  EXPECT_EQ(pooled.files[0].rows[0].status, measure::RowStatus::failed);
  EXPECT_EQ(pooled.files[0].rows[0].reason, "it burnt");
}

TEST(PoolFiles, OtherResultsAreLeftAsTheyAre) {
  results::ResultFile again = fixtures::quick();
  again.session_id = "b";
  EXPECT_THAT(pool_files({fixtures::quick(), again}).files, SizeIs(2));
}

}  // namespace
}  // namespace sluice::analysis::pool_files_test
