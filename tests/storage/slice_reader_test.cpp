// tests/storage/slice_reader_test.cpp - slices by blocks: right bytes, few requests, bounded
// memory.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/slice_reader.h"

#include <gtest/gtest.h>

#include "tests/storage/memory_store.h"
#include <cstring>
#include <thread>
#include <vector>

namespace sluice::storage::slice_reader_test {
namespace {

using testing::MemoryStore;

constexpr std::size_t kBlock = 64 << 10;
constexpr std::size_t kSlice = 5000;  // does not divide the block: some slices lie in two
constexpr std::size_t kSlices = 200;

class SliceReaderTest : public ::testing::Test {
 protected:
  void make(std::size_t request, std::size_t memory) {
    store_ = std::make_shared<MemoryStore>(request);
    std::vector<Object> objects;
    for (const char* key : {"a", "b"}) {
      std::string& content = store_->objects[key];
      for (std::size_t i = 0; i < kSlice * kSlices; ++i)
        content += static_cast<char>((i * 2654435761U + static_cast<std::size_t>(key[0])) >> 11);
      objects.push_back({.key = key, .size = content.size(), .version = "1"});
    }
    SliceOptions options;
    options.memory_bytes = memory;
    reader_ = std::make_unique<SliceReader>(store_, objects, options);
    for (std::size_t object = 0; object < 2; ++object)
      for (std::size_t i = 0; i < kSlices; ++i)
        reader_->expect(object, i * kSlice, kSlice);
  }
  /// Whether slice `i` of both objects together is right.
  bool read(std::size_t i) {
    ReadBuffer buffer;
    const std::size_t object = i / kSlices, offset = i % kSlices * kSlice;
    const auto bytes = reader_->read(object, offset, kSlice, buffer);
    const std::string& content = store_->objects[object == 0 ? "a" : "b"];
    return bytes && bytes->size() == kSlice &&
           std::memcmp(bytes->data(), content.data() + offset, kSlice) == 0;
  }

  std::shared_ptr<MemoryStore> store_;
  std::unique_ptr<SliceReader> reader_;
};

TEST_F(SliceReaderTest, EveryBlockIsReadOnceAnEpochInAnyOrderThatMemoryHolds) {
  make(kBlock, 4 << 20);
  for (int epoch = 1; epoch <= 3; ++epoch) {
    for (std::size_t i = 0; i < 2 * kSlices; ++i)
      ASSERT_TRUE(read(i * 149 % (2 * kSlices)));
    EXPECT_EQ(store_->reads, epoch * 2 * 16);  // 1,000,000 bytes in blocks of 65,536
  }
}

TEST_F(SliceReaderTest, WithoutRoomSlicesAreReadAsTheyAreAskedFor) {
  make(kBlock, 2 * kBlock);
  for (std::size_t i = 0; i < 2 * kSlices; ++i)
    ASSERT_TRUE(read(i * 149 % (2 * kSlices)));
  EXPECT_LT(store_->bytes_read, 2 * 2 * kSlice * kSlices);  // not a block for each
  make(kBlock, 2 * kBlock);
  for (std::size_t i = 0; i < 2 * kSlices; ++i)
    ASSERT_TRUE(read(i));
  EXPECT_EQ(store_->reads, 2 * 16);
}

TEST_F(SliceReaderTest, ABlockThatIsNotUsedUpMakesRoomInTheEnd) {
  make(kBlock, 2 * kBlock);
  ASSERT_TRUE(read(0));  // begins a block of which the rest is never read
  ASSERT_TRUE(read(100));
  for (std::size_t i = kSlices; i < 2 * kSlices; ++i)
    ASSERT_TRUE(read(i));
  EXPECT_GT(store_->reads, 100);
  store_->reads = 0;
  for (std::size_t i = kSlices; i < 2 * kSlices; ++i)
    ASSERT_TRUE(read(i));
  EXPECT_LT(store_->reads, 40);
}

TEST_F(SliceReaderTest, ALocalStoreIsToldOfEachBlockOnceAnEpoch) {
  make(0, 0);
  for (int epoch = 1; epoch <= 2; ++epoch) {
    for (std::size_t i = 0; i < 2 * kSlices; ++i)
      ASSERT_TRUE(read(i * 149 % (2 * kSlices)));
    EXPECT_EQ(store_->hints, 2 * epoch);  // each object is smaller than the block of 4 MiB
    EXPECT_EQ(store_->reads, epoch * 2 * static_cast<int>(kSlices));
  }
}

TEST_F(SliceReaderTest, ThreadsShareBlocksAndErrorsReachAllOfThem) {
  make(kBlock, 4 << 20);
  std::atomic<int> wrong = 0;
  const auto all = [&] {
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (std::size_t i = t; i < 2 * kSlices; i += 4)
          if (!read(i)) ++wrong;
      });
    for (std::thread& thread : threads)
      thread.join();
  };
  all();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(store_->reads, 2 * 16);
  store_->fail = true;
  all();
  EXPECT_EQ(wrong, 2 * static_cast<int>(kSlices));
  store_->fail = false;
  wrong = 0;
  all();
  EXPECT_EQ(wrong, 0);
}

TEST_F(SliceReaderTest, SlicesOutOfTheObjectAreErrorsOfTheStore) {
  make(kBlock, 4 << 20);
  ReadBuffer buffer;
  EXPECT_FALSE(reader_->read(0, kSlice * kSlices - 10, 20, buffer));
  EXPECT_TRUE(reader_->read(0, kSlice * kSlices, 0, buffer));
}

}  // namespace
}  // namespace sluice::storage::slice_reader_test
