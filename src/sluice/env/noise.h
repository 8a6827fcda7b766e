// sluice/env/noise.h - is this machine quiet enough to measure on, and if not, what to do about it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/env/known.h"
#include "sluice/env/system_root.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::env {

/// What the check measured; everything counted is the change during the check.
struct NoiseFacts {
  double duration_s = 0;
  Known<double> timer_resolution_ns;  // smallest step of the monotonic clock that was seen
  Known<double> loop_p50_ns;          // one pass of a fixed loop of integer arithmetic
  Known<double> loop_p99_over_p50;
  Known<double> loop_max_over_p50;
  Known<double> preempted;              // share of the loop's wall time in which it did not run
  Known<double> steal;                  // share of the allowed cores' time the hypervisor kept
  Known<double> others;                 // share of the allowed cores' time other processes used
  Known<std::int64_t> runnable_others;  // tasks wanting a core at the end of the check, without us
  Known<double> load_1min;
  Known<std::string> governor;
  Known<double> max_over_min_frequency;
  Known<bool> turbo;
  Known<std::int64_t> swapped_pages;
  Known<std::int64_t> thermal_throttles;
  Known<std::int64_t> cgroup_throttles;
};

enum class Severity { info, warning, critical };
enum class NoiseVerdict { quiet, usable, noisy };

struct Finding {
  std::string check;  // "jitter", "steal", ...
  Severity severity = Severity::info;
  int points = 0;      // taken from the score; critical from 41 on, which alone makes `noisy`
  std::string value;   // "p99 is 1.31 × the median"
  std::string advice;  // one sentence: what to do
};

struct NoiseReport {
  NoiseFacts facts;
  int score = 100;  // 0 to 100; formula: docs/env.md
  NoiseVerdict verdict = NoiseVerdict::quiet;
  std::vector<Finding> findings;  // most points first
};

/// Nanoseconds; tests script it.
class NoiseClock {
 public:
  virtual ~NoiseClock() = default;
  virtual std::int64_t now_ns() = 0;          // monotonic
  virtual std::int64_t thread_cpu_ns() = 0;   // used by the calling thread
  virtual std::int64_t process_cpu_ns() = 0;  // used by all threads of this process
};
NoiseClock& system_noise_clock();

struct NoiseOptions {
  int passes = 200;  // of the fixed loop, each about pass_ns long; at least 1
  std::int64_t pass_ns = 1'000'000;
  std::int64_t budget_ns = 350'000'000;  // no pass starts after it
  SystemRoot root{};
};

NoiseFacts measure_noise(const NoiseOptions& options, NoiseClock& clock);
/// Pure: the same facts give the same report.
NoiseReport score_noise(const NoiseFacts& facts);
/// Both. Keeps one core busy for under half a second.
NoiseReport noise_check(const NoiseOptions& options = {}, NoiseClock& clock = system_noise_clock());

Json to_json(const NoiseReport& report);
const char* to_string(Severity severity);
const char* to_string(NoiseVerdict verdict);

}  // namespace sluice::env
