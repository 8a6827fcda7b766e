// tests/storage/cache_damage_test.cpp - folders that are not as we left them: torn, foreign, full,
// read-only.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"

#include "tests/storage/cache_fixture.h"
#include <csignal>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::storage::cache_damage_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class CacheDamageTest : public CacheFixture {
 protected:
  static void overwrite(const fs::path& file, std::uint64_t offset, std::string_view bytes) {
    const int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)),
              static_cast<ssize_t>(bytes.size()));
    ::close(fd);
  }
  /// Runs `body` in a child that may lose rights and limits; its exit code.
  static int in_child(const std::function<int()>& body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
};

TEST_F(CacheDamageTest, EveryDamageIsSeenAndFetchedAgain) {
  const Object object = GeneratedStore::object("k", 20'000, "1");
  const auto damages = std::vector<std::pair<std::string, std::function<void(const fs::path&)>>>{
      {"first byte", [](const fs::path& f) { overwrite(f, 0, "\x01\x02"); }},
      {"a byte in the middle", [](const fs::path& f) { overwrite(f, 9'999, "\xff\x01\xff"); }},
      {"a page of zeros", [](const fs::path& f) { overwrite(f, 4096, std::string(4096, '\0')); }},
      {"the trailer", [](const fs::path& f) { overwrite(f, 20'000 + 40, "????"); }},
      {"one byte short", [](const fs::path& f) { fs::resize_file(f, 20'063); }},
      {"empty", [](const fs::path& f) { fs::resize_file(f, 0); }},
      {"one byte more", [](const fs::path& f) { fs::resize_file(f, 20'065); }},
      {"all zeros, right length",
       [](const fs::path& f) { overwrite(f, 0, std::string(20'064, '\0')); }},
  };
  for (const bool whole : {true, false}) {
    for (const auto& [name, damage] : damages) {
      SCOPED_TRACE(name);
      ASSERT_EQ(check(*open(), object), "right");
      const auto entries = files("objects");
      ASSERT_THAT(entries, SizeIs(1));
      damage(entries.front());
      const std::uint64_t before = inner_->reads();
      auto store = open();
      EXPECT_EQ(whole ? check(*store, object) : check(*store, object, 100, 200), "right");
      EXPECT_EQ(count(*store, "corrupt"), 1U);
      EXPECT_EQ(count(*store, "hits"), 0U);
      EXPECT_EQ(inner_->reads(), before + 1);
      EXPECT_EQ(count(*store, "bytes"), bytes_on_disk());
      EXPECT_EQ(check(*open(), object), "right");
      EXPECT_EQ(inner_->reads(), before + 1);
    }
  }
}

TEST_F(CacheDamageTest, AnEntryUnderAnotherNameIsNotServed) {
  auto store = open();
  const Object one = GeneratedStore::object("one", 5000, "1");
  const Object two = GeneratedStore::object("two", 5000, "1");
  ASSERT_EQ(check(*store, one), "right");
  const auto first = files("objects");
  ASSERT_EQ(check(*store, two), "right");
  auto second = files("objects");
  second.erase(std::find(second.begin(), second.end(), first.front()));
  fs::copy_file(first.front(), second.front(), fs::copy_options::overwrite_existing);
  store = open();
  EXPECT_EQ(check(*store, two), "right");
  EXPECT_EQ(count(*store, "corrupt"), 1U);
}

TEST_F(CacheDamageTest, LeftoversOfDeadWritersGoAndThoseOfTheLivingStay) {
  ASSERT_EQ(check(*open(), GeneratedStore::object("k", 100, "1")), "right");
  const fs::path tmp = folder_ / "cache" / "tmp";
  ASSERT_TRUE(write_file_atomic(tmp / "1-1-1", std::string(9000, 'x'), Flush::later));
  ASSERT_TRUE(write_file_atomic(tmp / "2-2-2", std::string(9000, 'x'), Flush::later));
  const int living = ::open((tmp / "2-2-2").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(living, LOCK_EX | LOCK_NB), 0);
  auto store = open();
  EXPECT_THAT(files("tmp"), SizeIs(1));
  EXPECT_EQ(count(*store, "bytes"), 4096U + 3 * 4096U);  // that of the living counts
  ::close(living);
  store = open();
  EXPECT_THAT(files("tmp"), IsEmpty());
  EXPECT_EQ(count(*store, "bytes"), 4096U);
}

TEST_F(CacheDamageTest, AFolderWithOtherThingsIsRefusedAndNotTouched) {
  fs::create_directories(folder_ / "cache");
  ASSERT_TRUE(write_file_atomic(folder_ / "cache" / "thesis.tex", "x", Flush::later));
  const auto store = open_cached(inner_, options());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Errc::invalid_input);
  EXPECT_THAT(store.error().message,
              AllOf(HasSubstr("thesis.tex"), HasSubstr("no cache"), Not(HasSubstr("\n"))));
  EXPECT_THAT(files(""), SizeIs(1));
}

TEST_F(CacheDamageTest, AnotherVersionIsRefusedAndNotTouched) {
  fs::create_directories(folder_ / "cache" / "objects");
  ASSERT_TRUE(write_file_atomic(folder_ / "cache" / "sluice-cache", "sluice cache 2\nbytes 17\n",
                                Flush::later));
  auto store = open_cached(inner_, options());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Errc::invalid_input);
  EXPECT_THAT(store.error().message, AllOf(HasSubstr("version 2"), HasSubstr("version 1")));
  EXPECT_EQ(*read_text_file(folder_ / "cache" / "sluice-cache"), "sluice cache 2\nbytes 17\n");
  ASSERT_TRUE(write_file_atomic(folder_ / "cache" / "sluice-cache", "hello", Flush::later));
  store = open_cached(inner_, options());
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message, HasSubstr("not of a cache"));
}

TEST_F(CacheDamageTest, ABlankHeaderIsThatOfAKilledOpener) {
  fs::create_directories(folder_ / "cache");
  for (const std::size_t zeros : {std::size_t{0}, std::size_t{64}}) {
    ASSERT_TRUE(write_file_atomic(folder_ / "cache" / "sluice-cache", std::string(zeros, '\0'),
                                  Flush::later));
    EXPECT_EQ(check(*open(), GeneratedStore::object("k", 100, "1")), "right");
  }
}

TEST_F(CacheDamageTest, ACountThatIsWrongIsCountedAgain) {
  ASSERT_EQ(check(*open(), GeneratedStore::object("k", 100, "1")), "right");
  overwrite(folder_ / "cache" / "sluice-cache", 21, "999");
  EXPECT_EQ(count(*open(), "bytes"), 4096U);
}

TEST_F(CacheDamageTest, AFileInThePlaceOfTheFolderIsRefused) {
  ASSERT_TRUE(write_file_atomic(folder_ / "cache", "x", Flush::later));
  const auto store = open_cached(inner_, options());
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message, HasSubstr("cache"));
}

TEST_F(CacheDamageTest, DiskFullPassesThroughWithOneWarning) {
  // A limit on the size of files stands for the disk: the write fails in the same place.
  const int code = in_child([&] {
    auto store = open();
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{8192, 8192};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    for (int i = 0; i < 3; ++i)
      if (check(*store, GeneratedStore::object(std::to_string(i), 30'000, "1")) != "right")
        return 2;
    if (count(*store, "fill_failures") != 3) return 3;
    if (check(*store, GeneratedStore::object("small", 3'000, "1")) != "right") return 4;
    if (count(*store, "fills") != 1) return 5;
    if (warnings_.size() != 1 || warnings_.front().find("File too large") == std::string::npos)
      return 6;
    if (!files("tmp").empty() || files("objects").size() != 1) return 7;
    return count(*store, "bytes") == 4096 ? 0 : 8;
  });
  EXPECT_EQ(code, 0);
}

TEST_F(CacheDamageTest, AfterAFailureTheFolderIsLeftAloneForAWhile) {
  CacheOptions patient = options();
  patient.retry_after = std::chrono::hours(1);
  auto store = open(patient);
  fs::remove_all(folder_ / "cache");  // by somebody who needed the space
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(check(*store, GeneratedStore::object(std::to_string(i), 3000, "1")), "right");
  EXPECT_EQ(count(*store, "fill_failures"), 1U);
  EXPECT_EQ(inner_->reads(), 3U);
  EXPECT_THAT(warnings_, SizeIs(1));
}

TEST_F(CacheDamageTest, AReadOnlyFolderIsRefusedInOneLine) {
  const int code = in_child([&] {
    fs::create_directories(folder_ / "cache");
    ::chmod((folder_ / "cache").c_str(), 0555);
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 1;  // root may write anywhere
    const auto store = open_cached(inner_, options());
    if (store) return 2;
    if (store.error().code != Errc::io) return 3;
    return store.error().message.find("Permission denied") != std::string::npos ? 0 : 4;
  });
  EXPECT_EQ(code, 0);
}

TEST_F(CacheDamageTest, AFolderThatBecomesReadOnlyStillServes) {
  const int code = in_child([&] {
    if (::geteuid() == 0) {
      ::chmod(folder_.path().c_str(), 0777);
      if (::setuid(65534) != 0) return 1;
    }
    auto store = open();
    if (check(*store, GeneratedStore::object("old", 3000, "1")) != "right") return 2;
    for (const char* name : {"tmp", "objects"})
      ::chmod((folder_ / "cache" / name).c_str(), 0555);
    if (check(*store, GeneratedStore::object("old", 3000, "1")) != "right") return 3;
    if (check(*store, GeneratedStore::object("new", 3000, "1")) != "right") return 4;
    for (const char* name : {"tmp", "objects"})
      ::chmod((folder_ / "cache" / name).c_str(), 0777);
    return count(*store, "fill_failures") == 1 && count(*store, "hits") == 1 ? 0 : 5;
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace sluice::storage::cache_damage_test
