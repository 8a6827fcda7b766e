// tests/peers/timed_command_test.cpp - shell commands as subjects: numbers, failures, limits and
// what is left behind.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/timed_command.h"

#include "sluice/core/process/survivors.h"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <unistd.h>

namespace sluice::peers::timed_command_test {
namespace {

TEST(LastNumber, IsThatOfTheLastLine) {
  const std::pair<const char*, double> good[] = {{"1.5", 1.5},
                                                 {"warm\n12.5\n\n", 12.5},
                                                 {"run 3 took 12ms\n", 12},
                                                 {"{\"rate\": 93.25}\n", 93.25},
                                                 {"rate=1e3 img/s", 1000},
                                                 {"3 of 4: 17 %", 17},
                                                 {"-2.5", -2.5},
                                                 {".5", 0.5},
                                                 {"+7", 7},
                                                 {"progress 1\rprogress 2\r", 2},
                                                 {"0.125\r\n", 0.125}};
  for (const auto& [text, value] : good) {
    const auto number = last_number(text);
    ASSERT_TRUE(number) << text;
    EXPECT_DOUBLE_EQ(*number, value) << text;
  }
  for (const char* text : {"", "\n\n", "done", "12\ndone", "nan", "inf", "version 1.2.3", "x86",
                           "-", "--", "1e999", "2026-11-16"}) {
    EXPECT_FALSE(last_number(text)) << text;
  }
}

TEST(LastSeconds, IsThatNumberWhereItHasAUnitOfTime) {
  const std::pair<const char*, double> times[] = {{"12.5ms", 0.0125},  {"12.5 ms", 0.0125},
                                                  {"took 3 s", 3},     {"2min", 120},
                                                  {"7 us/step", 7e-6}, {"1 2 ns", 2e-9}};
  for (const auto& [text, seconds] : times) {
    const auto found = last_seconds(text);
    ASSERT_TRUE(found) << text;
    EXPECT_DOUBLE_EQ(*found, seconds) << text;
  }
  for (const char* text : {"5", "5 img/s", "5 steps", "5 m", "ms", "", "93%"})
    EXPECT_FALSE(last_seconds(text)) << text;
}

TEST(TimedCommand, PrintsAndComplainsApart) {
  const auto run = run_timed({.name = "A", .command = "echo 42; echo 7 >&2"});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->printed, "42\n");
  EXPECT_GT(run->wall_s, 0);
}

TEST(TimedCommand, RunsInItsFolderWithItsVariables) {
  TimedCommand command{.name = "A", .command = "pwd; echo $SLUICE_TEST_ONE"};
  command.folder = "/";
  command.environment["SLUICE_TEST_ONE"] = "5";
  const auto run = run_timed(command);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->printed, "/\n5\n");
}

TEST(TimedCommand, FailuresAreOneLineWithTheLastWords) {
  const auto failed =
      run_timed({.name = "B", .command = "echo first >&2; echo no disk >&2; exit 3"});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::measurement);
  EXPECT_EQ(failed.error().message,
            "B (echo first >&2; echo no disk >&2; exit 3): ended with exit code 3; expected 0: no "
            "disk");
  const auto missing = run_timed({.name = "A", .command = "/nonexistent/program"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::usage);
  const auto killed = run_timed({.name = "A", .command = "kill -9 $$"});
  ASSERT_FALSE(killed);
  EXPECT_NE(killed.error().message.find("exit code 137"), std::string::npos);
  const auto hostile = run_timed({.name = "A", .command = "printf 'a\\033[31mb' >&2; exit 1"});
  ASSERT_FALSE(hostile);
  EXPECT_EQ(hostile.error().message.find('\033'), std::string::npos);
}

TEST(TimedCommand, WhatItStartedEndsWithIt) {
  for (const char* left : {"sleep 1000 & true", "setsid sleep 1000 & true"}) {
    const auto run = run_timed({.name = "A", .command = left});
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, Errc::measurement);
    const std::string& message = run.error().message;
    EXPECT_NE(message.find("ended while sleep (pid "), std::string::npos) << message;
    const std::size_t at = message.find("(pid ") + 5;
    EXPECT_FALSE(is_running(std::stoi(message.substr(at)))) << "it was not killed";
  }
}

TEST(TimedCommand, TheLimitKillsIt) {
  TimedCommand command{.name = "A", .command = "sleep 1000"};
  command.timeout_s = 0.02;
  const auto run = run_timed(command);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, Errc::timeout);
  EXPECT_EQ(run.error().message, "A (sleep 1000): not finished within 0.02 s; killed");
}

TEST(TimedCommand, AnInterruptionKillsIt) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  TimedCommand command{.name = "A", .command = "sleep 1000"};
  command.cancel_fd = ends[0];
  const auto run = run_timed(command);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, Errc::interrupted);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace sluice::peers::timed_command_test
