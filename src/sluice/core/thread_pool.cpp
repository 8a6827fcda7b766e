// sluice/core/thread_pool.cpp - workers wait for a call, share its indices, and report back.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace sluice {

using Body = std::function<void(std::size_t, unsigned)>;

struct ThreadPool::State {
  explicit State(unsigned threads) : size(std::max(1U, threads)) {
    workers.reserve(size - 1);
    try {
      for (unsigned worker = 1; worker < size; ++worker) {
        workers.emplace_back([this, worker] { work(worker); });
      }
    } catch (...) {  // the system refused a thread: stop those that run, then tell
      stop();
      throw;
    }
  }
  ~State() { stop(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void stop() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    called.notify_all();
    for (std::thread& worker : workers)
      worker.join();
    workers.clear();
  }

  void work(unsigned worker) {
    std::uint64_t seen = 0;
    for (;;) {
      {
        std::unique_lock lock(mutex);
        called.wait(lock, [&] { return stopping || call != seen; });
        if (stopping) return;
        seen = call;
      }
      take_indices(worker);
      const std::lock_guard lock(mutex);
      if (--busy == 0) finished.notify_one();
    }
  }

  void take_indices(unsigned worker) {
    const State* const outer_pool = current_pool;
    const unsigned outer_worker = current_worker;
    current_pool = this;
    current_worker = worker;
    try {
      for (std::size_t i = next++; i < count; i = next++)
        (*body)(i, worker);
    } catch (...) {
      next = count;  // nobody takes another index
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
    current_pool = outer_pool;
    current_worker = outer_worker;
  }

  const unsigned size;
  std::vector<std::thread> workers;  // size - 1 of them: the caller is worker 0

  std::mutex one_call;  // held for the whole of a parallel_for
  std::mutex mutex;     // guards call, busy, stopping, failure
  std::condition_variable called;
  std::condition_variable finished;
  std::uint64_t call = 0;
  unsigned busy = 0;
  bool stopping = false;
  std::exception_ptr failure;

  // Set before `call` is raised under the mutex, which publishes them.
  const Body* body = nullptr;
  std::size_t count = 0;
  std::atomic<std::size_t> next{0};

  // The pool this thread is working for: a call from inside a body runs in place instead of waiting
  // for itself.
  static thread_local const State* current_pool;
  static thread_local unsigned current_worker;
};

thread_local const ThreadPool::State* ThreadPool::State::current_pool = nullptr;
thread_local unsigned ThreadPool::State::current_worker = 0;

ThreadPool::ThreadPool(unsigned threads) : state_(std::make_unique<State>(threads)) {}
ThreadPool::~ThreadPool() = default;

unsigned ThreadPool::size() const {
  return state_->size;
}

void ThreadPool::parallel_for(std::size_t n, const Body& body) {
  State& s = *state_;
  if (State::current_pool == &s) {
    for (std::size_t i = 0; i < n; ++i)
      body(i, State::current_worker);
    return;
  }
  const std::lock_guard whole_call(s.one_call);
  s.body = &body;
  s.count = n;
  s.next = 0;
  const bool alone = s.workers.empty() || n < 2;
  if (!alone) {
    {
      const std::lock_guard lock(s.mutex);
      s.busy = s.size - 1;
      ++s.call;
    }
    s.called.notify_all();
  }
  s.take_indices(0);
  std::unique_lock lock(s.mutex);
  s.finished.wait(lock, [&] { return s.busy == 0; });
  const std::exception_ptr failure = std::exchange(s.failure, nullptr);
  lock.unlock();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace sluice
