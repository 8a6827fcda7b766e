// tests/storage/cache_kill_test.cpp - a cache fill killed at random points: nothing corrupt,
// nothing left behind.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/rng.h"
#include "sluice/storage/cache/cache.h"
#include "sluice/storage/local/store.h"

#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "tests/storage/generated_objects.h"
#include "tests/storage/kill.h"
#include <cstring>
#include <thread>

namespace sluice::storage::cache_kill_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int kKills = 120;  // tests/loader/loader_kill_test.cpp has 80 more
constexpr std::uint64_t kObjects = 30;

class CacheKillTest : public ::testing::Test {
 protected:
  CacheKillTest() {
    fs::create_directories(folder_ / "data");
    for (std::uint64_t i = 0; i < kObjects; ++i) {
      objects_.push_back(Object{.key = "object-" + std::to_string(i),
                                .size = i % 6 == 0 ? 190'000 + i : 700 + i * 611,
                                .version = "1"});
      contents_.push_back(content(objects_.back()));
      EXPECT_TRUE(write_file_atomic(folder_ / ("data/" + objects_.back().key), contents_.back(),
                                    Flush::later));
    }
  }
  static std::string content(const Object& object) {
    std::string text(object.size, '\0');
    testing::generated_content(std::as_writable_bytes(std::span(text)), object.key, 1, 0);
    return text;
  }
  Result<std::shared_ptr<ObjectStore>> open() const {
    LocalOptions local;
    local.path = folder_ / "data";
    SLUICE_TRY(auto inner, open_local(local));
    CacheOptions options;
    options.folder = folder_ / "cache";
    options.block_bytes = 64U << 10U;
    options.max_bytes = 640U << 10U;  // about half of the objects: eviction goes on all the time
    return open_cached(std::move(inner), options);
  }
  bool right(ObjectStore& store, std::uint64_t i) const {
    ReadBuffer buffer;
    const auto bytes = store.read(objects_[i], 0, objects_[i].size, buffer);
    return bytes && bytes->size() == contents_[i].size() &&
           std::memcmp(bytes->data(), contents_[i].data(), bytes->size()) == 0;
  }
  /// Reads from two threads until it is killed; a byte into `pipe` once the folder is open.
  int fill_until_killed(int pipe, std::uint64_t seed) const {
    auto store = open();
    if (!store || ::write(pipe, "o", 1) != 1) return 2;
    const auto read_on = [&](std::uint64_t thread) {
      Rng rng(RngKey{.seed = seed, .index = thread});
      for (;;)
        if (!right(**store, rng.below(kObjects)) && ::write(pipe, "x", 1) != 1) return;
    };
    std::thread second(read_on, 1);
    read_on(0);
    second.join();
    return 3;
  }
  /// What is wrong with the folder; empty when nothing is.
  std::string inspect() const {
    auto store = open();
    if (!store) return store.error().message;
    std::uint64_t on_disk = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "cache")) {
      if (!entry.is_regular_file() || entry.path().filename() == "sluice-cache") continue;
      if (entry.path().parent_path().filename() == "tmp") return "a temporary file is left";
      on_disk += (entry.file_size() + 4095) / 4096 * 4096;
    }
    const Json before = (*store)->counters();
    if (before.at("bytes").get<std::uint64_t>() != on_disk) return "the count is wrong";
    if (on_disk > 640U << 10U) return "the folder is too large";
    for (std::uint64_t i = 0; i < kObjects; ++i)
      if (!right(**store, i)) return objects_[i].key + " is wrong";
    const Json after = (*store)->counters();
    return after.at("corrupt").get<int>() == 0 ? "" : "a killed fill left a damaged entry";
  }

  testing_support::TemporaryFolder folder_;
  std::vector<Object> objects_;
  std::vector<std::string> contents_;
};

TEST_F(CacheKillTest, NothingCorruptNothingLeft) {
  Rng rng(RngKey{.seed = 20261115});
  int killed_while_opening = 0;
  for (int i = 0; i < kKills; ++i) {
    if (i % 20 == 0) fs::remove_all(folder_ / "cache");  // the making of a folder is killed, too
    const bool opening = i % 5 == 0;
    const auto delay = std::chrono::microseconds(rng.below(opening ? 1'500 : 8'000));
    const testing::Killed killed = testing::run_and_kill(
        [&](int pipe) { return fill_until_killed(pipe, static_cast<std::uint64_t>(i)); }, delay,
        !opening);
    ASSERT_FALSE(killed.ended) << "kill " << i << ": ended by itself: " << killed.status;
    ASSERT_EQ(killed.written.find('x'), std::string::npos) << "kill " << i << ": wrong bytes";
    if (killed.written.empty()) ++killed_while_opening;
    ASSERT_EQ(inspect(), "") << "after kill " << i;
  }
  EXPECT_GT(killed_while_opening, 0);
  EXPECT_LT(killed_while_opening, kKills / 2);
}

}  // namespace
}  // namespace sluice::storage::cache_kill_test
