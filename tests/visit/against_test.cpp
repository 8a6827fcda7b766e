// tests/visit/against_test.cpp - this tree against another revision, in real repositories: verdict,
// bad input, and nothing left behind.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/gate/against.h"

#include "sluice/core/file.h"
#include "sluice/peers/timed_command.h"
#include "sluice/visit/gate/repository.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace sluice::visit::against_test {
namespace {

namespace fs = std::filesystem;

std::string sh(const std::string& command) {
  const auto run = peers::run_timed({.name = "test", .command = command});
  EXPECT_TRUE(run) << run.error().message;
  return run ? run->printed : std::string();
}

/// A repository whose program prints what the committed file holds; the current folder is in it.
class AgainstTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("git --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "needs git";
    before_ = fs::current_path();
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ =
        fs::temp_directory_path() / ("sluice-against-test-" + name + std::to_string(getpid()));
    fs::create_directories(folder_ / "repo" / "sub");
    setenv("TMPDIR", folder_.c_str(), 1);
    for (const char* name_of : {"AUTHOR", "COMMITTER"}) {
      setenv(("GIT_" + std::string(name_of) + "_NAME").c_str(), "T", 1);
      setenv(("GIT_" + std::string(name_of) + "_EMAIL").c_str(), "t@example.org", 1);
    }
    fs::current_path(folder_ / "repo");
    sh("git init -q . && echo 1.00 > sub/number && echo x > Makefile && git add . && "
       "git commit -qm base && git tag base");
  }
  void TearDown() override {
    fs::current_path(before_);
    unsetenv("TMPDIR");
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  void commit(const std::string& number) {
    sh("echo " + number + " > sub/number && git commit -qam next");
  }
  Result<AbResult> against(const std::string& revision, const std::string& build = "true",
                           bool allow_dirty = false) {
    AgainstPlan plan;
    plan.revision = revision;
    plan.build = build;
    plan.command = "cat number";
    plan.allow_dirty = allow_dirty;
    plan.ab.metrics = {{kStdoutMetric, true}};
    plan.ab.gate.looks = gate::single_look(8);
    fs::current_path(folder_ / "repo" / "sub");
    auto result = run_against(plan, {&Progress::silent(), -1});
    fs::current_path(folder_ / "repo");
    EXPECT_EQ(sh("git worktree list | wc -l"), "1\n") << "the work tree is gone";
    int left = 0;
    for (const auto& entry : fs::directory_iterator(folder_))
      left += entry.path().filename() == "repo" ? 0 : 1;
    EXPECT_EQ(left, 0) << "nothing is left in the temporary folder";
    return result;
  }
  static void expect_error(const Result<AbResult>& result, Errc code, const std::string& words) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, code) << result.error().message;
    EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().message;
    EXPECT_EQ(result.error().message.find('\n'), std::string::npos);
  }

  fs::path before_;
  fs::path folder_;
};

TEST_F(AgainstTest, TheSlowerTreeFails) {
  commit("1.05");
  const auto result = against("base");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->report.status, gate::GateStatus::fail);
  EXPECT_NEAR(*result->report.lines[0].delta, 5, 1e-9);
  EXPECT_EQ(result->document["against"]["revision"], "base");
  EXPECT_NE(result->report.base_name.find("(base)"), std::string::npos);
}

TEST_F(AgainstTest, BothTreesAreBuilt) {
  commit("1.50");
  const auto result = against("base", "echo 2 > sub/number", true);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(*result->report.lines[0].baseline, 2);
  EXPECT_EQ(*result->report.lines[0].current, 2);
}

TEST_F(AgainstTest, UncommittedChangesAreRefusedUnlessAllowed) {
  ASSERT_TRUE(write_file_atomic("sub/number", "0.5\n"));
  expect_error(against("base"), Errc::usage, "uncommitted changes ( M sub/number)");
  const auto allowed = against("base", "true", true);
  ASSERT_TRUE(allowed) << allowed.error().message;
  EXPECT_EQ(allowed->report.status, gate::GateStatus::improved);
}

TEST_F(AgainstTest, BadRevisionsAndBuildsAreOneLine) {
  expect_error(against("no-such-branch"), Errc::usage, "unknown revision");
  expect_error(against("--help"), Errc::usage, "unknown revision");
  expect_error(against("base; touch harm"), Errc::usage, "unknown revision");
  EXPECT_FALSE(fs::exists("harm"));
  expect_error(against("base", "echo no compiler >&2; exit 2"), Errc::invalid_input,
               "does not build");
}

TEST_F(AgainstTest, OutsideARepositoryItSaysSo) {
  fs::current_path(folder_);
  setenv("GIT_CEILING_DIRECTORIES", "/", 1);
  AgainstPlan plan;
  plan.revision = "base";
  expect_error(run_against(plan, {&Progress::silent(), -1}), Errc::usage, "no git work tree");
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nonexistent", 1);
  expect_error(run_against(plan, {&Progress::silent(), -1}), Errc::usage, "git cannot be started");
  setenv("PATH", path.c_str(), 1);
  unsetenv("GIT_CEILING_DIRECTORIES");
}

TEST_F(AgainstTest, AFolderIsReadAsARevisionHasIt) {  // R002-22
  sh("mkdir -p base && printf 'one\\n' > base/a.json && git add . && git commit -qm baselines && "
     "git tag before && echo two > base/a.json && echo new > base/b.json && git add . && "
     "git commit -qm mine && echo three > base/a.json");
  const auto found = folder_at("before", "base", folder_ / "copy", "--baseline-ref", -1);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(sh("cat " + (found->path / "a.json").string()), "one\n");
  EXPECT_FALSE(fs::exists(found->path / "b.json"));
  EXPECT_THAT(found->changed, ::testing::ElementsAre("base/a.json", "base/b.json"));
  const auto none = folder_at("base", "base", folder_ / "none", "--baseline-ref", -1);
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_FALSE(fs::exists(none->path));
  const auto unknown = folder_at("nope", "base", folder_ / "x", "--baseline-ref", -1);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::usage);
  EXPECT_THAT(unknown.error().message,
              ::testing::HasSubstr("--baseline-ref nope: unknown revision"));
  EXPECT_FALSE(folder_at("before", folder_ / "base", folder_ / "x", "--baseline-ref", -1));
}

}  // namespace
}  // namespace sluice::visit::against_test
