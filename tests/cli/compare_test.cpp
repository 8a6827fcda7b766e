// tests/cli/compare_test.cpp - `sluice compare`: what is printed, and the exit codes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/json.h"

#include "tests/cli/program_run.h"
#include "tests/gate/make_results.h"
#include <filesystem>
#include <unistd.h>

namespace sluice::cli::compare_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

Outcome compare(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "compare");
  return outcome_of(std::move(arguments));
}

class CompareCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("sluice-compare-cli-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    base_ = write("base.json", {100, 101, 99});
    slow_ = write("slow.json", {90, 91, 89});
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string write(const char* name, const std::vector<double>& rates) const {
    const results::ResultFile file = gate::sound_file({gate::row_of("resize", rates)});
    EXPECT_TRUE(results::write(folder_ / name, file).has_value());
    return (folder_ / name).string();
  }

  fs::path folder_;
  std::string base_;
  std::string slow_;
};

TEST_F(CompareCommand, ExitCodeFollowsTheVerdict) {
  const Outcome slower = compare({base_, slow_});
  EXPECT_EQ(slower.code, 1);
  EXPECT_THAT(slower.out, HasSubstr("FAIL: 1 slower"));
  EXPECT_EQ(slower.err, "");
  EXPECT_EQ(compare({slow_, base_}).code, 0);  // improved
  EXPECT_EQ(compare({base_, base_}).code, 0);
  EXPECT_EQ(compare({base_, slow_, "--threshold", "15%"}).code, 0);
  EXPECT_EQ(compare({base_, slow_, "--alpha", "0.000001"}).code, 0);
  EXPECT_EQ(compare({base_, slow_, "--alpha", "0.000001", "--strict"}).code, 3);
  EXPECT_EQ(compare({base_, base_, "--strict"}).code, 0);
}

TEST_F(CompareCommand, NothingComparableAndFailedRowsAreNoSuccess) {
  const results::ResultFile other = gate::sound_file({gate::row_of("another", {1, 2, 3})});
  const results::ResultFile failed =
      gate::sound_file({gate::row_with("resize", measure::RowStatus::failed, "killed")});
  ASSERT_TRUE(results::write(folder_ / "other.json", other).has_value());
  ASSERT_TRUE(results::write(folder_ / "failed.json", failed).has_value());
  EXPECT_EQ(compare({base_, (folder_ / "other.json").string()}).code, 1);
  EXPECT_EQ(compare({base_, (folder_ / "other.json").string(), "--allow-missing"}).code, 4);
  EXPECT_EQ(compare({base_, (folder_ / "failed.json").string()}).code, 5);
}

TEST_F(CompareCommand, JsonIsOneDocumentAndOutKeepsIt) {
  const std::string folder = (folder_ / "verdict").string();
  const Outcome outcome = compare({base_, slow_, "--json", "--out", folder});
  EXPECT_EQ(outcome.code, 1);
  const auto json = parse_json(outcome.out, "stdout");
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ((*json)["verdict"], "FAIL");
  EXPECT_EQ((*json)["rows"].size(), 1u);
  EXPECT_EQ(*read_text_file(fs::path(folder) / "verdict.json"), outcome.out);
}

TEST_F(CompareCommand, BadInputIsOneLineAndExitTwo) {
  const std::string broken = (folder_ / "broken.json").string();
  ASSERT_TRUE(write_file_atomic(broken, "{\"schema_version\": 1").has_value());
  const std::vector<std::vector<std::string>> bad{
      {base_, (folder_ / "missing.json").string()},
      {broken, base_},
      {base_, broken, "--json"},
      {base_},
      {base_, slow_, "--threshold", "lots"},
      {base_, slow_, "--threshold", "100%"},
      {base_, slow_, "--alpha", "0"},
  };
  for (const auto& arguments : bad) {
    const Outcome outcome = compare(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

}  // namespace
}  // namespace sluice::cli::compare_test
