// sluice/storage/cache/flights.h - one fetch for all threads that want the same entry.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/stop.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <unordered_set>

namespace sluice::storage {

/// Thread-safe. Who enters first leads and must leave; the others wait until then.
class Flights {
 public:
  /// Ends with the flight, whatever ends it.
  class Seat {
   public:
    Seat(Flights& flights, std::uint64_t key) : flights_(flights), key_(key) {
      std::unique_lock lock(flights_.mutex_);
      leads_ = flights_.keys_.insert(key_).second;
      // The leader's wait is bounded by the time limits of its store, so this one is too.
      while (!leads_ && !flights_.cancelled() && flights_.keys_.count(key_) != 0)
        flights_.landed_.wait_for(lock, kStopCheck);
    }
    ~Seat() {
      if (!leads_) return;
      const std::lock_guard lock(flights_.mutex_);
      flights_.keys_.erase(key_);
      flights_.landed_.notify_all();
    }
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;
    [[nodiscard]] bool leads() const { return leads_; }

   private:
    Flights& flights_;
    std::uint64_t key_;
    bool leads_ = false;
  };

  /// Nobody waits any longer.
  void cancel() {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    landed_.notify_all();
  }
  [[nodiscard]] bool cancelled() const { return cancelled_ || stop_requested(); }

 private:
  std::mutex mutex_;
  std::condition_variable landed_;
  std::unordered_set<std::uint64_t> keys_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace sluice::storage
