// tests/env/noise_test.cpp - points and verdict by table, measuring by a scripted clock and fixture
// counters.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/noise.h"

#include "sluice/core/stop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/env/fixture.h"
#include <functional>

namespace sluice::env::noise_test {
namespace {

using ::testing::HasSubstr;

NoiseFacts calm() {
  NoiseFacts facts;
  facts.timer_resolution_ns = 30.0;
  facts.loop_p50_ns = 1e6;
  facts.loop_p99_over_p50 = 1.01;
  facts.loop_max_over_p50 = 1.2;
  facts.preempted = 0.001;
  facts.steal = 0.0;
  facts.others = 0.01;
  facts.runnable_others = 0;
  facts.load_1min = 0.1;
  facts.governor = std::string("performance");
  facts.max_over_min_frequency = 4.0;
  facts.turbo = false;
  facts.swapped_pages = 0;
  facts.thermal_throttles = 0;
  facts.cgroup_throttles = 0;
  return facts;
}

struct Case {
  const char* check;
  std::function<void(NoiseFacts&)> change;
  int score;
};

TEST(ScoreNoise, EachCheckByItself) {
  using F = NoiseFacts;
  const std::vector<Case> cases = {
      {"", [](F&) {}, 100},
      {"timer", [](F& f) { f.timer_resolution_ns = 101.0; }, 90},
      {"timer", [](F& f) { f.timer_resolution_ns = 4'000'000.0; }, 55},
      {"", [](F& f) { f.loop_p99_over_p50 = 1.05; }, 100},
      {"jitter", [](F& f) { f.loop_p99_over_p50 = 1.15; }, 90},
      {"jitter", [](F& f) { f.loop_p99_over_p50 = 9.0; }, 55},
      {"worst pass", [](F& f) { f.loop_max_over_p50 = 4.0; }, 90},
      {"worst pass", [](F& f) { f.loop_max_over_p50 = 400.0; }, 85},
      {"preemption", [](F& f) { f.preempted = 0.05; }, 88},
      {"preemption", [](F& f) { f.preempted = 1.0; }, 55},
      {"steal", [](F& f) { f.steal = 0.01; }, 77},
      {"steal", [](F& f) { f.steal = 0.02; }, 55},
      {"other processes", [](F& f) { f.others = 0.15; }, 85},
      {"other processes", [](F& f) { f.others = 0.9; }, 55},
      {"swap", [](F& f) { f.swapped_pages = 1; }, 90},
      {"swap", [](F& f) { f.swapped_pages = 65; }, 55},
      {"governor", [](F& f) { f.governor = std::string("powersave"); }, 90},
      {"governor", [](F& f) { f.governor = std::string("mixed: performance, powersave"); }, 90},
      {"turbo", [](F& f) { f.turbo = true; }, 97},
      {"thermal throttling", [](F& f) { f.thermal_throttles = 1; }, 55},
      {"cgroup throttling", [](F& f) { f.cgroup_throttles = 1; }, 55},
  };
  for (const Case& c : cases) {
    NoiseFacts facts = calm();
    c.change(facts);
    const NoiseReport report = score_noise(facts);
    EXPECT_EQ(report.score, c.score) << c.check;
    if (std::string(c.check).empty()) {
      EXPECT_TRUE(report.findings.empty());
      continue;
    }
    ASSERT_EQ(report.findings.size(), 1U) << c.check;
    EXPECT_EQ(report.findings[0].check, c.check);
    EXPECT_EQ(report.findings[0].points, 100 - c.score);
    EXPECT_FALSE(report.findings[0].value.empty());
    EXPECT_EQ(report.findings[0].advice.back(), '.');
    // A critical finding alone makes the machine noisy, and nothing less does.
    EXPECT_EQ(report.findings[0].severity == Severity::critical,
              report.verdict == NoiseVerdict::noisy)
        << c.check;
  }
}

TEST(ScoreNoise, VerdictsByScore) {
  NoiseFacts facts = calm();
  facts.loop_p99_over_p50 = 1.20;
  EXPECT_EQ(score_noise(facts).score, 85);
  EXPECT_EQ(score_noise(facts).verdict, NoiseVerdict::quiet);
  facts.turbo = true;
  EXPECT_EQ(score_noise(facts).verdict, NoiseVerdict::usable);
  facts.preempted = 1.0;
  facts.steal = 1.0;
  facts.others = 1.0;
  EXPECT_EQ(score_noise(facts).score, 0);
  EXPECT_EQ(score_noise(facts).verdict, NoiseVerdict::noisy);
}

TEST(ScoreNoise, FindingsBeginWithTheWorst) {
  NoiseFacts facts = calm();
  facts.turbo = true;
  facts.governor = std::string("powersave");
  facts.swapped_pages = 1000;
  const NoiseReport report = score_noise(facts);
  ASSERT_EQ(report.findings.size(), 3U);
  EXPECT_EQ(report.findings[0].check, "swap");
  EXPECT_EQ(report.findings[2].check, "turbo");
  EXPECT_THAT(report.findings[1].advice, HasSubstr("cpupower frequency-set -g performance"));
}

TEST(ScoreNoise, AFixedFrequencyNeedsNoGovernor) {
  NoiseFacts facts = calm();
  facts.governor = std::string("userspace");
  facts.max_over_min_frequency = 1.0;
  EXPECT_EQ(score_noise(facts).score, 100);
}

TEST(ScoreNoise, WhatIsUnknownCostsNothing) {
  EXPECT_EQ(score_noise(NoiseFacts{}).score, 100);
  NoiseFacts facts;
  facts.runnable_others = 2;  // counts where the use of the cores is not known
  EXPECT_EQ(score_noise(facts).score, 80);
}

// Every reading of the clock is `step` after the last; `slow` of them, by number, are later still.
class ScriptedClock final : public NoiseClock {
 public:
  std::int64_t step = 500'000;
  std::map<int, std::int64_t> slow;
  std::function<void(int)> on_read = [](int) {};
  double running = 1.0;  // share of the wall time in which the thread runs

  std::int64_t now_ns() override {
    ++reads_;
    on_read(reads_);
    now_ += step;
    if (const auto it = slow.find(reads_); it != slow.end()) now_ += it->second;
    return now_;
  }
  std::int64_t thread_cpu_ns() override { return process_cpu_ns(); }
  std::int64_t process_cpu_ns() override {
    return static_cast<std::int64_t>(running * static_cast<double>(now_));
  }

 private:
  int reads_ = 0;
  std::int64_t now_ = 0;
};

NoiseOptions quick(const fixture::Tree& tree) {
  NoiseOptions options;
  options.root = tree.root();
  options.pass_ns = 500'000;
  options.passes = 100;
  options.budget_ns = 1'000'000'000;
  return options;
}

TEST(MeasureNoise, AnEvenClockOnAnEmptyMachine) {
  fixture::Tree tree;
  ScriptedClock clock;
  const NoiseFacts facts = measure_noise(quick(tree), clock);
  EXPECT_DOUBLE_EQ(*facts.timer_resolution_ns, 500'000);
  EXPECT_DOUBLE_EQ(*facts.loop_p50_ns, 500'000);
  EXPECT_DOUBLE_EQ(*facts.loop_p99_over_p50, 1);
  EXPECT_DOUBLE_EQ(*facts.loop_max_over_p50, 1);
  EXPECT_DOUBLE_EQ(*facts.preempted, 0);
  EXPECT_EQ(facts.steal.reason, "/proc/stat is absent");
  EXPECT_EQ(facts.load_1min.reason, "/proc/loadavg is absent");
  EXPECT_FALSE(facts.governor);
  EXPECT_FALSE(facts.swapped_pages);
  EXPECT_FALSE(facts.thermal_throttles);
}

TEST(MeasureNoise, SlowPassesShow) {
  fixture::Tree tree;
  ScriptedClock clock;
  clock.running = 0.75;
  // Readings: 1 begin, 2001 for the resolution, 2 to calibrate, 1 begin of the loop; then two per
  // pass.
  for (int pass = 0; pass < 3; ++pass)
    clock.slow[2005 + 2 * (pass + 1)] = 1'500'000;
  const NoiseFacts facts = measure_noise(quick(tree), clock);
  EXPECT_DOUBLE_EQ(*facts.loop_p50_ns, 500'000);
  EXPECT_DOUBLE_EQ(*facts.loop_p99_over_p50, 4);
  EXPECT_DOUBLE_EQ(*facts.loop_max_over_p50, 4);
  EXPECT_NEAR(*facts.preempted, 0.25, 1e-6);
}

TEST(MeasureNoise, AClockThatStandsStillEnds) {
  fixture::Tree tree;
  ScriptedClock clock;
  clock.step = 0;
  NoiseOptions options = quick(tree);
  options.passes = 1;
  const NoiseFacts facts = measure_noise(options, clock);
  EXPECT_EQ(facts.timer_resolution_ns.reason, "the monotonic clock did not move");
  EXPECT_FALSE(facts.loop_p50_ns);
}

TEST(MeasureNoise, TheBudgetEndsTheLoop) {
  fixture::Tree tree;
  ScriptedClock clock;
  NoiseOptions options = quick(tree);
  options.passes = 1'000'000;
  options.budget_ns = 10'000'000;
  const NoiseFacts facts = measure_noise(options, clock);
  EXPECT_LT(facts.duration_s, 1.1);  // scripted seconds: 2001 readings, then 10 ms
}

TEST(MeasureNoise, ARequestToStopEndsTheLoop) {
  fixture::Tree tree;
  ScriptedClock clock;
  clock.on_read = [](int reads) { set_stop_requested(reads > 2020); };
  NoiseOptions options = quick(tree);
  options.passes = 1000;
  const NoiseFacts facts = measure_noise(options, clock);
  set_stop_requested(false);
  EXPECT_LT(facts.duration_s, 1.1);  // scripted: a thousand passes would be another half second
}

TEST(MeasureNoise, CountsWhatChangedOnTheAllowedCores) {
  fixture::Tree tree;
  fixture::add_cores(tree, 4, "0-1");
  const auto write = [&](int busy, int steal, int swapped, int throttled, int quota) {
    // The line of all cores and that of core 3 must not count.
    tree.file("/proc/stat",
              fmt::format("cpu  {0} 0 0 0 0 0 0 {1} 0 0\ncpu0 {0} 0 0 0 0 0 0 {1} 0 0\n"
                          "cpu1 0 0 0 0 0 0 0 0 0 0\ncpu3 {2} 0 0 0 0 0 0 {2} 0 0\nintr 5\n",
                          busy, steal, 100 * busy));
    tree.file("/proc/vmstat", fmt::format("pswpin {}\npswpout 5\n", swapped));
    tree.file("/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count",
              fmt::format("{}\n", throttled));
    tree.file("/sys/fs/cgroup/cpu.stat", fmt::format("nr_throttled {}\n", quota));
  };
  tree.file("/proc/loadavg", "1.25 0.50 0.10 3/120 999\n");
  tree.file("/proc/self/cgroup", "0::/\n");
  tree.file("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write(1000, 10, 7, 2, 3);
  ScriptedClock clock;
  clock.step = 1'000'000;
  clock.running = 0;  // so that all busy ticks are others'
  clock.on_read = [&](int read) {
    if (read == 10) write(1040, 20, 9, 5, 4);
  };
  const NoiseFacts facts = measure_noise(quick(tree), clock);
  const double ticks_per_s = static_cast<double>(::sysconf(_SC_CLK_TCK));
  EXPECT_NEAR(*facts.others, 40 / ticks_per_s / (2 * facts.duration_s), 1e-9);
  EXPECT_NEAR(*facts.steal, 10 / ticks_per_s / (2 * facts.duration_s), 1e-9);
  EXPECT_EQ(*facts.swapped_pages, 2);
  EXPECT_EQ(*facts.thermal_throttles, 3);
  EXPECT_EQ(*facts.cgroup_throttles, 1);
  EXPECT_DOUBLE_EQ(*facts.load_1min, 1.25);
  EXPECT_EQ(*facts.runnable_others, 2);
}

TEST(NoiseCheck, OnThisMachineEverythingIsInRange) {
  NoiseOptions options;
  options.passes = 5;
  const NoiseReport report = noise_check(options);
  EXPECT_GE(report.score, 0);
  EXPECT_LE(report.score, 100);
  ASSERT_TRUE(report.facts.timer_resolution_ns);
  EXPECT_GT(*report.facts.timer_resolution_ns, 0);
  ASSERT_TRUE(report.facts.loop_p99_over_p50);
  EXPECT_GE(*report.facts.loop_p99_over_p50, 1);
  const Json json = to_json(report);
  EXPECT_EQ(json["score"], report.score);
  EXPECT_TRUE(json["facts"].contains("steal"));
  for (const auto& item : json["facts"].items()) {
    EXPECT_EQ(item.value().is_null(), json["unknown"].contains(item.key())) << item.key();
  }
}

}  // namespace
}  // namespace sluice::env::noise_test
