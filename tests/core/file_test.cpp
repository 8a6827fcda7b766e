// tests/core/file_test.cpp - reads with limits; writes that leave the old file or the new one and
// nothing else.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"

#include "sluice/core/temporary_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace sluice::file_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::TemporaryFolder;

void put(const fs::path& path, std::string_view content) {
  std::ofstream(path, std::ios::binary) << content;
}

TEST(ReadFile, GivesTheWholeFile) {
  const TemporaryFolder folder;
  const std::string content("a\r\n\0b\xff", 6);
  put(folder / "f", content);
  EXPECT_EQ(read_text_file(folder / "f").value(), content);
  EXPECT_EQ(read_binary_file(folder / "f").value(),
            (std::vector<std::uint8_t>{'a', '\r', '\n', 0, 'b', 0xff}));
  put(folder / "empty", "");
  EXPECT_EQ(read_text_file(folder / "empty").value(), "");
  const std::string large(100'003, 'x');
  put(folder / "large", large);
  EXPECT_EQ(read_text_file(folder / "large").value(), large);
}

TEST(ReadFile, ReadsFilesThatDoNotKnowTheirSize) {
  const auto text = read_text_file("/proc/self/status");
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, HasSubstr("Pid:"));
}

TEST(ReadFile, RefusesMoreThanTheLimit) {
  const TemporaryFolder folder;
  put(folder / "f", "12345");
  EXPECT_TRUE(read_text_file(folder / "f", 5));
  const auto result = read_text_file(folder / "f", 4);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::invalid_input);
  EXPECT_THAT(result.error().message, HasSubstr("larger than the 4 bytes"));
  EXPECT_FALSE(read_text_file("/dev/zero", 10'000)) << "no size to look at first";
}

TEST(ReadFile, SaysWhatIsWrongAndWithWhat) {
  const TemporaryFolder folder;
  const auto missing = read_text_file(folder / "no\nsuch");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::not_found);
  EXPECT_THAT(missing.error().message, HasSubstr("no\\nsuch: cannot open: No such file"));
  const auto is_folder = read_text_file(folder.path());
  ASSERT_FALSE(is_folder);
  EXPECT_EQ(is_folder.error().code, Errc::invalid_input);
  EXPECT_THAT(is_folder.error().message, HasSubstr("is a folder"));
  EXPECT_FALSE(read_binary_file(""));
}

TEST(ReadFile, DoesNotWaitForTheWriterOfAFifo) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_text_file(folder / "pipe").value(), "");
}

TEST(WriteFileAtomic, CreatesAndReplaces) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomic(folder / "f", "first"));
  EXPECT_EQ(read_text_file(folder / "f").value(), "first");
  ASSERT_TRUE(write_file_atomic(folder / "f", ""));
  EXPECT_EQ(read_text_file(folder / "f").value(), "");
  EXPECT_THAT(folder.names(), ElementsAre("f"));
}

TEST(LinkFileAtomic, IsAnotherNameThatStaysWhenTheFirstIsReplaced) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomic(folder / "last", "one"));
  ASSERT_TRUE(write_file_atomic(folder / "best", "zero"));
  ASSERT_TRUE(link_file_atomic(folder / "last", folder / "best"));
  ASSERT_TRUE(link_file_atomic(folder / "last", folder / "best"));  // it is that already
  EXPECT_TRUE(fs::equivalent(folder / "last", folder / "best"));
  ASSERT_TRUE(write_file_atomic(folder / "last", "two"));
  EXPECT_EQ(read_text_file(folder / "best").value(), "one");
  EXPECT_FALSE(link_file_atomic(folder / "missing", folder / "best"));
  EXPECT_EQ(read_text_file(folder / "best").value(), "one");
  EXPECT_THAT(folder.names(), ElementsAre("best", "last"));
}

TEST(LinkFileAtomic, NamesTheFileThatASymbolicLinkLeadsTo) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomic(folder / "file", "one"));
  fs::create_symlink("file", folder / "last");
  ASSERT_TRUE(link_file_atomic(folder / "last", folder / "best"));
  ASSERT_TRUE(write_file_atomic(folder / "last", "two"));
  EXPECT_EQ(read_text_file(folder / "file").value(), "two");
  EXPECT_EQ(read_text_file(folder / "best").value(), "one");
  fs::remove(folder / "best");
  fs::create_symlink("file", folder / "best");
  EXPECT_FALSE(link_file_atomic(folder / "last", folder / "best"));
  EXPECT_TRUE(fs::is_symlink(folder / "best"));
}

TEST(WriteFileAtomic, AcceptsALongNameAndABareName) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomic(folder / std::string(255, 'n'), "x"));
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  const Status status = write_file_atomic("bare", "x");
  fs::current_path(before);
  EXPECT_TRUE(status);
  EXPECT_EQ(read_text_file(folder / "bare").value(), "x");
}

TEST(WriteFileAtomic, KeepsModeAndLink) {
  const TemporaryFolder folder;
  put(folder / "f", "old");
  fs::permissions(folder / "f", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("f", folder / "link");
  ASSERT_TRUE(write_file_atomic(folder / "link", "new"));
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_text_file(folder / "f").value(), "new");
  EXPECT_EQ(fs::status(folder / "f").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(WriteFileAtomic, RefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  put(folder / "file", "content");
  fs::create_directory(folder / "sub");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const auto message = [](const fs::path& path) {
    const Status status = write_file_atomic(path, "x");
    return status ? std::string("written") : status.error().message;
  };
  EXPECT_THAT(message(folder / "sub"), HasSubstr("it is a folder"));
  EXPECT_THAT(message(folder / "pipe"), HasSubstr("not a regular file"));
  EXPECT_THAT(message("/dev/null"), HasSubstr("not a regular file"));
  EXPECT_THAT(message(folder / "file" / "below"), HasSubstr("file is not a folder"));
  EXPECT_THAT(message(folder / "absent" / "f"), HasSubstr("No such file"));
  EXPECT_THAT(message("/proc/sluice"), HasSubstr("/proc"));
  EXPECT_THAT(message(""), HasSubstr("names no file"));
  EXPECT_EQ(read_text_file(folder / "file").value(), "content");
  EXPECT_THAT(folder.names(), ElementsAre("file", "pipe", "sub"));
}

/// A limit on file size stands in for a full disk: write() fails half-way, also for root.
TEST(WriteFileAtomic, KeepsTheOldFileWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  put(folder / "f", "old");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    const Status status = write_file_atomic(folder / "f", std::string(1 << 20, 'x'));
    const bool refused = !status && status.error().code == Errc::io &&
                         status.error().message.find("cannot write") != std::string::npos;
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(read_text_file(folder / "f").value(), "old");
  EXPECT_THAT(folder.names(), ElementsAre("f"));
}

TEST(WriteFileAtomic, SweepsWhatKilledWritersLeftAndNothingElse) {
  const TemporaryFolder folder;
  put(folder / ".sluice-0123456789abcdef.tmp", "of a killed process");
  put(folder / ".sluice-fedcba9876543210.tmp", "of a living one");
  put(folder / ".sluice-0123456789abcdef.tmp.txt", "of somebody else");
  put(folder / ".sluice-0123456789abcdeX.tmp", "of somebody else");
  const int living = ::open((folder / ".sluice-fedcba9876543210.tmp").c_str(), O_WRONLY);
  ASSERT_EQ(::flock(living, LOCK_EX | LOCK_NB), 0);
  ASSERT_TRUE(write_file_atomic(folder / "f", "new"));
  EXPECT_THAT(folder.names(),
              ElementsAre(".sluice-0123456789abcdeX.tmp", ".sluice-0123456789abcdef.tmp.txt",
                          ".sluice-fedcba9876543210.tmp", "f"));
  ::close(living);
  remove_stale_temporaries(folder.path());
  EXPECT_THAT(folder.names(),
              ElementsAre(".sluice-0123456789abcdeX.tmp", ".sluice-0123456789abcdef.tmp.txt", "f"));
}

/// Somebody sweeps all the time; every write must arrive all the same.
TEST(WriteFileAtomic, SurvivesSweepersOfOtherProcesses) {
  const TemporaryFolder folder;
  std::atomic<bool> done = false;
  std::thread sweeper([&] {
    while (!done)
      remove_stale_temporaries(folder.path());
  });
  int failures = 0;
  for (int i = 0; i < 500; ++i) {
    const std::string text = std::to_string(i);
    const auto written = write_file_atomic(folder / "f", text, Flush::later);
    if (!written || read_text_file(folder / "f").value() != text) ++failures;
  }
  done = true;
  sweeper.join();
  EXPECT_EQ(failures, 0);
  EXPECT_THAT(folder.names(), ElementsAre("f"));
}

TEST(OwnTemporaries, ASignalThatEndsTheProcessLeavesNone) {
  const TemporaryFolder folder;
  put(folder / "finished", "");
  const pid_t child = ::fork();
  if (child == 0) {
    const OwnTemporary first((folder / "a").string());
    put(folder / "a", "half");
    first.made();
    { const OwnTemporary renamed((folder / "finished").string()); }
    const OwnTemporary never_made((folder / "b").string());
    remove_own_temporaries();
    _exit(7);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_THAT(folder.names(), ElementsAre("finished"));
}

TEST(CreateFolders, MakesAllParentsAndAcceptsExistingOnes) {
  const TemporaryFolder folder;
  EXPECT_TRUE(create_folders(folder / "a/b/c"));
  EXPECT_TRUE(create_folders(folder / "a/b/c"));
  EXPECT_TRUE(create_folders(folder / "d/e/"));
  EXPECT_TRUE(fs::is_directory(folder / "a/b/c"));
  EXPECT_TRUE(fs::is_directory(folder / "d/e"));
}

TEST(CreateFolders, NamesTheObstacle) {
  const TemporaryFolder folder;
  put(folder / "file", "");
  const Status below = create_folders(folder / "file/sub/deep");
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().code, Errc::io);
  EXPECT_THAT(below.error().message, HasSubstr("file/sub/deep: cannot create this folder"));
  EXPECT_THAT(below.error().message, HasSubstr("file is not a folder"));
  const Status itself = create_folders(folder / "file");
  ASSERT_FALSE(itself);
  EXPECT_THAT(itself.error().message, HasSubstr("is not a folder"));
  EXPECT_FALSE(create_folders("/proc/sluice/sub"));
  EXPECT_FALSE(create_folders(""));
}

}  // namespace
}  // namespace sluice::file_test
