// sluice/measure/usage.cpp - getrusage, the cgroup's throttling counter, /proc of other processes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/usage.h"

#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace sluice::measure {
namespace {

std::optional<std::int64_t> status_kib(std::int64_t pid, const std::string& key) {
  std::ifstream in(fmt::format("/proc/{}/status", pid));
  std::string word;
  while (in >> word) {
    std::int64_t value = 0;
    if (word == key && in >> value) return value * 1024;
    std::getline(in, word);
  }
  return std::nullopt;
}

}  // namespace

std::int64_t throttled_periods() {
  std::ifstream stat("/sys/fs/cgroup/cpu.stat");
  std::string key;
  std::int64_t value = 0;
  while (stat >> key >> value) {
    if (key == "nr_throttled") return value;
  }
  return 0;
}

std::optional<std::int64_t> waited_for_cores_ns() {
  std::error_code code;
  std::filesystem::directory_iterator task("/proc/self/task", code);
  std::int64_t sum = 0;
  bool counted = false;
  for (; !code && task != std::filesystem::directory_iterator(); task.increment(code)) {
    std::ifstream stat(task->path() / "schedstat");  // ran ns, waited ns, time slices
    std::int64_t ran = 0;
    std::int64_t waited = 0;
    if (!(stat >> ran >> waited)) continue;  // the thread is gone
    sum += waited;
    counted = true;
  }
  return counted ? std::optional(sum) : std::nullopt;
}

ChildrenUsage children_usage() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto ns = [](const timeval& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + std::int64_t{time.tv_usec} * 1000;
  };
  return {ns(usage.ru_utime) + ns(usage.ru_stime), std::int64_t{usage.ru_maxrss} * 1024};
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

std::optional<std::int64_t> private_bytes(std::int64_t pid) {
  return status_kib(pid, "RssAnon:");
}

std::int64_t descendants_private_bytes() {
  constexpr std::size_t kMost = 10'000;  // processes, if the tree grows while it is walked
  std::int64_t sum = 0;
  std::vector<std::int64_t> tree{getpid()};
  for (std::size_t i = 0; i < tree.size() && tree.size() < kMost; ++i) {
    if (i > 0) sum += private_bytes(tree[i]).value_or(0);
    std::error_code code;
    std::filesystem::directory_iterator task(fmt::format("/proc/{}/task", tree[i]), code);
    for (; !code && task != std::filesystem::directory_iterator(); task.increment(code)) {
      std::ifstream children(task->path() / "children");
      for (std::int64_t pid = 0; children >> pid;)
        tree.push_back(pid);
    }
  }
  return sum;
}

bool reset_peak(std::int64_t pid) {
  std::ofstream out(fmt::format("/proc/{}/clear_refs", pid));
  out << "5\n";
  return static_cast<bool>(out.flush());
}

std::optional<std::int64_t> peak_bytes(std::int64_t pid) {
  return status_kib(pid, "VmHWM:");
}

}  // namespace sluice::measure
