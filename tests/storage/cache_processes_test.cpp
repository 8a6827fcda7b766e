// tests/storage/cache_processes_test.cpp - one folder, several processes: side by side, stopped
// while they hold the lock.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/rng.h"

#include "tests/storage/cache_fixture.h"
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::storage::cache_processes_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CacheProcessesTest : public CacheFixture {
 protected:
  /// Someone else's lock on the folder, for as long as it lives.
  class ForeignLock {
   public:
    explicit ForeignLock(const fs::path& header)
        : fd_(::open(header.c_str(), O_RDWR | O_CLOEXEC)), held_(::flock(fd_, LOCK_EX) == 0) {}
    ~ForeignLock() { ::close(fd_); }
    ForeignLock(const ForeignLock&) = delete;
    ForeignLock& operator=(const ForeignLock&) = delete;
    [[nodiscard]] bool held() const { return held_; }

   private:
    int fd_;
    bool held_;
  };
};

Object numbered(std::uint64_t i) {
  return GeneratedStore::object(std::to_string(i), 1000 + i * 997 % 90'000, "1");
}

TEST_F(CacheProcessesTest, FillReadAndEvictSideBySide) {
  CacheOptions small = options();
  small.max_bytes = 2U << 20U;  // two thirds of what they read
  std::vector<pid_t> children;
  for (std::uint64_t c = 0; c < 4; ++c) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto store = open_cached(inner_, small);
      if (!store) ::_exit(2);
      Rng rng(RngKey{.seed = 5, .index = c});
      for (int i = 0; i < 250; ++i)
        if (check(**store, numbered(rng.below(64))) != "right") ::_exit(3);
      if (count(**store, "corrupt") != 0) ::_exit(4);
      ::_exit(count(**store, "fill_failures") == 0 ? 0 : 5);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "exit code " << WEXITSTATUS(status);
  }
  EXPECT_THAT(files("tmp"), IsEmpty());
  EXPECT_LE(bytes_on_disk(), small.max_bytes);
  auto store = open(small);
  EXPECT_EQ(count(*store, "bytes"), bytes_on_disk());
  for (std::uint64_t i = 0; i < 64; ++i)
    EXPECT_EQ(check(*store, numbered(i)), "right");
  EXPECT_EQ(count(*store, "corrupt"), 0U);
  EXPECT_GT(count(*store, "hits"), 0U);
}

TEST_F(CacheProcessesTest, OneProcessSeesWhatAnotherFilled) {
  auto store = open();
  const pid_t child = ::fork();
  if (child == 0) {
    auto theirs = open_cached(inner_, options());
    ::_exit(theirs && check(**theirs, numbered(7)) == "right" ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(check(*store, numbered(7)), "right");
  EXPECT_EQ(count(*store, "hits"), 1U);
  EXPECT_EQ(inner_->reads(), 0U);
}

TEST_F(CacheProcessesTest, WhoIsStoppedWithTheLockHoldsNobodyUp) {
  auto store = open();
  ASSERT_EQ(check(*store, numbered(1)), "right");
  const ForeignLock lock(folder_ / "cache" / "sluice-cache");
  ASSERT_TRUE(lock.held());
  EXPECT_EQ(check(*store, numbered(1)), "right");
  EXPECT_EQ(count(*store, "hits"), 1U);
  EXPECT_EQ(check(*store, numbered(2)), "right");
  EXPECT_EQ(count(*store, "fill_failures"), 1U);
  ASSERT_THAT(warnings_, SizeIs(1));
  EXPECT_THAT(warnings_.front(), HasSubstr("locked"));

  CacheOptions impatient = options();
  impatient.open_wait = std::chrono::milliseconds(1);
  auto second = open(impatient);
  EXPECT_EQ(check(*second, numbered(1)), "right");
  EXPECT_EQ(count(*second, "hits"), 1U);
}

}  // namespace
}  // namespace sluice::storage::cache_processes_test
