// sluice/env/ticker.h - something that is done now and then beside the work that is measured.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace sluice::env {

/// A thread that calls `tick` again and again until it is stopped.
class Ticker {
 public:
  using Interval = std::chrono::milliseconds;
  /// `first`: until the first call; a call says how long it is to the next.
  Ticker(Interval first, std::function<Interval()> tick);
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  /// Waits for a call that is being made. Whether the thread ran until now.
  bool stop();

 private:
  void run(Interval interval);

  std::function<Interval()> tick_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace sluice::env
