// tests/env/git_test.cpp - what git is asked, and what becomes of its silence.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/git.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include <fstream>

namespace sluice::env::git_test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSha = "0123456789abcdef0123456789abcdef01234567";

class ReadGit : public ::testing::Test {
 protected:
  // A program called git whose whole body is `line`.
  GitOptions fake(const std::string& line) {
    const auto path = folder_ / "git";
    std::ofstream(path) << "#!/bin/sh\n" << line << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    GitOptions options;
    options.program = path.string();
    options.folder = folder_.path();
    options.time_limit =
        std::chrono::seconds(20);  // never reached: only the hanging fake shortens it
    return options;
  }
  testing_support::TemporaryFolder folder_;
};

TEST_F(ReadGit, CleanAndDirty) {
  const std::string head = std::string("test \"$1\" = rev-parse && echo ") + kSha;
  const Git clean = read_git(fake(head + "; exit 0"));
  EXPECT_EQ(clean.sha, kSha);
  EXPECT_FALSE(*clean.dirty);
  const Git dirty = read_git(fake(head + " || echo ' M file'"));
  EXPECT_EQ(dirty.sha, kSha);
  EXPECT_TRUE(*dirty.dirty);
}

TEST_F(ReadGit, AsksWithoutLocksAndInEnglish) {
  const Git git =
      read_git(fake("test \"$GIT_OPTIONAL_LOCKS$LC_ALL\" = 0C && echo " + std::string(kSha)));
  EXPECT_EQ(git.sha, kSha);
}

TEST_F(ReadGit, NoRepository) {
  const Git git = read_git(fake("exit 128"));
  EXPECT_EQ(git.sha, "unknown");
  EXPECT_THAT(git.dirty.reason, HasSubstr("no git repository"));
}

TEST_F(ReadGit, NotAShaIsUnknown) {
  EXPECT_EQ(read_git(fake("echo hello")).sha, "unknown");
  EXPECT_EQ(read_git(fake("head -c 100000 /dev/zero")).sha, "unknown");
}

TEST_F(ReadGit, StatusFailing) {
  const Git git = read_git(fake(std::string("test \"$1\" = rev-parse && echo ") + kSha));
  EXPECT_EQ(git.sha, kSha);
  EXPECT_EQ(git.dirty.reason, "git status ended with 1");
}

TEST_F(ReadGit, AHangingGitIsEnded) {
  GitOptions options = fake("exec sleep 600");
  options.time_limit = std::chrono::milliseconds(1);
  const Git git = read_git(options);
  EXPECT_EQ(git.sha, "unknown");
  EXPECT_EQ(git.dirty.reason, "git gave no answer within 1 ms");
}

TEST_F(ReadGit, NoGitAtAll) {
  GitOptions options;
  options.program = (folder_ / "none").string();
  const Git git = read_git(options);
  EXPECT_EQ(git.sha, "unknown");
  EXPECT_THAT(git.dirty.reason, HasSubstr("could not be started"));
}

TEST_F(ReadGit, NoSuchFolder) {
  GitOptions options = fake(std::string("echo ") + kSha);
  options.folder = folder_ / "none";
  EXPECT_EQ(read_git(options).sha, "unknown");
}

TEST_F(ReadGit, TheBranchOrWhyThereIsNone) {
  EXPECT_EQ(*read_branch(fake("echo main")), "main");
  EXPECT_EQ(*read_branch(fake("echo topic/one")), "topic/one");
  EXPECT_EQ(read_branch(fake("exit 1")).reason, "no branch is checked out");
  EXPECT_THAT(read_branch(fake("exit 128")).reason, HasSubstr("no git repository"));
  GitOptions options;
  options.program = (folder_ / "none").string();
  EXPECT_THAT(read_branch(options).reason, HasSubstr("could not be started"));
}

}  // namespace
}  // namespace sluice::env::git_test
