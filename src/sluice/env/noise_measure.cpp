// sluice/env/noise_measure.cpp - runs a fixed loop and reads the kernel's counters before and after
// it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/stop.h"
#include "sluice/core/text.h"
#include "sluice/env/core_time.h"
#include "sluice/env/machine.h"
#include "sluice/env/noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <unistd.h>

namespace sluice::env {
namespace {

class SystemNoiseClock final : public NoiseClock {
 public:
  std::int64_t now_ns() override { return read(CLOCK_MONOTONIC); }
  std::int64_t thread_cpu_ns() override { return read(CLOCK_THREAD_CPUTIME_ID); }
  std::int64_t process_cpu_ns() override { return read(CLOCK_PROCESS_CPUTIME_ID); }

 private:
  static std::int64_t read(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }
};

// A chain of dependent integer steps: no memory, no branch, nothing a compiler can shorten.
std::uint64_t spin(std::int64_t steps, std::uint64_t x) {
  for (std::int64_t i = 0; i < steps; ++i) {
    x ^= x << 13U;
    x ^= x >> 7U;
    x ^= x << 17U;
  }
  return x;
}

// Ticks of the allowed cores since boot, and pages swapped, and throttling: all only ever grow.
struct Counters {
  Known<double> busy_s, steal_s;
  Known<std::int64_t> swapped_pages, thermal, cgroup;
};

Counters read_counters(const SystemRoot& root, const std::vector<int>& cpus) {
  Counters counters;
  const CoreTime time = core_time(root, cpus);
  counters.busy_s = time.busy_s;
  counters.steal_s = time.steal_s;
  const auto vmstat = root.read("/proc/vmstat", 1 << 20);
  const auto in = find_field(vmstat.value_or(""), "pswpin");
  const auto out = find_field(vmstat.value_or(""), "pswpout");
  const auto pages_in = in ? parse_int(*in) : std::nullopt;
  const auto pages_out = out ? parse_int(*out) : std::nullopt;
  counters.swapped_pages =
      pages_in && pages_out
          ? Known<std::int64_t>(*pages_in + *pages_out)
          : Known<std::int64_t>::unknown(vmstat ? "/proc/vmstat does not count swapped pages"
                                                : vmstat.reason);
  counters.thermal =
      Known<std::int64_t>::unknown("the kernel does not count thermal throttling here");
  for (const int cpu : cpus) {
    const auto count = root.read_int(
        fmt::format("/sys/devices/system/cpu/cpu{}/thermal_throttle/core_throttle_count", cpu));
    if (count) counters.thermal = counters.thermal.value_or(0) + *count;
  }
  counters.cgroup = read_cgroup_limits(root).throttled_periods;
  return counters;
}

Known<std::int64_t> increase(const Known<std::int64_t>& before, const Known<std::int64_t>& after) {
  if (!before || !after) return Known<std::int64_t>::unknown(before ? after.reason : before.reason);
  return std::max<std::int64_t>(*after - *before, 0);
}

void read_load(const SystemRoot& root, NoiseFacts& facts) {
  const auto text = root.read("/proc/loadavg", 256);
  const std::vector<std::string> parts = split(text.value_or(""), ' ');
  const std::string why = text ? "/proc/loadavg is not in the usual form" : text.reason;
  facts.load_1min = Known<double>::unknown(why);
  facts.runnable_others = Known<std::int64_t>::unknown(why);
  if (parts.size() < 4) return;
  // Two decimals always; the decimal point does not depend on the locale here.
  const auto point = parts[0].find('.');
  const auto whole = parse_int(std::string_view(parts[0]).substr(0, point));
  const auto cents = point == std::string::npos
                         ? std::nullopt
                         : parse_int(std::string_view(parts[0]).substr(point + 1));
  if (whole && cents && parts[0].size() == point + 3) {
    facts.load_1min = static_cast<double>(*whole) + static_cast<double>(*cents) / 100;
  }
  if (const auto runnable = parse_int(parts[3].substr(0, parts[3].find('/')))) {
    facts.runnable_others = std::max<std::int64_t>(*runnable - 1, 0);
  }
}

Known<double> timer_resolution(NoiseClock& clock) {
  constexpr int kReads = 2000;
  std::int64_t smallest = 0;
  std::int64_t last = clock.now_ns();
  for (int i = 0; i < kReads; ++i) {
    const std::int64_t now = clock.now_ns();
    if (now > last && (smallest == 0 || now - last < smallest)) smallest = now - last;
    last = now;
  }
  if (smallest == 0) return Known<double>::unknown("the monotonic clock did not move");
  return static_cast<double>(smallest);
}

// Steps of spin() that take about pass_ns; bounded, so that a clock that stands still ends it too.
std::int64_t calibrate(NoiseClock& clock, std::int64_t pass_ns, std::uint64_t& state) {
  std::int64_t steps = 1024;
  for (int doublings = 0; doublings < 14; ++doublings, steps *= 2) {
    const std::int64_t begin = clock.now_ns();
    state = spin(steps, state);
    const std::int64_t elapsed = clock.now_ns() - begin;
    if (elapsed < pass_ns / 8) continue;
    const double scale = static_cast<double>(pass_ns) / static_cast<double>(elapsed);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(steps) * scale));
  }
  return steps;
}

void measure_loop(const NoiseOptions& options, NoiseClock& clock, NoiseFacts& facts) {
  std::uint64_t state = 0x9e3779b97f4a7c15U;
  const std::int64_t steps = calibrate(clock, options.pass_ns, state);
  std::vector<std::int64_t> passes;
  passes.reserve(static_cast<std::size_t>(std::max(options.passes, 1)));
  const std::int64_t begin = clock.now_ns();
  const std::int64_t cpu_begin = clock.thread_cpu_ns();
  std::int64_t end = begin;
  do {
    const std::int64_t start = clock.now_ns();
    state = spin(steps, state);
    end = clock.now_ns();
    passes.push_back(end - start);
  } while (static_cast<int>(passes.size()) < options.passes && end - begin < options.budget_ns &&
           !stop_requested());
  const std::int64_t cpu = clock.thread_cpu_ns() - cpu_begin;
  volatile std::uint64_t keep = state;  // the loop has a result that is used
  (void)keep;

  std::sort(passes.begin(), passes.end());
  const auto at = [&](double quantile) {
    const double position = quantile * static_cast<double>(passes.size() - 1);
    return static_cast<double>(passes[static_cast<std::size_t>(std::lround(position))]);
  };
  if (at(0.5) <= 0) {
    facts.loop_p50_ns = facts.loop_p99_over_p50 = facts.loop_max_over_p50 = facts.preempted =
        Known<double>::unknown("the monotonic clock did not move");
    return;
  }
  facts.loop_p50_ns = at(0.5);
  facts.loop_p99_over_p50 = at(0.99) / at(0.5);
  facts.loop_max_over_p50 = at(1.0) / at(0.5);
  const double ran = static_cast<double>(cpu) / static_cast<double>(end - begin);
  facts.preempted = std::clamp(1 - ran, 0.0, 1.0);
}

}  // namespace

NoiseClock& system_noise_clock() {
  static SystemNoiseClock clock;
  return clock;
}

NoiseFacts measure_noise(const NoiseOptions& options, NoiseClock& clock) {
  NoiseFacts facts;
  const std::vector<int> cpus = allowed_cpus(options.root);
  const Counters before = read_counters(options.root, cpus);
  const std::int64_t cpu_begin = clock.process_cpu_ns();
  const std::int64_t begin = clock.now_ns();
  facts.timer_resolution_ns = timer_resolution(clock);
  measure_loop(options, clock, facts);
  const std::int64_t end = clock.now_ns();
  const double own_s = static_cast<double>(clock.process_cpu_ns() - cpu_begin) * 1e-9;
  const Counters after = read_counters(options.root, cpus);

  facts.duration_s = static_cast<double>(end - begin) * 1e-9;
  facts.steal = share_of_cores(before.steal_s, after.steal_s, 0, facts.duration_s, cpus.size());
  facts.others = share_of_cores(before.busy_s, after.busy_s, own_s, facts.duration_s, cpus.size());
  facts.swapped_pages = increase(before.swapped_pages, after.swapped_pages);
  facts.thermal_throttles = increase(before.thermal, after.thermal);
  facts.cgroup_throttles = increase(before.cgroup, after.cgroup);
  read_load(options.root, facts);
  const Frequency frequency = read_frequency(options.root);
  facts.governor = frequency.governor;
  facts.turbo = frequency.turbo;
  if (frequency.min_khz && frequency.max_khz && *frequency.min_khz > 0) {
    facts.max_over_min_frequency =
        static_cast<double>(*frequency.max_khz) / static_cast<double>(*frequency.min_khz);
  } else {
    facts.max_over_min_frequency = Known<double>::unknown(
        frequency.min_khz ? frequency.max_khz.reason : frequency.min_khz.reason);
  }
  return facts;
}

NoiseReport noise_check(const NoiseOptions& options, NoiseClock& clock) {
  return score_noise(measure_noise(options, clock));
}

}  // namespace sluice::env
