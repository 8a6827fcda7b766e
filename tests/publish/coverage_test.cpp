// tests/publish/coverage_test.cpp - what counts as there, and what is said about the rest.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/publish/coverage.h"

#include "sluice/core/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/results/fixtures.h"

namespace sluice::publish::coverage_test {
namespace {

using fixtures::matrix_file;
using fixtures::matrix_row;
using measure::RowStatus;

class CoverageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    table_.name = "a.json";
    table_.file = "a.json";
    for (const char* transform : {"Resize", "Rotate"}) {
      const auto row = matrix_row({}, transform, "pillow", 10);
      file_.rows.push_back(row);
      table_.rows.push_back(ExpectedRow{row.case_name, "pillow", {}});
    }
  }
  Coverage covered(bool require_optional = false) {
    EXPECT_TRUE(results::write(folder_.path() / "results/a.json", file_));
    auto coverage = cover({table_}, {folder_.path()}, require_optional);
    EXPECT_TRUE(coverage) << coverage.error().message;
    return coverage ? *coverage : Coverage{};
  }
  void give(RowStatus status, const char* reason) {
    file_.rows[1].status = status;
    file_.rows[1].reason = reason;
    file_.rows[1].runs.clear();
    file_.rows[1].summary.reset();
  }
  fixtures::TemporaryFolder folder_{"coverage"};
  results::ResultFile file_ = matrix_file({}, "pillow");
  ExpectedTable table_;
};

TEST_F(CoverageTest, FinalAnswersAreThere) {
  EXPECT_TRUE(covered().complete());
  for (const RowStatus status : {RowStatus::early_stopped, RowStatus::unsupported}) {
    give(status, "because");
    EXPECT_TRUE(covered().complete());
  }
}

TEST_F(CoverageTest, FailedAndSkippedAreMissingWithTheirReason) {
  for (const RowStatus status : {RowStatus::failed, RowStatus::skipped}) {
    give(status, "it burnt");
    const Coverage coverage = covered();
    ASSERT_EQ(coverage.missing.size(), 1U);
    EXPECT_EQ(coverage.missing[0].case_name, "image-rgb/micro/Rotate");
    EXPECT_EQ(coverage.missing[0].reason, std::string(to_string(status)) + ": it burnt");
    EXPECT_EQ(coverage.present(), 1U);
  }
  table_.rows[1].may_be_skipped = true;
  EXPECT_TRUE(covered().complete());
}

TEST_F(CoverageTest, AnOkRowWithoutSamplesIsNotThere) {
  give(RowStatus::ok, "");
  EXPECT_FALSE(covered().complete());
}

TEST_F(CoverageTest, AFileWithoutRowsIsMissing) {
  file_.rows.clear();
  const Coverage coverage = covered();
  ASSERT_EQ(coverage.missing.size(), 1U);
  EXPECT_EQ(coverage.missing[0].reason, "the file holds no row");
  EXPECT_EQ(to_json(coverage)["complete"], false);
}

TEST_F(CoverageTest, AFolderWithoutFilesMissesThemAll) {
  std::filesystem::create_directories(folder_.path() / "empty");
  const auto coverage = cover({table_}, {folder_.path() / "empty"}, false);
  ASSERT_TRUE(coverage) << coverage.error().message;
  ASSERT_EQ(coverage->missing.size(), 1U);
  EXPECT_EQ(coverage->missing[0].reason, "no such file");
  EXPECT_FALSE(cover({table_}, {folder_.path() / "nowhere"}, false));
}

TEST_F(CoverageTest, OptionalTablesCountOnDemand) {
  table_.optional = true;
  table_.file = "b.json";
  EXPECT_TRUE(covered().complete());
  EXPECT_FALSE(covered(true).complete());
}

TEST_F(CoverageTest, WithoutAFileNameAnyFileOfTheDeviceWillDo) {
  table_.file.clear();
  EXPECT_TRUE(covered().complete());
  table_.device = "cuda";
  const Coverage coverage = covered();
  ASSERT_EQ(coverage.missing.size(), 1U);
  EXPECT_EQ(coverage.missing[0].reason, "no file holds its rows");
  file_.run_config["execution"]["device"] = "cuda";
  EXPECT_TRUE(covered().complete());
}

TEST_F(CoverageTest, HostRowsOfARunOnAGpuAreNotThoseOfAMachineWithoutOne) {
  table_.file.clear();
  table_.run_device = "cuda";  // its device is none
  EXPECT_FALSE(covered().complete());
  file_.run_config["execution"]["device"] = "cuda";
  file_.matrix.emplace().device = "none";
  EXPECT_TRUE(covered().complete());
  table_.run_device.clear();
  EXPECT_FALSE(covered().complete());
}

TEST_F(CoverageTest, NamedParametersMustAgree) {
  table_.rows[0].params = {{"transform", "Resize"}};
  EXPECT_TRUE(covered().complete());
  table_.rows[0].params = {{"scope", "memory_dataloader_augment"}};
  EXPECT_FALSE(covered().complete());
}

TEST_F(CoverageTest, RunsAreCountedOverAllFilesThatHoldTheRow) {
  table_.file.clear();
  table_.runs = static_cast<int>(file_.rows[0].runs.size());
  Coverage coverage = covered();
  EXPECT_TRUE(coverage.complete());
  EXPECT_EQ(coverage.tables[0].runs, table_.runs);
  table_.runs += 2;
  coverage = covered();
  ASSERT_EQ(coverage.missing.size(), 2U);
  EXPECT_EQ(coverage.missing[0].reason, "3 of 5 runs");
  EXPECT_EQ(to_json(coverage)["tables"][0]["runs"], 3);
  results::ResultFile later = file_;  // the same ids count once, new ones are more runs
  EXPECT_TRUE(results::write(folder_.path() / "results/b.json", later));
  EXPECT_FALSE(covered().complete());
  later.session_id = "later";
  for (measure::Row& row : later.rows)
    for (measure::Run& run : row.runs)
      run.run_id = "later/" + run.run_id;
  EXPECT_TRUE(results::write(folder_.path() / "results/b.json", later));
  EXPECT_TRUE(covered().complete());
}

TEST_F(CoverageTest, ATableInWhichAllIsUnsupportedIsMissing) {
  for (measure::Row& row : file_.rows) {
    row.status = RowStatus::unsupported;
    row.reason = "not installed";
    row.runs.clear();
    row.summary.reset();
  }
  const Coverage coverage = covered();
  ASSERT_EQ(coverage.missing.size(), 1U);
  EXPECT_EQ(coverage.missing[0].reason,
            "nothing was measured: every row is unsupported: not installed");
  EXPECT_EQ(coverage.present(), 0U);
  table_.optional = true;
  EXPECT_TRUE(covered().complete());
}

TEST_F(CoverageTest, FewerItemsThanTheTableWantsDoNotCount) {
  table_.file.clear();
  table_.items = 2000;
  file_.dataset.count = 5000;
  file_.run_config["data"]["num_items"] = 100;
  const Coverage coverage = covered();
  ASSERT_EQ(coverage.missing.size(), 1U);
  EXPECT_EQ(coverage.missing[0].reason, "100 items were measured, 2000 are due");
  file_.run_config["data"]["num_items"] = 2000;
  EXPECT_TRUE(covered().complete());
}

TEST_F(CoverageTest, AForeignFileIsPassedOver) {
  EXPECT_TRUE(covered().complete());
  ASSERT_TRUE(write_file_atomic(folder_.path() / "results/package.json", "{\"name\": \"x\"}"));
  EXPECT_TRUE(covered().complete());
}

TEST_F(CoverageTest, AFileThatCannotBeReadIsAnError) {
  EXPECT_TRUE(covered().complete());
  ASSERT_TRUE(write_file_atomic(folder_.path() / "results/cut.json", "{\"schema"));
  EXPECT_FALSE(cover({table_}, {folder_.path()}, false));
}

}  // namespace
}  // namespace sluice::publish::coverage_test
