// tests/measure/cpu_list_test.cpp - sets of cores: text to list, list to text, and what is refused.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/cpu_list.h"

#include <gtest/gtest.h>

#include <sched.h>

namespace sluice::measure::cpu_list_test {
namespace {

TEST(CpuListTest, WritesRangesAndSingles) {
  EXPECT_EQ(to_string(CpuList{}), "");
  EXPECT_EQ(to_string(CpuList{3}), "3");
  EXPECT_EQ(to_string(CpuList{0, 1, 2, 3, 6}), "0-3,6");
  EXPECT_EQ(to_string(CpuList{0, 2, 4, 5}), "0,2,4-5");
}

TEST(CpuListTest, ReadsWhatThisProcessMayUse) {
  const CpuList allowed = allowed_cpus();
  ASSERT_FALSE(allowed.empty());
  const auto all = parse_cpu_list(to_string(allowed));
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(*all, allowed);
  const std::string first = std::to_string(allowed.front());
  for (const std::string& text : {first, first + "-" + first, first + "," + first}) {
    const auto one = parse_cpu_list(text);
    ASSERT_TRUE(one) << text;
    EXPECT_EQ(*one, CpuList{allowed.front()}) << text;
  }
}

TEST(CpuListTest, SortsAndDropsDuplicates) {
  const CpuList allowed = allowed_cpus();
  if (allowed.size() < 2) GTEST_SKIP() << "one core";
  const std::string a = std::to_string(allowed[0]);
  const std::string b = std::to_string(allowed[1]);
  const auto cpus = parse_cpu_list(b + "," + a + "," + b);
  ASSERT_TRUE(cpus);
  EXPECT_EQ(*cpus, (CpuList{allowed[0], allowed[1]}));
}

TEST(CpuListTest, RefusesEverythingElse) {
  for (const char* text : {"", ",", "a", "-1", "1-", "0-x", "1-0", "0,,0", "0 ", "+0", "0.5", "0x0",
                           "1023", "99999999999999999999", "0-1023"}) {
    const auto cpus = parse_cpu_list(text);
    ASSERT_FALSE(cpus) << text;
    EXPECT_EQ(cpus.error().code, Errc::usage);
    EXPECT_NE(cpus.error().message.find("usable here: "), std::string::npos);
  }
}

TEST(CpuListTest, ErrorShowsControlCharacters) {
  const auto cpus = parse_cpu_list("0\n1");
  ASSERT_FALSE(cpus);
  EXPECT_EQ(cpus.error().message.find('\n'), std::string::npos);
}

TEST(CpuListTest, WithoutKeepsTheRest) {
  EXPECT_EQ(without({0, 1, 2, 3}, {1, 3}), (CpuList{0, 2}));
  EXPECT_EQ(without({0, 1}, {}), (CpuList{0, 1}));
  EXPECT_EQ(without({0, 1}, {0, 1, 7}), CpuList{});
}

TEST(CpuListTest, PinsTheCallerAndSaysWhenItCannot) {
  const CpuList before = allowed_cpus();
  ASSERT_TRUE(pin_to({before.back()}));
  EXPECT_EQ(allowed_cpus(), CpuList{before.back()});
  ASSERT_TRUE(pin_to(before));
  EXPECT_EQ(allowed_cpus(), before);
  EXPECT_FALSE(pin_to({}));
  EXPECT_FALSE(pin_to({-1}));
  EXPECT_FALSE(pin_to({CPU_SETSIZE}));
  EXPECT_EQ(allowed_cpus(), before);
}

}  // namespace
}  // namespace sluice::measure::cpu_list_test
