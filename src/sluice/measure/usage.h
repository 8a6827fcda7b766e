// sluice/measure/usage.h - what the kernel counted for this process and those we measure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace sluice::measure {

struct Usage {
  std::int64_t cpu_ns = 0;  // user + system, all threads
  std::int64_t involuntary_switches = 0;
  std::int64_t major_faults = 0;
};

/// Totals since the process started.
Usage usage_now();
Usage operator-(const Usage& later, const Usage& earlier);

/// Of children that were waited for, together.
struct ChildrenUsage {
  std::int64_t cpu_ns = 0;
  std::int64_t peak_rss_bytes = 0;  // of the largest so far
};
ChildrenUsage children_usage();

/// How long the threads of this process wanted a core and had none since they started, summed;
/// nothing where the kernel does not count it. Reads a file per thread.
std::optional<std::int64_t> waited_for_cores_ns();

/// Periods in which the cgroup was throttled so far; 0 where it has no quota. Reads a file, hence
/// apart from the figures that are taken right beside a sample.
std::int64_t throttled_periods();

/// Of another process: resident bytes that are not shared with a file, what it adds to the machine.
std::optional<std::int64_t> private_bytes(std::int64_t pid);
/// The same of all that descends from this process, together; pages that forked processes share
/// count for each. 0 where the kernel does not list children.
std::int64_t descendants_private_bytes();
/// Forgets the peak so far, so that the next reading belongs to one case. False: not allowed.
bool reset_peak(std::int64_t pid);
/// Largest resident size since the last reset.
std::optional<std::int64_t> peak_bytes(std::int64_t pid);

}  // namespace sluice::measure
