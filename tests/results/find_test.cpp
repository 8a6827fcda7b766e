// tests/results/find_test.cpp - which files of a folder are taken for result files.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/results/result_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/results/fixtures.h"

namespace sluice::results::find_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void touch(const fs::path& path, const char* text = R"({"schema_version": 1})") {
  ASSERT_TRUE(create_folders(path.parent_path()));
  ASSERT_TRUE(write_file_atomic(path, text));
}

TEST(FindTest, AFileIsItself) {
  const fixtures::TemporaryFolder folder("find-file");
  touch(folder.path() / "any.name");
  EXPECT_THAT(find(folder.path() / "any.name").value(), ElementsAre(folder.path() / "any.name"));
}

TEST(FindTest, ARunFolderGivesItsResultsSorted) {
  const fixtures::TemporaryFolder folder("find-run");
  const fs::path run = folder.path() / "run";
  for (const char* name : {"env.json", "results/b.json", "results/a/z.json", "results/.hidden.json",
                           "results/x.txt"}) {
    touch(run / name);
  }
  EXPECT_THAT(find(run).value(), ElementsAre(run / "results/a/z.json", run / "results/b.json"));
  // A folder of run folders: the other documents of each are left out.
  EXPECT_THAT(find(folder.path()).value(),
              ElementsAre(run / "results/a/z.json", run / "results/b.json"));
}

TEST(FindTest, SoundJsonOfOthersIsPassedOverAndWhatIsCutOffIsNot) {
  const fixtures::TemporaryFolder folder("find-foreign");
  const fs::path results = folder.path() / "results";
  touch(results / "a.json");
  touch(results / "package.json", R"({"name": "theirs", "version": "1"})");
  touch(results / "list.json", "[1, 2]");
  touch(results / "list_of.json", R"([{"schema_version": 1, "rows": []}])");
  touch(results / "inner.json", R"({"a": {"rows": [{"schema_version": 1}]}, "b": "rows"})");
  touch(results / "cut.json", R"({"schema_version": 1, "ro)");
  touch(results / "early.json", R"({"a": {"b": [1, 2)");
  touch(results / "late.json", R"({"a": {"b": [{"c": 1}]}, "d": [], "rows": []})");
  EXPECT_THAT(find(folder.path()).value(),
              ElementsAre(results / "a.json", results / "cut.json", results / "early.json",
                          results / "late.json"));
  EXPECT_THAT(find(results / "package.json").value(), ElementsAre(results / "package.json"))
      << "what is named is read";
}

TEST(FindTest, NothingThereIsAnError) {
  const fixtures::TemporaryFolder folder("find-none");
  const auto empty = find(folder.path());
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().message, HasSubstr("holds no result file (*.json)"));
  const auto missing = find(folder.path() / "missing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::not_found);
  EXPECT_THAT(missing.error().message,
              HasSubstr("does not exist; give a result file or a run folder"));
}

}  // namespace
}  // namespace sluice::results::find_test
