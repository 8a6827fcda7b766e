// sluice/measure/usage.cpp - getrusage and the cgroup's throttling counter.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/usage.h"

#include <ctime>
#include <fstream>
#include <string>
#include <sys/resource.h>

namespace sluice::measure {

std::int64_t throttled_periods() {
  std::ifstream stat("/sys/fs/cgroup/cpu.stat");
  std::string key;
  std::int64_t value = 0;
  while (stat >> key >> value) {
    if (key == "nr_throttled") return value;
  }
  return 0;
}

Usage usage_now() {
  Usage usage;
  timespec cpu{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  usage.cpu_ns = std::int64_t{cpu.tv_sec} * 1'000'000'000 + cpu.tv_nsec;
  rusage self{};
  getrusage(RUSAGE_SELF, &self);
  usage.involuntary_switches = self.ru_nivcsw;
  usage.major_faults = self.ru_majflt;
  return usage;
}

Usage operator-(const Usage& later, const Usage& earlier) {
  return Usage{later.cpu_ns - earlier.cpu_ns,
               later.involuntary_switches - earlier.involuntary_switches,
               later.major_faults - earlier.major_faults};
}

}  // namespace sluice::measure
