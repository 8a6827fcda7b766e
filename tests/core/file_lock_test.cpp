// tests/core/file_lock_test.cpp - one holder at a time, waits that end, and who is named.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file_lock.h"

#include "sluice/core/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include <array>
#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <sys/file.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace sluice::file_lock_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::TemporaryFolder;

TEST(FileLock, IsRefusedWithTheHoldersNameAndGoesWithItsHolder) {
  const TemporaryFolder folder;
  {
    const auto held = FileLock::take(folder / ".lock", "the store");
    ASSERT_TRUE(held) << held.error().message;
    const auto second = FileLock::take(folder / ".lock", "the store");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::usage);
    EXPECT_THAT(second.error().message,
                HasSubstr("the store: process " + std::to_string(::getpid()) + " ("));
  }
  EXPECT_THAT(folder.names(), IsEmpty());
  EXPECT_TRUE(FileLock::take(folder / ".lock", "the store"));
}

TEST(FileLock, MayLeaveItsFileWhichNamesTheLastHolder) {
  const TemporaryFolder folder;
  EXPECT_EQ(holder_of(folder / ".lock"), "");
  ASSERT_TRUE(FileLock::take(folder / ".lock", "x", {}, LockFile::kept));
  EXPECT_THAT(folder.names(), ElementsAre(".lock"));
  EXPECT_THAT(holder_of(folder / ".lock"), HasSubstr(std::to_string(::getpid())));
  ASSERT_TRUE(write_file_atomic(folder / "other", "not ours\n"));
  EXPECT_EQ(holder_of(folder / "other"), "");
}

TEST(FileLock, WaitingEndsAtTheLimitOrWhenAskedTo) {
  const TemporaryFolder folder;
  const auto held = FileLock::take(folder / ".lock", "x");
  ASSERT_TRUE(held);
  std::string named;
  const auto late = FileLock::take(
      folder / ".lock", "x",
      {.limit_s = 0.05, .waiting = [&](const std::string& holder) { named = holder; }});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::timeout);
  EXPECT_THAT(late.error().message, HasSubstr("still holds .lock after 0.05 s"));
  EXPECT_THAT(named, HasSubstr("process "));

  const auto stopped =
      FileLock::take(folder / ".lock", "x", {.limit_s = 100, .stop = [] { return true; }});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Errc::interrupted);

  std::array<int, 2> pipe_fds{};
  ASSERT_EQ(::pipe(pipe_fds.data()), 0);
  ASSERT_EQ(::write(pipe_fds[1], "x", 1), 1);
  const auto cancelled =
      FileLock::take(folder / ".lock", "x", {.limit_s = 100, .cancel_fd = pipe_fds[0]});
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, Errc::interrupted);
  ::close(pipe_fds[0]);
  ::close(pipe_fds[1]);
}

/// Each reads a number, and writes one more: nothing is lost only if they take turns, also across
/// the moments in which the lock's file is removed.
TEST(FileLock, KeepsEveryChangeOfThreadsThatReadAndWrite) {
  const TemporaryFolder folder;
  constexpr int kThreads = 8;
  constexpr int kRounds = 25;
  ASSERT_TRUE(write_file_atomic(folder / "count", "0"));
  std::atomic<int> failures = 0;
  const auto add = [&] {
    for (int i = 0; i < kRounds; ++i) {
      const auto lock = FileLock::take(folder / ".lock", "count", {.limit_s = 100});
      const auto text = read_text_file(folder / "count");
      if (!lock || !text ||
          !write_file_atomic(folder / "count", std::to_string(std::stoi(*text) + 1), Flush::later))
        ++failures;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back(add);
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(read_text_file(folder / "count").value(), std::to_string(kThreads * kRounds));
  EXPECT_THAT(folder.names(), ElementsAre("count"));
}

TEST(FileLock, OfAKilledProcessIsFree) {
  const TemporaryFolder folder;
  std::array<int, 2> pipe_fds{};
  ASSERT_EQ(::pipe(pipe_fds.data()), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto lock = FileLock::take(folder / ".lock", "x");
    const char byte = lock ? 'y' : 'n';
    if (::write(pipe_fds[1], &byte, 1) == 1) ::pause();
    ::_exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(pipe_fds[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  const auto refused = FileLock::take(folder / ".lock", "x");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("process " + std::to_string(child)));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_THAT(folder.names(), ElementsAre(".lock"));
  EXPECT_TRUE(FileLock::take(folder / ".lock", "x"));
  EXPECT_THAT(folder.names(), IsEmpty());
  ::close(pipe_fds[0]);
  ::close(pipe_fds[1]);
}

TEST(FileLock, ALinkInItsPlaceIsNotFollowed) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomic(folder / "precious", "text"));
  fs::create_symlink(folder / "precious", folder / ".lock");
  EXPECT_FALSE(FileLock::take(folder / ".lock", "x"));
  EXPECT_EQ(read_text_file(folder / "precious").value(), "text");
}

TEST(LockBeside, IsNamedAfterTheFolder) {
  EXPECT_EQ(lock_beside("/a/b"), "/a/.b.lock");
  EXPECT_EQ(lock_beside("/a/b/"), "/a/.b.lock");
}

}  // namespace
}  // namespace sluice::file_lock_test
