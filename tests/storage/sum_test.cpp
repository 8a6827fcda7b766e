// tests/storage/sum_test.cpp - a checksum over part of an object and copies out of it, in one pass:
// as if all of it had been read, of every store, and of files that change.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/rng.h"
#include "sluice/storage/format/crc32c.h"
#include "sluice/storage/local/guarded_copy.h"
#include "sluice/storage/local/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "tests/storage/memory_store.h"
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <vector>

namespace sluice::storage::sum_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::size_t kPiece = std::size_t{128} << 10U;
constexpr std::size_t kMap = std::size_t{8} << 20U;
constexpr char kPoison = '\xa5';
constexpr std::size_t kFence = 16;

std::string drawn(std::size_t size, std::uint64_t seed) {
  Rng rng(RngKey{.seed = seed});
  std::string text(size, '\0');
  for (char& c : text)
    c = static_cast<char>(rng.next_u32());
  return text;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

struct Range {
  std::size_t first = 0;
  std::size_t size = 0;
};

/// What sum() says, and what it copied, beside a plain sum and plain copies of `content`.
void expect_sum(ObjectStore& store, const Object& object, std::string_view content, Range whole,
                const std::vector<Range>& parts) {
  std::vector<std::string> kept;
  std::vector<ObjectStore::Excerpt> excerpts;
  for (const Range& part : parts)
    kept.emplace_back(part.size + 2 * kFence, kPoison);
  for (std::size_t i = 0; i < parts.size(); ++i)
    excerpts.push_back({parts[i].first,
                        std::as_writable_bytes(std::span(kept[i])).subspan(kFence, parts[i].size)});
  ReadBuffer buffer;
  const auto sum = store.sum(object, whole.first, whole.size, excerpts, buffer);
  ASSERT_TRUE(sum) << sum.error().message;
  EXPECT_EQ(*sum, crc32c_reference(bytes_of(content.substr(whole.first, whole.size))))
      << whole.size << " from " << whole.first;
  const std::string fence(kFence, kPoison);
  for (std::size_t i = 0; i < parts.size(); ++i)
    EXPECT_TRUE(kept[i] ==
                fence + std::string(content.substr(parts[i].first, parts[i].size)) + fence)
        << parts[i].size << " from " << parts[i].first << " in " << whole.size << " from "
        << whole.first;
}

/// Nothing, the ends, what lies across borders of pieces, what overlaps and what is all of it.
std::vector<Range> some_parts(Range whole) {
  std::vector<Range> parts = {{whole.first, 0},
                              {whole.first + whole.size, 0},
                              {whole.first, std::min<std::size_t>(whole.size, 5)},
                              {whole.first, whole.size}};
  if (whole.size >= 3) parts.push_back({whole.first + whole.size - 3, 3});
  for (const std::size_t border : {kPiece, 2 * kPiece, kMap})
    if (whole.size > border + 100) {
      parts.push_back({whole.first + border - 50, 100});
      parts.push_back({whole.first + border, 100});
      parts.push_back({whole.first + border - 100, 100});
    }
  return parts;
}

class SumTest : public ::testing::Test {
 protected:
  void put(const std::string& content) const {
    ASSERT_TRUE(write_file_atomic(folder_ / "a.bin", content, Flush::later));
  }
  [[nodiscard]] std::unique_ptr<ObjectStore> open(ReadMode mode) const {
    auto store = open_local({.path = folder_.path(), .read_mode = mode});
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }
  /// False where the file system of the tests has no O_DIRECT.
  static bool usable(ObjectStore& store, const Object& object) {
    ReadBuffer buffer;
    const auto bytes = store.read(object, 0, 1, buffer);
    return bytes || bytes.error().code != Errc::unsupported;
  }
  static std::uint64_t mapped(const ObjectStore& store) {
    return store.counters().at("mapped_bytes").get<std::uint64_t>();
  }

  testing_support::TemporaryFolder folder_;
};

constexpr ReadMode kModes[] = {ReadMode::buffered, ReadMode::mmap, ReadMode::direct};

TEST_F(SumTest, IsThatOfWhatAReadGives) {
  const std::string content = drawn(kMap + 70'001, 1);
  put(content);
  testing::MemoryStore memory;
  memory.objects["a.bin"] = content;
  std::vector<std::shared_ptr<ObjectStore>> stores = {
      std::shared_ptr<ObjectStore>(&memory, [](ObjectStore*) {})};
  for (const ReadMode mode : kModes)
    stores.push_back(open(mode));
  for (const auto& store : stores) {
    const auto object = store->stat("a.bin");
    ASSERT_TRUE(object);
    if (!usable(*store, *object)) continue;
    const auto expect = [&](std::size_t first, std::size_t size) {
      expect_sum(*store, *object, content, {first, size}, some_parts({first, size}));
    };
    for (const std::size_t size : {0UL, 1UL, 100UL, kPiece - 1, kPiece, kPiece + 1, 300'001UL})
      for (const std::size_t first : {0UL, 1UL, 4095UL, 4096UL, 70'001UL})
        expect(first, size);
    expect(0, content.size());
    expect(13, content.size() - 13);
    expect(content.size() - 5000, 5000);
    expect(content.size(), 0);
  }
}

TEST_F(SumTest, OfAFolderItIsTakenWhereThePageCacheLies) {
  const std::string content = drawn(500'000, 2);
  put(content);
  for (const ReadMode mode : {ReadMode::buffered, ReadMode::mmap}) {
    const auto store = open(mode);
    expect_sum(*store, *store->stat("a.bin"), content, {100, 400'000}, {});
    EXPECT_EQ(mapped(*store), 400'000U) << to_string(mode);
  }
}

TEST_F(SumTest, AFileThatShrinksIsTheErrorOfARead) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer takes SIGBUS for itself";
#endif
  constexpr std::size_t size = 2 << 20;
  for (const ReadMode mode : kModes) {
    put(drawn(size, 3));
    const auto store = open(mode);
    const auto object = store->stat("a.bin");
    ASSERT_TRUE(object);
    if (!usable(*store, *object)) continue;  // also keeps the file open, and mapped
    for (const std::uintmax_t left : {size - 1, size / 2 + 1, size / 2, std::size_t{100}}) {
      fs::resize_file(folder_ / "a.bin", left);
      ReadBuffer buffer;
      std::string kept(1000, kPoison);
      const ObjectStore::Excerpt part{size - 1000, std::as_writable_bytes(std::span(kept))};
      const auto sum = store->sum(*object, 10, size - 10, {&part, 1}, buffer);
      ASSERT_FALSE(sum) << to_string(mode) << " " << left;
      EXPECT_EQ(sum.error().code, Errc::invalid_input);
      EXPECT_THAT(sum.error().message, HasSubstr("a.bin"));
      EXPECT_THAT(sum.error().message, HasSubstr("shrank"));
    }
    const std::string content = drawn(size, 4);  // another one of that name
    put(content);
    expect_sum(*store, *object, content, {10, size - 10}, some_parts({10, size - 10}));
  }
}

TEST_F(SumTest, WhoeverTakesTheSignalLeavesTheSumRight) {
  const std::string content = drawn(400'000, 5);
  put(content);
  const auto store = open(ReadMode::buffered);
  const auto object = store->stat("a.bin");
  ASSERT_TRUE(guard_stands());
  struct sigaction theirs {
  }, ours{};
  theirs.sa_handler = SIG_DFL;
  ASSERT_EQ(::sigaction(SIGBUS, &theirs, &ours), 0);
  EXPECT_FALSE(guard_stands());
  expect_sum(*store, *object, content, {7, 399'000}, some_parts({7, 399'000}));
  EXPECT_EQ(mapped(*store), 0U) << "without a guard nothing is mapped";
  fs::resize_file(folder_ / "a.bin", 1000);
  ReadBuffer buffer;
  EXPECT_FALSE(store->sum(*object, 0, content.size(), {}, buffer));
  ASSERT_EQ(::sigaction(SIGBUS, &ours, nullptr), 0);
  EXPECT_TRUE(guard_stands());
}

TEST_F(SumTest, ErrorsAndCancelAreThoseOfARead) {
  put("abc");
  const auto store = open(ReadMode::buffered);
  ReadBuffer buffer;
  EXPECT_EQ(store->sum({.key = "none", .size = 3}, 0, 3, {}, buffer).error().code, Errc::not_found);
  EXPECT_EQ(store->sum({.key = "a.bin", .size = 3}, INT64_MAX, 3, {}, buffer).error().code,
            Errc::invalid_input);
  store->cancel();
  EXPECT_EQ(store->sum({.key = "a.bin", .size = 3}, 0, 3, {}, buffer).error().code,
            Errc::interrupted);
}

TEST_F(SumTest, ABucketIsAskedForWhatItsRequestsAreWorth) {
  testing::MemoryStore memory(1 << 20);
  memory.objects["a.bin"] = drawn(3'000'000, 6);
  const Object object = *memory.stat("a.bin");
  expect_sum(memory, object, memory.objects["a.bin"], {5, 2'500'000}, some_parts({5, 2'500'000}));
  EXPECT_EQ(memory.reads, 3);
}

}  // namespace
}  // namespace sluice::storage::sum_test
