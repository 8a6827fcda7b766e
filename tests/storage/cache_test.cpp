// tests/storage/cache_test.cpp - the cache in one process: hits, blocks, eviction, threads, cancel.
// SPDX-License-Identifier: Apache-2.0
#include "tests/storage/cache_fixture.h"
#include <thread>

namespace sluice::storage::cache_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CacheTest : public CacheFixture {};

TEST_F(CacheTest, SecondReadIsAHitAlsoInAnotherStoreOverTheSameFolder) {
  const Object object = GeneratedStore::object("a/b.jpg", 30'001, "7");
  auto store = open();
  EXPECT_EQ(check(*store, object), "right");
  EXPECT_EQ(inner_->reads(), 1U);
  EXPECT_EQ(count(*store, "hits"), 0U);
  EXPECT_EQ(count(*store, "misses"), 1U);
  EXPECT_EQ(check(*store, object), "right");
  EXPECT_EQ(count(*store, "hits"), 1U);
  EXPECT_EQ(count(*store, "bytes"), 32'768U);
  store = open();
  EXPECT_EQ(check(*store, object), "right");
  EXPECT_EQ(inner_->reads(), 1U);
  EXPECT_EQ(count(*store, "hits"), 1U);
  EXPECT_EQ(count(*store, "misses"), 0U);
  EXPECT_EQ(store->counters().at("inner").at("reads"), 1);
}

TEST_F(CacheTest, AnotherVersionSizeKeyOrStoreIsAnotherEntry) {
  auto store = open();
  EXPECT_EQ(check(*store, GeneratedStore::object("k", 100, "1")), "right");
  EXPECT_EQ(check(*store, GeneratedStore::object("k", 100, "2")), "right");
  EXPECT_EQ(check(*store, GeneratedStore::object("k", 99, "1")), "right");
  EXPECT_EQ(check(*store, GeneratedStore::object("l", 100, "1")), "right");
  CacheOptions other = options();
  other.store_id = "elsewhere";
  EXPECT_EQ(check(*open(other), GeneratedStore::object("k", 100, "1")), "right");
  EXPECT_EQ(inner_->reads(), 5U);
}

TEST_F(CacheTest, LargeObjectsAreKeptInBlocks) {
  const std::uint64_t block = options().block_bytes;
  const Object object = GeneratedStore::object("shard.tar", 5 * block + 321, "1");
  auto store = open();
  EXPECT_EQ(check(*store, object, 2 * block + 10, 1000), "right");
  EXPECT_EQ(files("objects").size(), 1U);
  EXPECT_EQ(check(*store, object, 2 * block + 5000, 1000), "right");
  EXPECT_EQ(inner_->reads(), 1U);
  EXPECT_EQ(check(*store, object, block - 7, 2 * block + 20), "right");  // touches 4, has 1
  EXPECT_EQ(inner_->reads(), 4U);
  EXPECT_EQ(check(*store, object), "right");
  EXPECT_EQ(inner_->reads(), 6U);
  EXPECT_EQ(files("objects").size(), 6U);
  auto again = open();  // parts of entries this store has not yet proven
  EXPECT_EQ(check(*again, object, 5 * block + 300, 21), "right");
  EXPECT_EQ(check(*again, object, 1, 5 * block), "right");
  EXPECT_EQ(inner_->reads(), 6U);
}

TEST_F(CacheTest, WithoutAVersionNothingIsKept) {
  auto store = open();
  const Object object = GeneratedStore::object("k", 100, "");
  EXPECT_EQ(check(*store, object), "right");
  EXPECT_EQ(check(*store, object), "right");
  EXPECT_EQ(inner_->reads(), 2U);
  EXPECT_EQ(count(*store, "bypassed"), 2U);
  EXPECT_THAT(files("objects"), IsEmpty());
}

TEST_F(CacheTest, ReadsPastTheEndAndOfNothingAreTheInnerStoresBusiness) {
  auto store = open();
  ReadBuffer buffer;
  const Object object = GeneratedStore::object("k", 100, "1");
  for (const std::uint64_t offset : {std::uint64_t{90}, std::uint64_t{101}, ~std::uint64_t{0}})
    EXPECT_FALSE(store->read(object, offset, 11, buffer).has_value() &&
                 offset != ~std::uint64_t{0});
  const auto none = store->read(object, 100, 0, buffer);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
}

TEST_F(CacheTest, FailedFetchLeavesNothing) {
  auto store = open();
  inner_->fail(true);
  const Object object = GeneratedStore::object("k", 100, "1");
  EXPECT_THAT(check(*store, object), HasSubstr("fails as asked"));
  EXPECT_EQ(bytes_on_disk(), 0U);
  inner_->fail(false);
  EXPECT_EQ(check(*store, object), "right");
}

TEST_F(CacheTest, LeastRecentlyUsedGoesFirst) {
  CacheOptions small = options();
  small.max_bytes = 10 * 4096;
  auto store = open(small);
  const auto object = [](int i) { return GeneratedStore::object(std::to_string(i), 4000, "1"); };
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(check(*store, object(i)), "right");
  EXPECT_EQ(count(*store, "evictions"), 0U);
  EXPECT_EQ(check(*store, object(0)), "right");  // no longer the oldest
  EXPECT_EQ(check(*store, object(10)), "right");
  EXPECT_EQ(count(*store, "evictions"), 1U);
  EXPECT_EQ(count(*store, "evicted_bytes"), 4096U);
  EXPECT_EQ(check(*store, object(0)), "right");
  EXPECT_EQ(inner_->reads(), 11U);
  EXPECT_EQ(check(*store, object(1)), "right");  // was evicted
  EXPECT_EQ(inner_->reads(), 12U);
  EXPECT_LE(bytes_on_disk(), small.max_bytes);
  EXPECT_EQ(count(*store, "bytes"), bytes_on_disk());
}

TEST_F(CacheTest, StaysWithinItsSizeUnderPressureOfThreads) {
  CacheOptions small = options();
  small.max_bytes = 40 * 4096;
  auto store = open(small);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  std::atomic<bool> over{false};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 150; ++i) {
        const Object object =
            GeneratedStore::object(std::to_string((i * 7 + t * 31) % 200),
                                   static_cast<std::uint64_t>(i % 5) * 3000 + 1, "1");
        if (check(*store, object) != "right") ++wrong;
        if (count(*store, "bytes") > small.max_bytes) over = true;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_FALSE(over);
  EXPECT_GT(count(*store, "evictions"), 0U);
  EXPECT_LE(bytes_on_disk(), small.max_bytes);
  EXPECT_THAT(files("tmp"), IsEmpty());
}

TEST_F(CacheTest, WhatIsLargerThanTheCachePassesBy) {
  CacheOptions tiny = options();
  tiny.max_bytes = 8192;
  auto store = open(tiny);
  EXPECT_EQ(check(*store, GeneratedStore::object("k", 8129, "1")), "right");
  EXPECT_EQ(count(*store, "bypassed"), 1U);
  EXPECT_EQ(check(*store, GeneratedStore::object("k", 8128, "1")),
            "right");  // and its trailer: fits
  EXPECT_EQ(count(*store, "fills"), 1U);
}

TEST_F(CacheTest, ThreadsThatWantTheSameShareOneFetch) {
  auto store = open();
  const Object object = GeneratedStore::object("k", 50'000, "1");
  inner_->hold(true);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&] { right += check(*store, object) == "right" ? 1 : 0; });
  ASSERT_TRUE(inner_->wait_for_reads(1));
  inner_->hold(false);
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(right, 6);
  EXPECT_EQ(inner_->reads(), 1U);
  EXPECT_EQ(count(*store, "hits") + count(*store, "misses"), 6U);
  EXPECT_EQ(count(*store, "fills"), 1U);
}

TEST_F(CacheTest, CancelEndsTheLeaderAndThoseWhoWait) {
  auto store = open();
  const Object object = GeneratedStore::object("k", 50'000, "1");
  inner_->hold(true);
  std::vector<std::thread> threads;
  std::atomic<int> interrupted{0};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      ReadBuffer buffer;
      const auto bytes = store->read(object, 0, object.size, buffer);
      interrupted += !bytes && bytes.error().code == Errc::interrupted ? 1 : 0;
    });
  }
  ASSERT_TRUE(inner_->wait_for_reads(1));
  store->cancel();
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(interrupted, 3);
  ReadBuffer buffer;
  const auto later = store->read(object, 0, 10, buffer);
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().code, Errc::interrupted);
  EXPECT_EQ(bytes_on_disk(), 0U);
}

TEST_F(CacheTest, OptionsThatMakeNoSenseAreRefused) {
  CacheOptions bad = options();
  bad.block_bytes = 1000;
  EXPECT_THAT(open_cached(inner_, bad).error().message, HasSubstr("multiple of 4096"));
  bad = options();
  bad.max_bytes = 100;
  EXPECT_THAT(open_cached(inner_, bad).error().message, HasSubstr("at least 4096"));
  bad.folder.clear();
  EXPECT_EQ(open_cached(inner_, bad).error().code, Errc::usage);
}

}  // namespace
}  // namespace sluice::storage::cache_test
