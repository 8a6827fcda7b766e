// tests/analysis/validate_test.cpp - every way in which a readable file is not to be trusted.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/validate.h"

#include "sluice/core/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/places.h"
#include "tests/results/fixtures.h"
#include <functional>

namespace sluice::analysis::validate_test {
namespace {

using fixtures::matrix_file;
using fixtures::matrix_row;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

results::ResultFile sound_file() {
  auto file = matrix_file({}, "pillow");
  file.rows.push_back(matrix_row({}, "Resize", "pillow", 400));
  file.rows.push_back(matrix_row({}, "Rotate", "pillow", 1000));
  return file;
}

TEST(ValidateTest, WhatRunsWriteIsSound) {
  EXPECT_THAT(validate(sound_file(), "x").issues, IsEmpty());
  for (const char* name : {"quick.json", "bench-decode.json", "bench-harness.json"}) {
    const auto file = results::read(testing_support::source_dir() / "docs/results" / name);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_THAT(validate(*file, name).issues, IsEmpty()) << name;
  }
  for (const auto& file : fixtures::matrix())
    EXPECT_THAT(validate(file, "x").issues, IsEmpty());
}

// Nobody saw the output of a watched program: its rows have no digest, and a reader is told.
TEST(ValidateTest, AWatchedProgramNeedsNoDigest) {
  auto file = sound_file();
  file.run_config["command"] = "watch";
  for (auto& row : file.rows)
    row.output_digest.clear();
  const FileCheck check = validate(file, "x");
  EXPECT_THAT(check.issues, IsEmpty());
  EXPECT_THAT(check.warnings,
              Contains(HasSubstr("2 rows of a watched program: its output was not")));
  file.rows[0].runs[0].details =
      Json::array({Json{{"run_ns", 2'000'000'000}, {"marked_ns", 60'000}}});
  file.rows[0].runs.resize(1);
  EXPECT_THAT(validate(file, "x").warnings,
              Contains(HasSubstr("1 row whose marked steps cover less")));
}

struct Damage {
  const char* name;
  std::function<void(results::ResultFile&)> make;
  const char* issue;
};

TEST(ValidateTest, EachDamageIsFoundAndNamed) {
  const Damage damages[] = {
      {"no rows", [](auto& f) { f.rows.clear(); }, "holds no row"},
      {"twice", [](auto& f) { f.rows.push_back(f.rows[0]); }, "occurs twice"},
      {"no digest", [](auto& f) { f.rows[0].output_digest.clear(); }, "no digest"},
      {"no runs", [](auto& f) { f.rows[0].runs.clear(); }, "ok without a run"},
      {"no samples", [](auto& f) { f.rows[0].runs[1].samples_ns.clear(); }, "run 1 has no sample"},
      {"a zero", [](auto& f) { f.rows[0].runs[1].samples_ns[0] = 0; }, "of zero length"},
      {"no summary", [](auto& f) { f.rows[0].summary.reset(); }, "ok without a summary"},
      {"a run less", [](auto& f) { f.rows[0].runs.pop_back(); },
       "2 runs, the configuration asks for 3"},
      {"n_runs", [](auto& f) { f.rows[0].summary->n_runs = 9; }, "n_runs is 9, but there are 3"},
      {"n_samples", [](auto& f) { f.rows[0].summary->n_samples = 9; }, "n_samples is 9"},
      {"median", [](auto& f) { f.rows[0].summary->median *= 1.01; }, "median is"},
      {"mean", [](auto& f) { f.rows[0].summary->mean *= 0.99; }, "mean is"},
      {"a sample", [](auto& f) { f.rows[0].runs[0].samples_ns[0] *= 2; }, "its samples give"},
      {"threads", [](auto& f) { f.rows[0].thread_policy.in_force = 2; }, "2 threads in force"},
      {"no policy", [](auto& f) { f.rows[0].thread_policy.name.clear(); }, "thread policy"},
      {"other policy", [](auto& f) { f.rows[0].thread_policy.name = "pipeline-default"; },
       "micro-single expected"},
      {"cpu time",
       [](auto& f) {
         f.rows[0].thread_policy.cpu_per_wall = 1.8;
         for (auto& run : f.rows[0].runs)
           run.cpu_ns = run.cpu_ns * 18 / 10;
       },
       "CPU time over wall time is 1.80"},
      {"cpu claim", [](auto& f) { f.rows[0].thread_policy.cpu_per_wall = 0.5; },
       "its runs give 1.0"},
      {"blocks", [](auto& f) { f.rows[0].runs[1].block = 0; }, "two runs in block 0"},
      {"ids", [](auto& f) { f.rows[0].runs[1].run_id = f.rows[0].runs[0].run_id; }, "occurs twice"},
      {"other id", [](auto& f) { f.rows[0].runs[1].run_id = "s/x/y/0"; }, "is of another row"},
      {"no session", [](auto& f) { f.session_id.clear(); }, "names no session"},
      {"no reason",
       [](auto& f) {
         f.rows[0].status = measure::RowStatus::failed;
         f.rows[0].reason.clear();
       },
       "failed without a reason"},
  };
  for (const auto& damage : damages) {
    auto file = sound_file();
    damage.make(file);
    EXPECT_THAT(validate(file, "x").issues, Contains(HasSubstr(damage.issue))) << damage.name;
  }
}

TEST(ValidateTest, WarnsWithoutRefusing) {
  auto file = sound_file();
  file.run_config["execution"]["num_runs"] = 2;
  for (auto& row : file.rows) {
    row = matrix_row({.runs = 2}, row.params.at("transform"), "pillow", 400, 0.4, 3);
  }
  file.rows.push_back(file.rows[0]);
  file.rows[2].case_name = "image-rgb/micro/Rain";
  file.rows[2].status = measure::RowStatus::unsupported;
  file.rows[2].reason = "Rain is not available in pillow";
  file.rows[2].runs.clear();
  file.rows[2].summary.reset();
  const FileCheck check = validate(file, "x");
  EXPECT_THAT(check.issues, IsEmpty());
  EXPECT_THAT(check.warnings, ElementsAre(HasSubstr("2 rows with fewer than 3 runs"),
                                          "1 row unsupported", "2 rows unstable"));
}

class ValidatePaths : public ::testing::Test {
 protected:
  fixtures::TemporaryFolder folder_{"validate"};
};

TEST_F(ValidatePaths, TellsUnreadableFromUnsound) {
  const auto& path = folder_.path();
  ASSERT_TRUE(results::write(path / "good.json", sound_file()));
  Validation validation = validate_paths({path});
  EXPECT_TRUE(validation.sound());

  auto text = read_text_file(path / "good.json");
  auto document = Json::parse(*text);
  document["rows"][0].erase("status");
  ASSERT_TRUE(write_file_atomic(path / "schema.json", document.dump()));
  validation = validate_paths({path});
  EXPECT_FALSE(validation.sound());
  EXPECT_TRUE(validation.readable());
  EXPECT_THAT(validation.files[1].issues, ElementsAre(HasSubstr("rows[0].status: is missing")));

  ASSERT_TRUE(write_file_atomic(path / "cut.json", text->substr(0, text->size() / 2)));
  validation = validate_paths({path, path / "nowhere"});
  EXPECT_FALSE(validation.readable());
  ASSERT_EQ(validation.files.size(), 4U);
  EXPECT_FALSE(validation.files[0].readable);  // cut.json
  EXPECT_TRUE(validation.files[1].issues.empty());
  EXPECT_FALSE(validation.files[3].readable);
  EXPECT_EQ(to_json(validation)["sound"], false);
}

TEST_F(ValidatePaths, FilesOfOneSessionMustAgreeOnIt) {
  ASSERT_TRUE(results::write(folder_.path() / "a.json", sound_file()));
  auto other = matrix_file({}, "kornia");
  other.rows.push_back(matrix_row({}, "Resize", "kornia", 100));
  other.block_order_seed = 5;
  ASSERT_TRUE(results::write(folder_.path() / "b.json", other));
  EXPECT_THAT(validate_paths({folder_.path()}).files[1].issues,
              ElementsAre(HasSubstr("block_order_seed differs")));
  other.session_id = "another";
  ASSERT_TRUE(results::write(folder_.path() / "b.json", other));
  EXPECT_TRUE(validate_paths({folder_.path()}).sound());
}

}  // namespace
}  // namespace sluice::analysis::validate_test
