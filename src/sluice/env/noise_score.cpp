// sluice/env/noise_score.cpp - from what was measured to points, findings and a verdict. Pure.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::env {
namespace {

constexpr int kMostPoints = 45;  // of one check: enough for `noisy` by itself
constexpr int kCriticalPoints = 41;
constexpr int kQuietScore = 85;
constexpr int kUsableScore = 60;

// `per_unit` points for every unit of `value` above `free`, at most `most`.
int points_above(double value, double free, double per_unit, int most = kMostPoints) {
  const double points = (value - free) * per_unit;
  if (!(points > 0)) return 0;
  return static_cast<int>(std::lround(std::min(points, static_cast<double>(most))));
}

class Scorer {
 public:
  explicit Scorer(NoiseReport& report) : report_(report) {}
  /// A finding with 0 points is dropped: nothing is wrong.
  void add(const char* check, int points, std::string value, const char* advice) {
    if (points <= 0) return;
    Finding finding;
    finding.check = check;
    finding.severity = points >= kCriticalPoints ? Severity::critical : Severity::warning;
    finding.points = points;
    finding.value = std::move(value);
    finding.advice = advice;
    report_.findings.push_back(std::move(finding));
  }

 private:
  NoiseReport& report_;
};

void score_loop(const NoiseFacts& facts, Scorer& scorer) {
  if (facts.timer_resolution_ns) {
    const double ns = *facts.timer_resolution_ns;
    scorer.add("timer",
               ns > 1000  ? kMostPoints
               : ns > 100 ? 10
                          : 0,
               fmt::format("the clock steps by {:.0f} ns", ns),
               "Choose a finer clock source: see /sys/devices/system/clocksource/clocksource0/"
               "available_clocksource and prefer tsc.");
  }
  if (facts.loop_p99_over_p50) {
    scorer.add("jitter", points_above(*facts.loop_p99_over_p50, 1.05, 100),
               fmt::format("p99 of a fixed loop is {:.2f} x its median", *facts.loop_p99_over_p50),
               "Stop other programs, or pin the measurement to idle cores with --cpus.");
  }
  if (facts.loop_max_over_p50) {
    scorer.add("worst pass", points_above(*facts.loop_max_over_p50, 2, 5, 15),
               fmt::format("the slowest pass of a fixed loop took {:.1f} x the median",
                           *facts.loop_max_over_p50),
               "Look for timers, backups and indexers that wake up now and then, and stop them.");
  }
  if (facts.preempted) {
    scorer.add(
        "preemption", points_above(100 * *facts.preempted, 1, 3),
        fmt::format("the loop was off its core for {:.1f} % of the time", 100 * *facts.preempted),
        "Use fewer threads than cores and stop what else runs here.");
  }
}

void score_others(const NoiseFacts& facts, Scorer& scorer) {
  if (facts.steal) {
    scorer.add(
        "steal", points_above(100 * *facts.steal, 0, 22.5),
        fmt::format("the hypervisor kept {:.1f} % of the cores' time", 100 * *facts.steal),
        "Move to a dedicated host or an instance whose CPU is not shared; measure again later.");
  }
  if (facts.others) {
    scorer.add("other processes", points_above(100 * *facts.others, 5, 1.5),
               fmt::format("other processes used {:.0f} % of the cores", 100 * *facts.others),
               "Stop what else runs here (see top), or pin to idle cores with --cpus.");
  } else if (facts.runnable_others) {
    scorer.add("other processes", points_above(static_cast<double>(*facts.runnable_others), 0, 10),
               fmt::format("{} other tasks want a core", *facts.runnable_others),
               "Stop what else runs here (see top), or pin to idle cores with --cpus.");
  }
  if (facts.swapped_pages) {
    const std::int64_t pages = *facts.swapped_pages;
    scorer.add("swap",
               pages > 64  ? kMostPoints
               : pages > 0 ? 10
                           : 0,
               fmt::format("{} pages were swapped during the check", pages),
               "Free memory, or switch swap off for the measurement: swapoff -a.");
  }
}

void score_frequency(const NoiseFacts& facts, Scorer& scorer) {
  if (facts.governor) {
    const bool fixed = facts.max_over_min_frequency && *facts.max_over_min_frequency <= 1.001;
    scorer.add("governor", *facts.governor == "performance" || fixed ? 0 : 10,
               fmt::format("the frequency governor is '{}'", *facts.governor),
               "Pin the governor: cpupower frequency-set -g performance.");
  }
  if (facts.turbo) {
    scorer.add(
        "turbo", *facts.turbo ? 3 : 0, "turbo is on: speed depends on heat and on neighbours",
        "Switch turbo off: write 1 to /sys/devices/system/cpu/intel_pstate/no_turbo, or 0 to "
        "/sys/devices/system/cpu/cpufreq/boost.");
  }
  if (facts.thermal_throttles) {
    scorer.add("thermal throttling", *facts.thermal_throttles > 0 ? kMostPoints : 0,
               fmt::format("a core was slowed for heat {} times", *facts.thermal_throttles),
               "Let the machine cool, check its fans, or lower the frequency limit.");
  }
  if (facts.cgroup_throttles) {
    scorer.add("cgroup throttling", *facts.cgroup_throttles > 0 ? kMostPoints : 0,
               fmt::format("the CPU quota stopped this process {} times", *facts.cgroup_throttles),
               "Raise the CPU limit of the container, or use fewer threads than it grants.");
  }
}

}  // namespace

NoiseReport score_noise(const NoiseFacts& facts) {
  NoiseReport report;
  report.facts = facts;
  Scorer scorer(report);
  score_loop(facts, scorer);
  score_others(facts, scorer);
  score_frequency(facts, scorer);
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.points > b.points; });
  int lost = 0;
  for (const Finding& finding : report.findings)
    lost += finding.points;
  report.score = std::max(0, 100 - lost);
  report.verdict = report.score >= kQuietScore    ? NoiseVerdict::quiet
                   : report.score >= kUsableScore ? NoiseVerdict::usable
                                                  : NoiseVerdict::noisy;
  return report;
}

const char* to_string(Severity severity) {
  switch (severity) {
    case Severity::info:
      return "info";
    case Severity::warning:
      return "warning";
    case Severity::critical:
      return "critical";
  }
  return "info";
}

const char* to_string(NoiseVerdict verdict) {
  switch (verdict) {
    case NoiseVerdict::quiet:
      return "quiet";
    case NoiseVerdict::usable:
      return "usable";
    case NoiseVerdict::noisy:
      return "noisy";
  }
  return "noisy";
}

}  // namespace sluice::env
