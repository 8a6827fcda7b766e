// tests/storage/cache_fixture.h - a cache over a generated store, and what lies in its folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/log.h"
#include "sluice/storage/cache/cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "tests/storage/generated_store.h"
#include <algorithm>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

namespace sluice::storage {

using testing::GeneratedStore;
namespace fs = std::filesystem;

class CacheFixture : public ::testing::Test {
 protected:
  CacheFixture() {
    log::attach_sink(this, [this](std::string_view line) {
      const std::lock_guard lock(mutex_);
      warnings_.emplace_back(line);
    });
  }
  ~CacheFixture() override { log::detach_sink(this); }

  CacheOptions options() const {
    CacheOptions options;
    options.folder = folder_ / "cache";
    options.max_bytes = 64U << 20U;
    options.block_bytes = 64U << 10U;
    options.touch_interval = std::chrono::milliseconds(0);
    options.retry_after = std::chrono::milliseconds(0);
    return options;
  }
  std::shared_ptr<ObjectStore> open(const CacheOptions& options) const {
    auto store = open_cached(inner_, options);
    EXPECT_TRUE(store) << store.error().message;
    return store ? *store : nullptr;
  }
  std::shared_ptr<ObjectStore> open() const { return open(options()); }

  /// Reads all of it and compares every byte; "right", or what is wrong.
  static std::string check(ObjectStore& store, const Object& object, std::uint64_t offset,
                           std::size_t size) {
    ReadBuffer buffer;
    const std::span<std::byte> poisoned = buffer.take(size);
    std::fill(poisoned.begin(), poisoned.end(), std::byte{0xA5});
    const auto bytes = store.read(object, offset, size, buffer);
    if (!bytes) return bytes.error().message;
    const auto expected = GeneratedStore::bytes(object, offset, size);
    return std::equal(bytes->begin(), bytes->end(), expected.begin(), expected.end())
               ? "right"
               : "other bytes";
  }
  static std::string check(ObjectStore& store, const Object& object) {
    return check(store, object, 0, object.size);
  }
  static std::uint64_t count(const ObjectStore& store, const std::string& name) {
    return store.counters().at(name).get<std::uint64_t>();
  }
  /// Files below a folder of the cache.
  std::vector<fs::path> files(const std::string& below) const {
    std::vector<fs::path> found;
    if (!fs::exists(folder_ / "cache" / below)) return found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "cache" / below))
      if (entry.is_regular_file()) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
  }
  std::uint64_t bytes_on_disk() const {
    std::uint64_t sum = 0;
    for (const fs::path& file : files(""))
      if (file.filename() != "sluice-cache") sum += (fs::file_size(file) + 4095) / 4096 * 4096;
    return sum;
  }

  testing_support::TemporaryFolder folder_;
  std::shared_ptr<GeneratedStore> inner_ = std::make_shared<GeneratedStore>();
  std::mutex mutex_;
  std::vector<std::string> warnings_;
};

}  // namespace sluice::storage
