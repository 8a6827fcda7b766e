// sluice/env/core_time.cpp - /proc/stat, summed over cores.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/core_time.h"

#include "sluice/core/text.h"

#include <algorithm>
#include <string>
#include <unistd.h>

namespace sluice::env {
namespace {

double tick_s() {
  return 1.0 / static_cast<double>(std::max(1L, ::sysconf(_SC_CLK_TCK)));
}

}  // namespace

CoreTime core_time(const SystemRoot& root, const std::vector<int>& cpus) {
  const auto text = root.read("/proc/stat", 1 << 20);
  CoreTime time;
  time.busy_s = time.steal_s =
      Known<double>::unknown(text ? "/proc/stat has no line for the allowed cores" : text.reason);
  double busy = 0;
  double steal = 0;
  bool found = false;
  for (const std::string& line : split(text.value_or(""), '\n')) {
    // cpu3 user nice system idle iowait irq softirq steal guest guest_nice
    std::vector<std::string> parts = split(line, ' ');
    if (parts.size() < 9 || !parts[0].starts_with("cpu")) continue;
    const auto cpu = parse_int(std::string_view(parts[0]).substr(3));
    if (!cpu || !std::binary_search(cpus.begin(), cpus.end(), static_cast<int>(*cpu))) continue;
    const auto ticks = [&](std::size_t i) {
      return static_cast<double>(parse_int(parts[i]).value_or(0));
    };
    busy += ticks(1) + ticks(2) + ticks(3) + ticks(6) + ticks(7);
    steal += ticks(8);
    found = true;
  }
  if (!found) return time;
  time.busy_s = busy * tick_s();
  time.steal_s = steal * tick_s();
  return time;
}

Known<double> share_of_cores(const Known<double>& before, const Known<double>& after,
                             double without_s, double elapsed_s, std::size_t cores) {
  if (!before || !after) return Known<double>::unknown(before ? after.reason : before.reason);
  if (elapsed_s <= 0) return Known<double>::unknown("the check took no time");
  const double used_s = *after - *before - without_s;
  if (used_s < 1.5 * tick_s()) return 0.0;
  return std::min(1.0, used_s / (elapsed_s * static_cast<double>(cores)));
}

}  // namespace sluice::env
