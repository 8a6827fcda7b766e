// sluice/measure/clock.cpp - the system's monotonic clock.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/clock.h"

#include <ctime>

namespace sluice::measure {

std::int64_t SystemClock::now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace sluice::measure
