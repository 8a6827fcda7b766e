// sluice/measure/counters.h - hardware counters of this process and its threads, where the kernel
// allows them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/record.h"

#include <array>
#include <string>

namespace sluice::measure {

/// Open before the subject starts threads: they are inherited. Counts only between start() and
/// stop().
class CounterSet {
 public:
  CounterSet();
  ~CounterSet();
  CounterSet(const CounterSet&) = delete;
  CounterSet& operator=(const CounterSet&) = delete;

  void start();
  void stop();
  /// Totals over all start/stop pairs, or the reason why there are none.
  [[nodiscard]] Measured<HardwareCounters> read() const;

 private:
  std::array<int, 4> fds_{-1, -1, -1, -1};
  std::string reason_;
};

}  // namespace sluice::measure
