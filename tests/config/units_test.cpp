// tests/config/units_test.cpp - durations, shares and sizes as people write them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::config::units_test {
namespace {

TEST(Seconds, AreReadWithTheirUnit) {
  for (const auto& [text, expected] :
       std::initializer_list<std::pair<const char*, double>>{{"5", 5.0},
                                                             {"0", 0.0},
                                                             {"2.5s", 2.5},
                                                             {"250ms", 0.25},
                                                             {"250 ms", 0.25},
                                                             {"7us", 7e-6},
                                                             {"7µs", 7e-6},
                                                             {"3ns", 3e-9},
                                                             {"2min", 120.0},
                                                             {"1.5h", 5400.0},
                                                             {"1e3ms", 1.0},
                                                             {"+4s", 4.0}}) {
    const auto parsed = parse_seconds(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_DOUBLE_EQ(*parsed, expected) << text;
  }
  for (const char* text :
       {"", "s", "-1s", "5m", "5 sec", "1:30", "inf", "nan", "1e999s", "1e308h", "0x10", "5s5"}) {
    EXPECT_FALSE(parse_seconds(text)) << text;
  }
}

TEST(Share, ReadsPercentAndFraction) {
  for (const auto& [text, expected] :
       std::initializer_list<std::pair<const char*, double>>{{"5%", 0.05},
                                                             {"5 %", 0.05},
                                                             {"0.05", 0.05},
                                                             {"100%", 1.0},
                                                             {"-3%", -0.03},
                                                             {"0", 0.0}}) {
    const auto parsed = parse_share(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_DOUBLE_EQ(*parsed, expected) << text;
  }
  for (const char* text : {"", "%", "five%", "5%%", "5 percent", "nan%"})
    EXPECT_FALSE(parse_share(text)) << text;
}

TEST(Bytes, AreWholeAndExact) {
  for (const auto& [text, expected] : std::initializer_list<std::pair<const char*, std::uint64_t>>{
           {"0", 0},
           {"512", 512},
           {"512B", 512},
           {"64KiB", 65536},
           {"2GiB", std::uint64_t{2} << 30},
           {"1.5MiB", 1572864},
           {"10MB", 10'000'000},
           {"1kB", 1000},
           {"1.1kB", 1100},
           {"1TiB", std::uint64_t{1} << 40},
           {"18446744073709551615", 18446744073709551615U},
           {"9007199254740993", 9007199254740993U}}) {
    const auto parsed = parse_bytes(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(*parsed, expected) << text;
  }
  for (const char* text : {"", "-1", "-1KiB", "1.5", "0.3KiB", "5 gib", "5G", "99999999TiB",
                           "18446744073709551616", "GiB"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
}

TEST(Integers, AreDecimalAndInRange) {
  EXPECT_EQ(parse_integer("-9223372036854775808").value(),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse_integer("+7").value(), 7);
  EXPECT_EQ(parse_unsigned("18446744073709551615").value(), 18446744073709551615U);
  for (const char* text :
       {"", "+", "-", "+-1", "1.0", "1e3", "0x1F", "1_000", " 1", "1 ", "9223372036854775808"}) {
    EXPECT_FALSE(parse_integer(text)) << text;
  }
  EXPECT_FALSE(parse_unsigned("-1"));
}

TEST(Errors, NameTheTextAndWhatIsAccepted) {
  EXPECT_EQ(parse_seconds("5\nx").error().message,
            "'5\\nx' is not a duration (a number with ns, us, ms, s, min or h)");
  EXPECT_EQ(parse_seconds("x").error().code, Errc::usage);
  EXPECT_LT(parse_bytes(std::string(100'000, 'x')).error().message.size(), 300U);
}

}  // namespace
}  // namespace sluice::config::units_test
