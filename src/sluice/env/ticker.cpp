// sluice/env/ticker.cpp - the thread sleeps between two calls, and is woken to end.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/ticker.h"

#include <utility>

namespace sluice::env {

Ticker::Ticker(Interval first, std::function<Interval()> tick)
    : tick_(std::move(tick)), thread_([this, first] { run(first); }) {}

Ticker::~Ticker() {
  stop();
}

bool Ticker::stop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  if (!thread_.joinable()) return false;
  thread_.join();
  return true;
}

void Ticker::run(Interval interval) {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, interval, [this] { return ending_; })) {
    lock.unlock();
    interval = tick_();
    lock.lock();
  }
}

}  // namespace sluice::env
