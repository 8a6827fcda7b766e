// tests/storage/local_store_test.cpp - a folder as a store: order, links, read modes, files that
// change.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/storage/local/guarded_copy.h"
#include "sluice/storage/local/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace sluice::storage::local_store_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ReadMode kModes[] = {ReadMode::buffered, ReadMode::mmap, ReadMode::direct};

std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    text[i] = static_cast<char>((i * 2654435761U) >> 13);
  return text;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

class LocalStoreTest : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& content) const {
    fs::create_directories((folder_ / name).parent_path());
    ASSERT_TRUE(write_file_atomic(folder_ / name, content, Flush::later));
  }
  std::unique_ptr<ObjectStore> open(ReadMode mode = ReadMode::buffered) const {
    LocalOptions options;
    options.path = folder_.path();
    options.read_mode = mode;
    auto store = open_local(options);
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }
  static std::vector<std::string> keys(ObjectStore& store, std::string_view prefix = "") {
    std::vector<std::string> found;
    const Status status = store.list(prefix, [&](std::span<const Object> objects) -> Status {
      for (const Object& object : objects)
        found.push_back(object.key);
      return ok;
    });
    if (!status) found = {"error: " + status.error().message};
    return found;
  }
  /// False where the file system of the tests has no O_DIRECT.
  static bool usable(ObjectStore& store, const Object& object) {
    ReadBuffer buffer;
    const auto bytes = store.read(object, 0, 1, buffer);
    return bytes || bytes.error().code != Errc::unsupported;
  }

  testing_support::TemporaryFolder folder_;
};

TEST_F(LocalStoreTest, ListsInTheOrderOfKeyBytes) {
  for (const char* name : {"a/x.jpg", "a-b.jpg", "a.jpg", "a0.jpg", "b/c/d.jpg", "B.jpg",
                           "\xc3\xa9.jpg", ".hidden", ".git/config", "b/.x"})
    put(name, "1");
  const auto store = open();
  EXPECT_THAT(keys(*store), ElementsAre("B.jpg", "a-b.jpg", "a.jpg", "a/x.jpg", "a0.jpg",
                                        "b/c/d.jpg", "\xc3\xa9.jpg"));
  EXPECT_THAT(keys(*store, "a"), ElementsAre("a-b.jpg", "a.jpg", "a/x.jpg", "a0.jpg"));
  EXPECT_THAT(keys(*store, "a/"), ElementsAre("a/x.jpg"));
  EXPECT_THAT(keys(*store, "b/c/d"), ElementsAre("b/c/d.jpg"));
  EXPECT_THAT(keys(*store, "none/"), ElementsAre());
  EXPECT_THAT(keys(*store, "../"), ElementsAre(HasSubstr("no key '../'")));
}

TEST_F(LocalStoreTest, PagesAreBoundedAndAnErrorOfThePageEndsTheListing) {
  for (int i = 0; i < 1500; ++i)
    put("n/" + std::to_string(100'000 + i), "");
  std::vector<std::size_t> sizes;
  const auto store = open();
  ASSERT_TRUE(store->list("", [&](std::span<const Object> objects) -> Status {
    sizes.push_back(objects.size());
    return ok;
  }));
  EXPECT_THAT(sizes, ElementsAre(1024, 476));
  const Status status = store->list("", [](std::span<const Object>) -> Status {
    return Error{Errc::timeout, "enough"};
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "enough");
}

TEST_F(LocalStoreTest, FollowsLinksButNotInCircles) {
  put("real/a.jpg", "abc");
  fs::create_symlink("real", folder_ / "link");
  fs::create_symlink("..", folder_ / "real" / "up");
  fs::create_symlink("a.jpg", folder_ / "real" / "b.jpg");
  fs::create_symlink("nowhere", folder_ / "dangling.jpg");
  ASSERT_EQ(::mkfifo((folder_ / "pipe.jpg").c_str(), 0600), 0);
  const auto store = open();
  EXPECT_THAT(keys(*store), ElementsAre("link/a.jpg", "link/b.jpg", "real/a.jpg", "real/b.jpg"));
  ReadBuffer buffer;
  const auto stat = store->stat("link/b.jpg");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->size, 3U);
  EXPECT_FALSE(store->read({.key = "pipe.jpg", .size = 1}, 0, 1, buffer));
}

TEST_F(LocalStoreTest, EveryModeReadsTheSameBytesAndLeaksNoDescriptor) {
  const std::string content = pattern(3 << 20);
  put("shard.bin", content);
  put("small.bin", content.substr(0, 5000));
  const std::size_t before = open_descriptors();
  for (const ReadMode mode : kModes) {
    const auto store = open(mode);
    const auto shard = store->stat("shard.bin"), small = store->stat("small.bin");
    ASSERT_TRUE(shard && small);
    if (!usable(*store, *shard)) continue;
    ReadBuffer buffer;
    const auto expect = [&](const Object& object, std::size_t offset, std::size_t size) {
      const auto bytes = store->read(object, offset, size, buffer);
      ASSERT_TRUE(bytes) << to_string(mode) << ": " << bytes.error().message;
      ASSERT_EQ(bytes->size(), size);
      EXPECT_EQ(std::memcmp(bytes->data(), content.data() + offset, size), 0)
          << to_string(mode) << " at " << offset;
      std::memset(const_cast<std::byte*>(bytes->data()), 0xa5, size);
    };
    for (const std::size_t offset : {0UL, 1UL, 4095UL, 4096UL, 70'001UL, content.size() - 20'001})
      expect(*shard, offset, 20'001);
    expect(*shard, content.size(), 0);
    expect(*shard, 0, content.size());
    expect(*small, 0, 5000);
    const Json counters = store->counters();
    EXPECT_EQ(counters["read_mode"], to_string(mode));
    EXPECT_EQ(counters["mapped_bytes"] > 0, mode == ReadMode::mmap);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(LocalStoreTest, AFileThatShrinksIsAnErrorInEveryMode) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer takes SIGBUS for itself";
#endif
  for (const ReadMode mode : kModes) {
    put("a.bin", pattern(2 << 20));
    const auto store = open(mode);
    const auto object = store->stat("a.bin");
    ASSERT_TRUE(object);
    if (!usable(*store, *object)) continue;  // also keeps the file open, and mapped
    for (const std::uintmax_t left : {std::uintmax_t{1} << 20, std::uintmax_t{100}}) {
      fs::resize_file(folder_ / "a.bin", left);
      for (const std::size_t size : {std::size_t{2} << 20, std::size_t{1000}}) {
        ReadBuffer buffer;
        const auto bytes = store->read(*object, (2 << 20) - size, size, buffer);
        ASSERT_FALSE(bytes) << to_string(mode);
        EXPECT_EQ(bytes.error().code, Errc::invalid_input);
        EXPECT_THAT(bytes.error().message, HasSubstr("a.bin"));
        EXPECT_THAT(bytes.error().message, HasSubstr("shrank"));
      }
    }
    // Zeros between the new end and the end of its page are no content.
    ReadBuffer buffer;
    EXPECT_FALSE(store->read(*object, 90, 20, buffer)) << to_string(mode);
    EXPECT_TRUE(store->read(*object, 80, 20, buffer)) << to_string(mode);
  }
}

TEST_F(LocalStoreTest, ACopyOutOfAMapWhoseFileIsGoneGivesFalse) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer takes SIGBUS for itself";
#endif
  put("a.bin", pattern(3 * 65'536));
  const int fd = ::open((folder_ / "a.bin").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  void* map = ::mmap(nullptr, 3 * 65'536, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(map, MAP_FAILED);
  std::vector<std::byte> out(3 * 65'536);
  const auto* from = static_cast<const std::byte*>(map);
  EXPECT_TRUE(guarded_copy(out.data(), from, out.size()));
  ASSERT_EQ(::ftruncate(fd, 65'536), 0);
  for (int i = 0; i < 3; ++i)  // again and again: the signal is not left blocked
    EXPECT_FALSE(guarded_copy(out.data(), from, out.size()));
  EXPECT_TRUE(guarded_copy(out.data(), from, 65'536));
  ::munmap(map, 3 * 65'536);
  ::close(fd);
}

TEST_F(LocalStoreTest, ManyThreadsReadManyShardsWhileFewStayOpen) {
  const std::string content = pattern(50'000);
  for (int i = 0; i < 12; ++i)
    put("shard" + std::to_string(i), content);
  LocalOptions options;
  options.path = folder_.path();
  options.read_mode = ReadMode::mmap;
  options.keep_open = 3;
  const auto store = open_local(options);
  ASSERT_TRUE(store);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      ReadBuffer buffer;
      for (unsigned i = 0; i < 400; ++i) {
        const unsigned draw = (t * 7919 + i) * 2654435761U >> 8;
        const std::size_t offset = draw % 40'000;
        const auto bytes =
            (*store)->read({.key = "shard" + std::to_string(draw % 12), .size = content.size()},
                           offset, 9000, buffer);
        if (!bytes || std::memcmp(bytes->data(), content.data() + offset, 9000) != 0) ++wrong;
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(LocalStoreTest, OneFileIsAStoreOfOneObject) {
  put("a.tar", "abc");
  put("b.tar", "def");
  LocalOptions options;
  options.path = folder_ / "a.tar";
  const auto store = open_local(options);
  ASSERT_TRUE(store);
  EXPECT_THAT(keys(**store), ElementsAre("a.tar"));
  EXPECT_THAT(keys(**store, "b"), ElementsAre());
  EXPECT_FALSE((*store)->stat("b.tar"));
}

TEST_F(LocalStoreTest, ErrorsNameTheFile) {
  put("folder/a.jpg", "a");
  const auto store = open();
  for (const char* key : {"../x", "/etc/passwd", "", "a//b", "folder/.."}) {
    const auto stat = store->stat(key);
    ASSERT_FALSE(stat) << key;
    EXPECT_EQ(stat.error().code, Errc::not_found);
  }
  EXPECT_THAT(store->stat("folder").error().message, HasSubstr("not a file"));
  EXPECT_EQ(store->stat("none.jpg").error().code, Errc::not_found);
  LocalOptions options;
  options.path = folder_ / "none";
  const auto missing = open_local(options);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::not_found);
  if (::geteuid() != 0) {  // root may read everything
    ASSERT_EQ(::chmod((folder_ / "folder/a.jpg").c_str(), 0), 0);
    ReadBuffer buffer;
    const auto bytes = store->read({.key = "folder/a.jpg", .size = 1}, 0, 1, buffer);
    ASSERT_FALSE(bytes);
    EXPECT_THAT(bytes.error().message, HasSubstr("folder/a.jpg"));
  }
}

TEST_F(LocalStoreTest, AfterCancelNothingIsRead) {
  put("a.jpg", "a");
  const auto store = open();
  store->cancel();
  ReadBuffer buffer;
  EXPECT_EQ(store->read({.key = "a.jpg", .size = 1}, 0, 1, buffer).error().code, Errc::interrupted);
  EXPECT_EQ(store->list("", [](std::span<const Object>) -> Status { return ok; }).error().code,
            Errc::interrupted);
}

}  // namespace
}  // namespace sluice::storage::local_store_test
