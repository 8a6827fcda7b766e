// tests/loader/copy_feed_test.cpp - batches copied to a GPU: order, states, errors, memory and who
// has it. The driver is fake_cuda.cpp, which is as late as it may be; its streams, and what Python
// sees, are tested by tests/python/device_test.py.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/gpu/copy_feed.h"

#include <gtest/gtest.h>

#include "tests/loader/support.h"
#include "tests/places.h"
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

namespace sluice::loader::gpu::copy_feed_test {
namespace {

using loader::testing::must_make;
using loader::testing::NumberDataset;
using loader::testing::NumberRecipe;
using loader::testing::Seen;
using loader::testing::take;

LoaderOptions options_for(int workers) {
  LoaderOptions options;
  options.batch_size = 8;
  options.workers = workers;
  options.prefetch = 4;
  options.seed = 3;
  options.drop_last = false;
  options.timeout_s = 30;
  return options;
}

/// A loader with pinned slots, and what copies its batches.
struct Made {
  std::unique_ptr<Loader> loader;
  std::unique_ptr<CopyFeed> feed;
};

class CopyFeedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto driver = testing_support::build_dir() / "tests" / "loader" / "libfake_cuda.so";
    ::setenv("SLUICE_CUDA_DRIVER", driver.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }

  static Made make(std::uint64_t samples, int workers) {
    return make(std::make_shared<NumberDataset>(samples), workers, std::make_shared<NumberRecipe>(),
                Shuffle::full);
  }
  static Made make(std::shared_ptr<NumberDataset> dataset, int workers,
                   std::shared_ptr<NumberRecipe> recipe, Shuffle shuffle) {
    const auto device = Device::open(1, "device is 'cuda:1'", "cpu");
    EXPECT_TRUE(device) << device.error().message;
    LoaderOptions options = options_for(workers);
    options.shuffle = shuffle;
    options.pin_memory = true;
    options.pinned_allocator = (*device)->pinned_allocator();
    Made made;
    made.loader = must_make(std::move(dataset), std::move(recipe), options);
    made.feed = std::make_unique<CopyFeed>(*device, *made.loader);
    EXPECT_TRUE(made.feed->open());
    return made;
  }

  static std::shared_ptr<Arrival> next(CopyFeed& feed) {
    auto taken = feed.next();
    EXPECT_TRUE(taken) << taken.error().message;
    return taken ? *taken : nullptr;
  }

  static void add(Seen& seen, Arrival& arrival) {
    seen.indices.push_back(arrival.indices());
    const auto count = static_cast<std::size_t>(arrival.shape()[0]);
    std::vector<std::byte> images(count * 16);
    std::vector<std::int64_t> labels(count);
    EXPECT_TRUE(arrival.download(images, arrival.images()));
    EXPECT_TRUE(arrival.download(std::as_writable_bytes(std::span(labels)), arrival.labels()));
    seen.bytes.push_back(std::move(images));
    seen.labels.push_back(std::move(labels));
  }

  static Seen drain(CopyFeed& feed) {
    Seen seen;
    while (const auto arrival = next(feed))
      add(seen, *arrival);
    return seen;
  }
};

TEST_F(CopyFeedTest, EpochsAndStatesAreTheLoaders) {
  for (const int workers : {0, 1, 3}) {
    const auto plain = must_make(std::make_shared<NumberDataset>(61),
                                 std::make_shared<NumberRecipe>(), options_for(workers));
    Made made = make(61, workers);
    for (const std::uint64_t epoch : {0U, 1U, 5U}) {
      ASSERT_TRUE(plain->start_epoch(epoch));
      ASSERT_TRUE(made.feed->start_epoch(epoch));
      Seen want;
      Seen seen;
      for (;;) {
        EXPECT_EQ(made.feed->state(), plain->state());
        auto batch = plain->next();
        ASSERT_TRUE(batch);
        const auto arrival = next(*made.feed);
        ASSERT_EQ(arrival == nullptr, !*batch);
        if (arrival == nullptr) break;
        want.add(**batch);
        add(seen, *arrival);
      }
      EXPECT_EQ(seen, want);
      EXPECT_EQ(made.feed->state(), plain->state());
    }
  }
}

TEST_F(CopyFeedTest, AStateGoesOnWhereItWas) {
  Made first = make(61, 2);
  for (int taken = 0; taken < 8; ++taken) {
    ASSERT_TRUE(first.feed->start_epoch(2));
    for (int i = 0; i < taken; ++i)
      ASSERT_NE(next(*first.feed), nullptr);
    const LoaderState state = first.feed->state();
    const Seen rest = drain(*first.feed);
    Made second = make(61, 1);
    ASSERT_TRUE(second.feed->restore(state));
    EXPECT_EQ(second.feed->state(), state);
    EXPECT_EQ(drain(*second.feed), rest);
  }
}

TEST_F(CopyFeedTest, AnErrorComesAfterTheBatchesBeforeIt) {
  for (const int workers : {0, 2}) {
    const auto recipe = std::make_shared<NumberRecipe>();
    recipe->corrupt = {26};  // of the fourth batch
    Made made = make(std::make_shared<NumberDataset>(61), workers, recipe, Shuffle::none);
    for (int i = 0; i < 3; ++i)
      ASSERT_NE(next(*made.feed), nullptr);
    const auto failed = made.feed->next();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message, "n/26: not a number");
    ASSERT_TRUE(made.feed->start_epoch(1));
    EXPECT_NE(next(*made.feed), nullptr);
  }
}

TEST_F(CopyFeedTest, BatchesMayBeHeldAndTheirMemoryGoesBack) {
  Made made = make(80, 2);
  std::vector<std::shared_ptr<Arrival>> held;
  while (auto arrival = next(*made.feed))
    held.push_back(std::move(arrival));
  ASSERT_EQ(held.size(), 10U);
  constexpr std::size_t kPlace = 256 + 8 * sizeof(std::int64_t);  // images, then labels
  EXPECT_GE(made.feed->device_bytes(), 10 * kPlace);
  Seen seen;
  for (const auto& arrival : held)
    add(seen, *arrival);
  held.clear();
  ASSERT_TRUE(made.feed->start_epoch(0));
  EXPECT_EQ(drain(*made.feed), seen);
  EXPECT_LE(made.feed->device_bytes(), 5 * kPlace);
  ASSERT_TRUE(made.feed->start_epoch(1));
  const auto last = next(*made.feed);
  Seen before;
  add(before, *last);
  made.loader->stop();
  made.feed->close();
  EXPECT_EQ(made.feed->device_bytes(), kPlace);
  made.feed.reset();
  made.loader.reset();
  Seen after;  // its memory is still there
  add(after, *last);
  EXPECT_EQ(after, before);
}

TEST_F(CopyFeedTest, AnyThreadMayLetGo) {
  Made made = make(400, 3);
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Arrival>> given;
  bool ended = false;
  Seen seen;
  std::thread other([&] {
    for (;;) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return ended || !given.empty(); });
      if (given.empty()) return;
      const auto arrival = std::move(given.front());
      given.pop_front();
      lock.unlock();
      add(seen, *arrival);
    }
  });
  for (int epoch = 0; epoch < 2; ++epoch) {
    ASSERT_TRUE(made.feed->start_epoch(static_cast<std::uint64_t>(epoch)));
    while (auto arrival = next(*made.feed)) {
      std::lock_guard lock(mutex);
      given.push_back(std::move(arrival));
      changed.notify_all();
    }
  }
  {
    std::lock_guard lock(mutex);
    ended = true;
  }
  changed.notify_all();
  other.join();
  const auto plain = must_make(std::make_shared<NumberDataset>(400),
                               std::make_shared<NumberRecipe>(), options_for(2));
  Seen want = take(*plain);
  ASSERT_TRUE(plain->start_epoch(1));
  const Seen second = take(*plain);
  want.indices.insert(want.indices.end(), second.indices.begin(), second.indices.end());
  want.bytes.insert(want.bytes.end(), second.bytes.begin(), second.bytes.end());
  want.labels.insert(want.labels.end(), second.labels.begin(), second.labels.end());
  EXPECT_EQ(seen, want);
}

TEST_F(CopyFeedTest, AConsumerThatGivesUpLosesNothing) {
  const auto dataset = std::make_shared<NumberDataset>(40);
  dataset->blocked = {9};
  Made made = make(dataset, 2, std::make_shared<NumberRecipe>(), Shuffle::none);
  ASSERT_NE(next(*made.feed), nullptr);
  const auto given_up = made.feed->next([] { return false; });
  ASSERT_FALSE(given_up);
  EXPECT_EQ(given_up.error().code, Errc::interrupted);
  dataset->let_go();
  const Seen rest = drain(*made.feed);
  ASSERT_EQ(rest.indices.size(), 4U);
  EXPECT_EQ(rest.indices[0][1], 9U);
}

}  // namespace
}  // namespace sluice::loader::gpu::copy_feed_test
