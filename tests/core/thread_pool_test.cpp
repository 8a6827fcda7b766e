// tests/core/thread_pool_test.cpp - every index once, exceptions passed on, calls from inside and
// from many threads.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace sluice::thread_pool_test {
namespace {

TEST(ThreadPool, HasAtLeastOneWorker) {
  EXPECT_EQ(ThreadPool(0).size(), 1U);
  EXPECT_EQ(ThreadPool(1).size(), 1U);
  EXPECT_EQ(ThreadPool(5).size(), 5U);
}

TEST(ThreadPool, CallsEveryIndexOnce) {
  for (const unsigned threads : {1U, 2U, 3U, 8U}) {
    ThreadPool pool(threads);
    for (const std::size_t n : {0U, 1U, 2U, 7U, 1000U}) {
      std::vector<int> calls(
          n, 0);  // plain ints: a second call or a missing barrier is a race for tsan
      std::atomic<bool> worker_in_range{true};
      pool.parallel_for(n, [&](std::size_t index, unsigned worker) {
        ++calls[index];
        if (worker >= threads) worker_in_range = false;
      });
      EXPECT_EQ(calls, std::vector<int>(n, 1)) << threads << " threads, " << n << " indices";
      EXPECT_TRUE(worker_in_range);
    }
  }
}

TEST(ThreadPool, APoolOfOneRunsInPlaceAndInOrder) {
  ThreadPool pool(1);
  std::vector<std::size_t> order;
  pool.parallel_for(5, [&](std::size_t index, unsigned worker) {
    EXPECT_EQ(worker, 0U);
    order.push_back(index);
  });
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
}

TEST(ThreadPool, AWorkerNumberBelongsToOneThreadAtATime) {
  ThreadPool pool(4);
  std::vector<std::uint64_t> sums(pool.size(), 0);  // unguarded on purpose: tsan tells
  for (int round = 0; round < 50; ++round) {
    pool.parallel_for(100, [&](std::size_t index, unsigned worker) { sums[worker] += index; });
  }
  std::uint64_t total = 0;
  for (const std::uint64_t sum : sums)
    total += sum;
  EXPECT_EQ(total, 50U * 4950U);
}

TEST(ThreadPool, RethrowsTheFirstExceptionAndStaysUsable) {
  for (const unsigned threads : {1U, 4U}) {
    ThreadPool pool(threads);
    std::atomic<int> after{0};
    const auto body = [&](std::size_t index, unsigned) {
      if (index == 3) throw std::runtime_error("index 3");
      ++after;
    };
    EXPECT_THROW(pool.parallel_for(1'000'000, body), std::runtime_error);
    EXPECT_LT(after.load(), 1'000'000 - 1) << "indices are no longer handed out after a failure";
    std::atomic<int> calls{0};
    pool.parallel_for(10, [&](std::size_t, unsigned) { ++calls; });
    EXPECT_EQ(calls.load(), 10);
  }
}

TEST(ThreadPool, AllBodiesMayThrowAtOnce) {
  ThreadPool pool(4);
  for (int round = 0; round < 100; ++round) {
    EXPECT_THROW(pool.parallel_for(4, [](std::size_t, unsigned) { throw 1; }), int);
  }
}

TEST(ThreadPool, ACallFromInsideABodyRunsInPlace) {
  ThreadPool pool(3);
  std::atomic<int> calls{0};
  std::atomic<bool> same_worker{true};
  pool.parallel_for(6, [&](std::size_t, unsigned outer) {
    pool.parallel_for(5, [&](std::size_t, unsigned inner) {
      ++calls;
      if (inner != outer) same_worker = false;
    });
  });
  EXPECT_EQ(calls.load(), 30);
  EXPECT_TRUE(same_worker);
}

TEST(ThreadPool, AnotherPoolMayBeUsedInside) {
  ThreadPool outer(2);
  ThreadPool inner(2);
  std::atomic<int> calls{0};
  outer.parallel_for(8, [&](std::size_t, unsigned) {
    inner.parallel_for(8, [&](std::size_t, unsigned) { ++calls; });
  });
  EXPECT_EQ(calls.load(), 64);
}

TEST(ThreadPool, CallersFromManyThreadsTakeTurns) {
  ThreadPool pool(2);
  std::atomic<int> calls{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int round = 0; round < 25; ++round)
        pool.parallel_for(10, [&](std::size_t, unsigned) { ++calls; });
    });
  }
  for (std::thread& caller : callers)
    caller.join();
  EXPECT_EQ(calls.load(), 1000);
}

}  // namespace
}  // namespace sluice::thread_pool_test
