// tests/loader/concurrency_test.cpp - back-pressure, leases, and stopping at any moment.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/loader.h"

#include <gtest/gtest.h>

#include "tests/loader/support.h"
#include <chrono>
#include <memory>
#include <thread>

namespace sluice::loader::concurrency_test {
namespace {

using testing::must_make;
using testing::NumberDataset;
using testing::NumberRecipe;
using testing::take;

LoaderOptions options_for(int workers, int prefetch = 2) {
  LoaderOptions options;
  options.batch_size = 8;
  options.workers = workers;
  options.prefetch = prefetch;
  options.shuffle = Shuffle::none;
  options.timeout_s = 30;
  return options;
}

auto numbers(std::uint64_t size) {
  return std::make_shared<NumberDataset>(size);
}

/// All workers wait for a slot: their time is all accounted for as waiting or done.
void wait_until_full(const Loader& loader, std::uint64_t samples) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (;;) {
    std::uint64_t made = 0;
    for (const WorkerTotals& worker : loader.stats().workers)
      made += worker.samples;
    if (made >= samples) return;
    if (std::chrono::steady_clock::now() > limit) break;
    std::this_thread::yield();
  }
  FAIL() << "the ring never filled";
}

TEST(BackPressure, NoMoreIsMadeThanSlotsHold) {
  for (const int prefetch : {1, 2, 5}) {
    const auto dataset = numbers(1000);
    const auto loader =
        must_make(dataset, std::make_shared<NumberRecipe>(), options_for(4, prefetch));
    ASSERT_TRUE(loader->start_epoch(0));
    const auto full = static_cast<std::uint64_t>(prefetch) * 8;
    wait_until_full(*loader, full);
    EXPECT_EQ(dataset->reads, full);
    auto batch = loader->next();
    ASSERT_TRUE(batch && *batch);
    EXPECT_EQ(dataset->reads, full);  // still held: nothing is free
    (*batch)->release();
    wait_until_full(*loader, full + 8);
    EXPECT_EQ(dataset->reads, full + 8);
  }
}

TEST(Lease, AllSlotsHeldIsAnErrorNotADeadlock) {
  for (const int workers : {0, 2}) {
    const auto loader =
        must_make(numbers(100), std::make_shared<NumberRecipe>(), options_for(workers));
    auto first = loader->next();
    auto second = loader->next();
    ASSERT_TRUE(first && *first && second && *second);
    const auto third = loader->next();
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code, Errc::usage);
    (*first)->release();
    auto again = loader->next();
    ASSERT_TRUE(again && *again);
    EXPECT_EQ((*again)->indices()[0], 16U);
    EXPECT_EQ((*second)->indices()[0], 8U);  // untouched
  }
}

TEST(Lease, OutlivesTheLoader) {
  Batch kept;
  {
    const auto loader = must_make(numbers(100), std::make_shared<NumberRecipe>(), options_for(2));
    kept = std::move(**loader->next());
  }
  EXPECT_EQ(kept.size(), 8U);
  EXPECT_EQ(kept.shape(), (std::array<std::int64_t, 4>{8, 2, 2, 4}));
  EXPECT_EQ(kept.strides(), (std::array<std::int64_t, 4>{16, 8, 4, 1}));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(kept.data().data()) % 4096, 0U);
  const auto want = NumberRecipe::content({0, 0, 3});
  EXPECT_EQ(std::memcmp(kept.sample(3).data(), want.data(), want.size() * 4), 0);
}

class ScriptedEvent final : public SlotEvent {
 public:
  [[nodiscard]] bool ready() override { return ready_; }
  void wait() override { ready_ = waited = true; }
  bool ready_ = false, waited = false;
};

TEST(Lease, AnEventKeepsTheSlotBack) {
  const auto dataset = numbers(1000);
  const auto loader = must_make(dataset, std::make_shared<NumberRecipe>(), options_for(2));
  const auto event = std::make_shared<ScriptedEvent>();
  {
    auto batch = loader->next();
    ASSERT_TRUE(batch && *batch);
    (*batch)->set_event(event);
  }
  wait_until_full(*loader, 16);
  EXPECT_EQ(dataset->reads, 16U);  // released, but the copy is not through
  auto second = loader->next();
  ASSERT_TRUE(second && *second);
  EXPECT_FALSE(event->waited);
  auto third = loader->next();  // needs the slot: waits for the event
  ASSERT_TRUE(third && *third);
  EXPECT_TRUE(event->waited);
  EXPECT_EQ((*third)->indices()[0], 16U);
}

TEST(Stop, AtAnyBatch) {
  for (const int workers : {0, 1, 4})
    for (std::uint64_t after = 0; after < 6; ++after) {
      const auto loader =
          must_make(numbers(1000), std::make_shared<NumberRecipe>(), options_for(workers, 3));
      (void)take(*loader, after);
      loader->stop();
      const auto next = loader->next();
      ASSERT_FALSE(next);
      EXPECT_EQ(next.error().code, Errc::interrupted);
      EXPECT_FALSE(loader->start_epoch(1));
      loader->stop();  // again does no harm
    }
}

TEST(Stop, BeforeTheStart) {
  const auto loader = must_make(numbers(100), std::make_shared<NumberRecipe>(), options_for(4));
  loader->stop();
  EXPECT_FALSE(loader->next());
}

TEST(Stop, InTheMiddleOfASlowRead) {
  for (const int workers : {1, 4}) {
    const auto dataset = numbers(1000);
    dataset->blocked = {5};
    const auto loader = must_make(dataset, std::make_shared<NumberRecipe>(), options_for(workers));
    ASSERT_TRUE(loader->start_epoch(0));
    ASSERT_TRUE(dataset->entered.wait());
    loader->stop();  // the gate is never opened: only cancel() gets it out
    EXPECT_TRUE(dataset->cancelled());
  }
}

TEST(Stop, FromAnotherThreadWhileTheConsumerWaits) {
  for (const int workers : {0, 3}) {
    const auto dataset = numbers(1000);
    dataset->blocked = {2};
    const auto loader = must_make(dataset, std::make_shared<NumberRecipe>(), options_for(workers));
    std::thread other([&] {
      EXPECT_TRUE(dataset->entered.wait());
      loader->stop();
    });
    const auto next = loader->next();
    other.join();
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().code, Errc::interrupted);
  }
}

TEST(Stop, LeavesAQuickDatasetAlone) {
  const auto dataset = numbers(1000);
  for (int i = 0; i < 3; ++i) {
    const auto loader = must_make(dataset, std::make_shared<NumberRecipe>(), options_for(4));
    EXPECT_EQ(take(*loader, 2).all().size(), 16U);
  }
  EXPECT_FALSE(dataset->cancelled());
}

TEST(Restart, DropsWhatIsBeingMade) {
  const auto dataset = numbers(1000);
  dataset->blocked = {20};
  const auto loader = must_make(dataset, std::make_shared<NumberRecipe>(), options_for(3, 4));
  ASSERT_TRUE(loader->start_epoch(0));
  ASSERT_TRUE(dataset->entered.wait());
  std::thread helper([&] { dataset->let_go(); });
  ASSERT_TRUE(loader->start_epoch(7));  // waits for the read in flight
  helper.join();
  const auto seen = take(*loader, 2);
  EXPECT_EQ(seen.all()[0], 0U);
  const auto want = NumberRecipe::content({0, 7, 0});
  EXPECT_EQ(std::memcmp(seen.bytes[0].data(), want.data(), 16), 0);
}

TEST(Timeout, OfNextNamesWhatIsSlow) {
  const auto dataset = numbers(1000);
  dataset->blocked = {3};
  LoaderOptions options = options_for(1);
  options.timeout_s = 0.01;
  const auto loader = must_make(dataset, std::make_shared<NumberRecipe>(), options);
  ASSERT_TRUE(loader->start_epoch(0));
  ASSERT_TRUE(dataset->entered.wait());
  const auto next = loader->next();
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, Errc::timeout);
  EXPECT_EQ(next.error().message, "no batch in 0.01 s; worker at: read n/3");
  dataset->let_go();
}

// Many short lives under many shapes: what tsan looks at, and what would hang on a lost wake-up.
TEST(Stress, ManyLivesEndWell) {
  const auto dataset = numbers(200);
  const auto recipe = std::make_shared<NumberRecipe>();
  Rng rng({.seed = 5});
  for (int life = 0; life < 60; ++life) {
    LoaderOptions options =
        options_for(static_cast<int>(rng.below(7)), 1 + static_cast<int>(rng.below(4)));
    options.batch_size = 1 + static_cast<std::uint32_t>(rng.below(30));
    options.drop_last = rng.below(2) == 0;
    options.persistent_workers = rng.below(3) > 0;
    const auto loader = must_make(dataset, recipe, options);
    for (std::uint64_t epoch = 0; epoch < rng.below(4); ++epoch) {
      ASSERT_TRUE(loader->start_epoch(epoch));
      (void)take(*loader, rng.below(2) == 0 ? 1000 : rng.below(12));
    }
  }
}

}  // namespace
}  // namespace sluice::loader::concurrency_test
