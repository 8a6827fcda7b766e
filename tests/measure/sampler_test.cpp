// tests/measure/sampler_test.cpp - clock, warm-up, preflight and samples, all on scripted time.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/sampler.h"

#include "sluice/measure/inject.h"

#include <gtest/gtest.h>

#include "tests/measure/support.h"

namespace sluice::measure::sampler_test {
namespace {

constexpr std::int64_t kMs = 1'000'000;

TEST(ClockTest, ScriptedAdvancesByItsStepsAndThenStandsStill) {
  ScriptedClock clock({5, 10});
  EXPECT_EQ(clock.now_ns(), 5);
  EXPECT_EQ(clock.now_ns(), 15);
  EXPECT_EQ(clock.now_ns(), 15);
  clock.advance(7);
  EXPECT_EQ(clock.now_ns(), 22);
}

TEST(ClockTest, SystemClockNeverGoesBack) {
  SystemClock clock;
  const std::int64_t first = clock.now_ns();
  EXPECT_GT(first, 0);
  EXPECT_GE(clock.now_ns(), first);
}

struct WarmUpCase {
  const char* name;
  std::int64_t min_ns;
  std::int64_t limit_ns;
  std::vector<std::int64_t> pass_ns;
  int passes;  // after which it is finished
};

TEST(WarmUpRuleTest, Table) {
  const std::vector<WarmUpCase> cases{
      {"steady: two passes without a new best", 0, 1000, {10, 10, 10, 10}, 3},
      {"minimum holds it", 45, 1000, {10, 10, 10, 10, 10, 10}, 5},
      {"a pass exactly 2 % faster is no new best", 0, 10000, {100, 98, 98, 98}, 3},
      {"over 2 % faster is", 0, 10000, {100, 97, 97, 97}, 4},
      {"slow drift below 2 % of the best ends", 0, 10000, {100, 99, 99, 99}, 3},
      {"keeps getting faster until the limit", 0, 300, {100, 90, 80, 70, 60, 50}, 4},
      {"limit below minimum wins", 500, 100, {60, 60, 60}, 2},
      {"first pass beyond the limit", 10, 100, {5000, 1, 1}, 1},
      {"slower passes are no new best", 0, 10000, {10, 50, 70}, 3},
  };
  for (const WarmUpCase& one : cases) {
    WarmUpRule rule(one.min_ns, one.limit_ns);
    int passes = 0;
    for (const std::int64_t ns : one.pass_ns) {
      if (rule.finished()) break;
      rule.add(ns);
      ++passes;
    }
    EXPECT_TRUE(rule.finished()) << one.name;
    EXPECT_EQ(passes, one.passes) << one.name;
    EXPECT_EQ(rule.passes(), one.passes) << one.name;
  }
}

TEST(SamplerTest, PassesPerSampleRoundsUp) {
  EXPECT_EQ(passes_per_sample(30, 100), 4);
  EXPECT_EQ(passes_per_sample(25, 100), 4);
  EXPECT_EQ(passes_per_sample(100, 100), 1);
  EXPECT_EQ(passes_per_sample(101, 100), 1);
  EXPECT_EQ(passes_per_sample(1, 100 * kMs), 100 * kMs);
  EXPECT_EQ(passes_per_sample(5, 0), 1);
  EXPECT_EQ(passes_per_sample(0, 100), 1);
  EXPECT_EQ(passes_per_sample(-3, 100), 1);
  EXPECT_EQ(passes_per_sample(INT64_MAX, INT64_MAX), 1);
}

TEST(SamplerTest, PreflightTakesTheFastestPassOfAboutTwentyMs) {
  ManualClock clock;
  ScriptedSubject subject(clock, {9 * kMs, 7 * kMs, 8 * kMs, 1 * kMs});
  EXPECT_EQ(preflight_pass_ns(subject, clock, 0), 7 * kMs);
  EXPECT_EQ(subject.passes, 3);  // 24 ms are enough
}

struct AheadSubject final : ScriptedSubject {
  using ScriptedSubject::ScriptedSubject;
  [[nodiscard]] bool works_ahead() const override { return true; }
};

TEST(SamplerTest, PreflightTakesTheMeanWhereThreadsWorkAhead) {
  ManualClock clock;
  AheadSubject subject(clock, {10 * kMs, 1, 10 * kMs, 1});  // every other batch lay ready
  EXPECT_EQ(preflight_pass_ns(subject, clock, 0), 5 * kMs);
  EXPECT_EQ(subject.passes, 4);
}

TEST(SamplerTest, PreflightStopsAtOnceWhenTheFirstPassIsSlow) {
  ManualClock clock;
  ScriptedSubject subject(clock, {10 * kMs, 1});
  EXPECT_EQ(preflight_pass_ns(subject, clock, 10 * kMs), 10 * kMs);  // inclusive
  EXPECT_EQ(subject.passes, 1);
}

TEST(SamplerTest, PreflightGroupsShortPassesSoThatTheClockItselfCostsNothing) {
  ManualClock clock;
  clock.tick_ns = 40;  // what a reading costs; a pass takes 2
  ScriptedSubject subject(clock, {2});
  EXPECT_LE(preflight_pass_ns(subject, clock, 0), 3);
}

TEST(SamplerTest, PreflightOfAnEmptySubjectEndsAndIsNeverZero) {
  ManualClock clock;
  clock.tick_ns = 1;
  ScriptedSubject subject(clock, {0});
  EXPECT_EQ(preflight_pass_ns(subject, clock, 0), 1);
}

TEST(SamplerTest, WarmUpCountsPasses) {
  ManualClock clock;
  ScriptedSubject subject(clock, {10});
  EXPECT_EQ(warm_up(subject, clock, WarmUpRule(50, 1000), 1), 5);
  EXPECT_EQ(subject.passes, 5);
}

TEST(SamplerTest, WarmUpGroupsShortPasses) {
  ManualClock clock;
  ScriptedSubject subject(clock, {1});
  EXPECT_EQ(warm_up(subject, clock, WarmUpRule(100, 1000), 640), 100);  // groups of 10
  EXPECT_EQ(clock.readings, 20);
}

TEST(SamplerTest, WarmUpOfAnEmptySubjectEnds) {
  ManualClock clock;  // never moves: every group counts as 1 ns
  ScriptedSubject subject(clock, {0});
  EXPECT_EQ(warm_up(subject, clock, WarmUpRule(10, 1000), 1), 10);
}

TEST(SamplerTest, SampleIsExactlyItsPasses) {
  ManualClock clock;
  ScriptedSubject subject(clock, {11, 22, 33});
  const std::int64_t start = clock.now_ns();
  const Sample sample = take_sample(subject, clock, 3);
  EXPECT_EQ(sample.start_ns, start);
  EXPECT_EQ(sample.elapsed_ns, 66);
  EXPECT_EQ(subject.passes, 3);
  EXPECT_EQ(clock.readings, 3);  // ours and the two around the passes
}

TEST(SamplerTest, InjectedSlowdownWaitsItsShareInsideTheSample) {
  ManualClock clock;
  clock.tick_ns = 1;
  ScriptedSubject subject(clock, {1000});
  const Sample plain = take_sample(subject, clock, 10);
  EXPECT_EQ(plain.elapsed_ns, 10001);
  const Sample slowed = take_sample(subject, clock, 10, 0.15);
  EXPECT_GE(slowed.elapsed_ns, 11501);
  EXPECT_LE(slowed.elapsed_ns, 11503);  // one reading sees the target, one is the end
  EXPECT_EQ(subject.passes, 20);
}

TEST(PreflightItemsTest, EstimatesAPassFromItsFirstItems) {
  ManualClock clock;
  ScriptedSubject subject(clock, {1});
  subject.items = 1000;
  subject.item_ns = 1'000'000;
  EXPECT_EQ(preflight_items_ns(subject, clock, 0, 10), 1'000'000'000);
  EXPECT_EQ(subject.items_done, 10);
  EXPECT_EQ(subject.last_item, 9);
  EXPECT_EQ(subject.passes, 0) << "a pass of a second is not run to estimate it";
  EXPECT_EQ(preflight_items_ns(subject, clock, 0, 5000), 1'000'000'000) << "at most a pass";
  EXPECT_EQ(subject.items_done, 1010);
}

TEST(PreflightItemsTest, StopsWhenTheLimitIsPassedForCertain) {
  ManualClock clock;
  ScriptedSubject subject(clock, {1});
  subject.items = 100;
  subject.item_ns = 100'000'000;
  // 10 items at a limit of 50 ms may take 500 ms: certain within the sixth.
  EXPECT_EQ(preflight_items_ns(subject, clock, 5'000'000'000, 10), 10'000'000'000);
  EXPECT_EQ(subject.items_done, 6);
}

TEST(PreflightItemsTest, ShortAndIndivisiblePassesAreRunWhole) {
  ManualClock clock;
  ScriptedSubject subject(clock, {30'000'000});
  EXPECT_EQ(preflight_items_ns(subject, clock, 0, 3), 30'000'000);
  subject.item_ns = 7;
  EXPECT_EQ(preflight_items_ns(subject, clock, 0, 3), 30'000'000);
  EXPECT_EQ(subject.passes, 2);
}

TEST(WarmUpItemsTest, ALongPassIsNotRunToTheEnd) {
  ManualClock clock;
  ScriptedSubject subject(clock, {1});
  EXPECT_FALSE(warm_up_items(subject, clock, 1000)) << "cannot be divided";
  subject.items = 1000;
  subject.item_ns = 300;
  EXPECT_TRUE(warm_up_items(subject, clock, 1000));
  EXPECT_EQ(subject.items_done, 4);
  subject.items = 3;
  EXPECT_FALSE(warm_up_items(subject, clock, 1000)) << "a whole pass is shorter than the warm-up";
  EXPECT_EQ(subject.items_done, 7);
}

TEST(InjectedSlowdownTest, ReadsAShareForAllOrForOneCase) {
  const std::string name = "decode/jpeg/threads=1";
  EXPECT_EQ(*injected_slowdown(nullptr, name), 0);
  EXPECT_EQ(*injected_slowdown("", name), 0);
  EXPECT_DOUBLE_EQ(*injected_slowdown("15%", name), 0.15);
  EXPECT_DOUBLE_EQ(*injected_slowdown("0%", name), 0);
  EXPECT_DOUBLE_EQ(*injected_slowdown("7.5%", name), 0.075);
  EXPECT_DOUBLE_EQ(*injected_slowdown("decode/jpeg/threads=1=15%", name), 0.15);
  EXPECT_EQ(*injected_slowdown("decode/jpeg/threads=2=15%", name), 0);
  EXPECT_EQ(*injected_slowdown("decode/jpeg=15%", name), 0);
}

TEST(InjectedSlowdownTest, RefusesWhatCouldPassAsNotSlowed) {
  for (const char* text : {"15", "%", "x%", "-5%", "1001%", "nan%", "inf%", "15%%", "15 %",
                           "resize=", "resize=15", "decode/jpeg/threads=1", "=", "15%x"}) {
    const auto share = injected_slowdown(text, "resize");
    ASSERT_FALSE(share) << text;
    EXPECT_EQ(share.error().code, Errc::usage);
    EXPECT_NE(share.error().message.find("[CASE=]PERCENT%"), std::string::npos);
  }
}

}  // namespace
}  // namespace sluice::measure::sampler_test
