// sluice/core/thread_pool.h - a fixed set of threads that run index ranges; no allocation per call.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace sluice {

/// parallel_for(n, body) calls body(index, worker) once for every index in [0, n); indices are
/// handed out one by one, so uneven work balances. The caller works too: a pool of 1 has no thread
/// of its own and runs in place. The first exception thrown by a body is rethrown to the caller
/// after all workers have stopped.
class ThreadPool {
 public:
  explicit ThreadPool(unsigned threads);  // at least 1
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] unsigned size() const;
  void parallel_for(std::size_t n,
                    const std::function<void(std::size_t index, unsigned worker)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Cores this process may use: affinity mask and cgroup quota considered, at least 1.
unsigned usable_cores();

}  // namespace sluice
