// tests/measure/inject_test.cpp - the slowdown hook: what it accepts, and how long it waits.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/inject.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <string>

namespace sluice::measure::inject_test {
namespace {

TEST(Inject, SharesAreReadAndAnythingElseIsRefused) {
  EXPECT_DOUBLE_EQ(*parse_slowdown("10%"), 0.1);
  EXPECT_DOUBLE_EQ(*parse_slowdown("0.1"), 0.1);
  EXPECT_DOUBLE_EQ(*parse_slowdown("0"), 0);
  EXPECT_DOUBLE_EQ(*parse_slowdown("1000%"), 10);
  for (const char* bad : {"", "-1%", "ten", "10 percent", "1001%", "nan", "inf", "5%%"}) {
    const auto share = parse_slowdown(bad);
    ASSERT_FALSE(share) << bad;
    EXPECT_EQ(share.error().code, Errc::usage);
    EXPECT_NE(share.error().message.find("SLUICE_INJECT_SLOWDOWN"), std::string::npos);
  }
}

TEST(Inject, WaitsForTheExtraShareOfWhatTheRegionTook) {
  // The region began at 0 and took 1000 ns; 10 % more is reached at the reading of 1100 ns.
  ScriptedClock clock(std::deque<std::int64_t>{1000, 40, 40, 19, 1, 500});
  stretch(clock, 0, 0.1);
  EXPECT_EQ(clock.now_ns(), 1600) << "it read the clock once too often or too rarely";
}

TEST(Inject, NoShareReadsNoClock) {
  ScriptedClock clock(std::deque<std::int64_t>{7});
  stretch(clock, 0, 0);
  EXPECT_EQ(clock.now_ns(), 7);
}

TEST(Inject, TheEnvironmentIsReadOnce) {
  setenv(kInjectVariable, "3%", 1);
  EXPECT_DOUBLE_EQ(*injected_slowdown(), 0.03);
  setenv(kInjectVariable, "nonsense", 1);
  EXPECT_DOUBLE_EQ(*injected_slowdown(), 0.03);
}

}  // namespace
}  // namespace sluice::measure::inject_test
