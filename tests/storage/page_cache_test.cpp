// tests/storage/page_cache_test.cpp - cold and warm files, as far as the file system lets us.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/local/page_cache.h"

#include "sluice/core/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include <sys/vfs.h>

namespace sluice::storage::page_cache_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class PageCacheTest : public ::testing::Test {
 protected:
  fs::path put(const std::string& name, std::size_t size) const {
    EXPECT_TRUE(write_file_atomic(folder_ / name, std::string(size, 'x'), Flush::later));
    return folder_ / name;
  }
  /// A file system in memory has nowhere to drop pages to.
  bool in_memory() const {
    struct statfs info {};
    ::statfs(folder_.path().c_str(), &info);
    return info.f_type == 0x01021994 || info.f_type == 0x858458f6;
  }
  testing_support::TemporaryFolder folder_;
};

TEST_F(PageCacheTest, WrittenIsWarmAndDroppedIsCold) {
  const std::vector<fs::path> files{put("a", 100'000), put("b", 3 << 20)};
  const Residency warm = page_residency(files);
  EXPECT_EQ(warm.state, CacheState::warm) << warm.reason;
  EXPECT_EQ(warm.files, 2U);
  EXPECT_GE(warm.pages, (3U << 20U) / 65536);
  EXPECT_DOUBLE_EQ(warm.resident_share, 1.0);
  ASSERT_TRUE(drop_page_cache(files));
  const Residency dropped = page_residency(files);
  if (in_memory()) GTEST_SKIP() << "the temporary folder lies in memory";
  EXPECT_EQ(dropped.state, CacheState::cold) << dropped.resident_share;
}

TEST_F(PageCacheTest, HalfIsMixed) {
  const std::vector<fs::path> files{put("a", 1 << 20), put("b", 1 << 20)};
  ASSERT_TRUE(drop_page_cache(std::span(files).first(1)));
  if (in_memory()) GTEST_SKIP() << "the temporary folder lies in memory";
  const Residency half = page_residency(files);
  EXPECT_EQ(half.state, CacheState::mixed);
  EXPECT_DOUBLE_EQ(half.resident_share, 0.5);
}

TEST_F(PageCacheTest, SamplesOfManyAndLargeFiles) {
  std::vector<fs::path> files;
  for (int i = 0; i < 20; ++i)
    files.push_back(put(std::to_string(i), 512 << 10));
  ResidencyOptions options;
  options.max_files = 5;
  options.max_bytes = 128U << 10U;
  const Residency some = page_residency(files, options);
  EXPECT_EQ(some.files, 5U);
  EXPECT_LE(some.pages * 4096, 5U * (128U << 10U) * 17 / 16);
  EXPECT_GT(some.pages, 0U);
  EXPECT_EQ(some.state, CacheState::warm);
}

TEST_F(PageCacheTest, WhatCannotBeSeenIsUnknownWithItsReason) {
  const std::vector<fs::path> missing{folder_ / "nothing"};
  Residency result = page_residency(missing);
  EXPECT_EQ(result.state, CacheState::unknown);
  EXPECT_THAT(result.reason, HasSubstr("nothing"));
  const auto dropped = drop_page_cache(missing);
  ASSERT_FALSE(dropped);
  EXPECT_EQ(dropped.error().code, Errc::not_found);

  result = page_residency({});
  EXPECT_EQ(result.state, CacheState::unknown);
  EXPECT_THAT(result.reason, HasSubstr("no page"));
  const std::vector<fs::path> empty{put("empty", 0)};
  EXPECT_EQ(page_residency(empty).state, CacheState::unknown);
  const std::vector<fs::path> folder{folder_.path()};
  EXPECT_EQ(page_residency(folder).state, CacheState::unknown);
  EXPECT_EQ(to_string(CacheState::unknown), "unknown");
}

}  // namespace
}  // namespace sluice::storage::page_cache_test
