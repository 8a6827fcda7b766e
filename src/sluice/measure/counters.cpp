// sluice/measure/counters.cpp - perf_event_open, one descriptor per counter (groups cannot be
// inherited).
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/counters.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sluice::measure {
namespace {

constexpr std::array<std::uint64_t, 4> kEvents{PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
                                               PERF_COUNT_HW_CACHE_MISSES,
                                               PERF_COUNT_HW_BRANCH_MISSES};

int open_event(std::uint64_t event) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_HARDWARE;
  attr.size = sizeof attr;
  attr.config = event;
  attr.disabled = 1;
  attr.inherit = 1;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

/// Scaled for the share of time the counter was really on a register.
bool read_event(int fd, std::uint64_t& value) {
  std::array<std::uint64_t, 3> raw{};  // value, enabled, running
  if (::read(fd, raw.data(), sizeof raw) != static_cast<ssize_t>(sizeof raw) || raw[2] == 0)
    return false;
  value = static_cast<std::uint64_t>(static_cast<double>(raw[0]) * static_cast<double>(raw[1]) /
                                     static_cast<double>(raw[2]));
  return true;
}

}  // namespace

CounterSet::CounterSet() {
  for (std::size_t i = 0; i < fds_.size(); ++i) {
    fds_[i] = open_event(kEvents[i]);
    if (fds_[i] < 0) {
      reason_ = fmt::format("perf_event_open: {}", std::strerror(errno));
      return;
    }
  }
}

CounterSet::~CounterSet() {
  for (const int fd : fds_) {
    if (fd >= 0) close(fd);
  }
}

void CounterSet::start() {
  if (!reason_.empty()) return;
  for (const int fd : fds_)
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

void CounterSet::stop() {
  if (!reason_.empty()) return;
  for (const int fd : fds_)
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

Measured<HardwareCounters> CounterSet::read() const {
  if (!reason_.empty()) return {std::nullopt, reason_};
  HardwareCounters counters;
  const bool all =
      read_event(fds_[0], counters.cycles) && read_event(fds_[1], counters.instructions) &&
      read_event(fds_[2], counters.cache_misses) && read_event(fds_[3], counters.branch_misses);
  if (!all) return {std::nullopt, "the counters were never scheduled"};
  return {counters, ""};
}

}  // namespace sluice::measure
