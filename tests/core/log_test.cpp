// tests/core/log_test.cpp - levels, line format, and lines that stay whole under threads.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/log.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace sluice::log_test {
namespace {

class LogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    log::attach_sink(this, [this](std::string_view line) { text_ += line; });
  }
  void TearDown() override {
    log::detach_sink(this);
    log::set_level(log::Level::warn);
  }
  std::string text_;
};

TEST_F(LogTest, StartsAtWarn) {
  EXPECT_EQ(log::level(), log::Level::warn);
  log::debug("no {}", 1);
  log::info("no {}", 2);
  log::warn("disk {} % full", 91);
  log::error("gone");
  EXPECT_EQ(text_, "warning: disk 91 % full\nerror: gone\n");
}

TEST_F(LogTest, HonoursTheLevel) {
  log::set_level(log::Level::debug);
  log::debug("a");
  log::info("b");
  EXPECT_EQ(text_, "debug: a\ninfo: b\n");
  text_.clear();
  log::set_level(log::Level::off);
  log::error("c");
  log::write(log::Level::error, "d");
  log::write(log::Level::off, "e");
  EXPECT_EQ(text_, "");
}

TEST_F(LogTest, OneMessageIsOneLine) {
  log::warn("{}", "a\nerror: forged \x1b[31m");
  EXPECT_EQ(text_, "warning: a\\nerror: forged \\x1b[31m\n");
}

TEST_F(LogTest, DetachingAnotherOwnerDoesNothing) {
  const int other = 0;
  log::detach_sink(&other);
  log::error("kept");
  EXPECT_EQ(text_, "error: kept\n");
}

TEST(LogFormat, ColoursOnlyThePrefix) {
  EXPECT_EQ(log::format_line(log::Level::error, "x", false), "error: x\n");
  EXPECT_EQ(log::format_line(log::Level::error, "x", true), "\x1b[31merror:\x1b[0m x\n");
}

TEST(LogLevel, ParsesNamesAndListsThemOnError) {
  for (const auto& [name, level] : {std::pair{"debug", log::Level::debug},
                                    {"info", log::Level::info},
                                    {"warn", log::Level::warn},
                                    {"error", log::Level::error},
                                    {"off", log::Level::off},
                                    {"DEBUG", log::Level::debug},
                                    {"Info", log::Level::info},
                                    {"WARNING", log::Level::warn},
                                    {"CRITICAL", log::Level::error}}) {
    const auto parsed = log::parse_level(name);
    ASSERT_TRUE(parsed) << name;
    EXPECT_EQ(*parsed, level);
  }
  const auto bad = log::parse_level("Loud\n");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, Errc::usage);
  EXPECT_EQ(bad.error().message, "log level 'Loud\\n' is not one of debug, info, warn, error, off");
}

TEST_F(LogTest, LinesOfManyThreadsStayWhole) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 50; ++i)
        log::error("xxxxxxxxxx");
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  std::string expected;
  for (int i = 0; i < 200; ++i)
    expected += "error: xxxxxxxxxx\n";
  EXPECT_EQ(text_, expected);
}

}  // namespace
}  // namespace sluice::log_test
