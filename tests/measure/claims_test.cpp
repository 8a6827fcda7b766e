// tests/measure/claims_test.cpp - times that can be, and each kind of times that cannot.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/worker/claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::measure::claims_test {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMs = 1'000'000;

Measure::Answer answer_of(std::vector<std::int64_t> samples_ns, std::int64_t start_ns) {
  Measure::Answer answer;
  answer.samples_ns = std::move(samples_ns);
  answer.start_ns = start_ns;
  return answer;
}

std::string why(const Status& status) {
  return status ? "" : status.error().message;
}

TEST(Claims, WhatPassedIsBelieved) {
  const Witness witness{1000 * kMs, 1200 * kMs, {}};
  EXPECT_EQ(why(check_times(answer_of({100 * kMs}, 1050 * kMs), witness)), "");
  EXPECT_EQ(why(check_times(answer_of({100 * kMs, 100 * kMs}, 1000 * kMs), witness)), "");
  // A clock of whole milliseconds rounds up.
  EXPECT_EQ(why(check_times(answer_of({101 * kMs, 101 * kMs}, 999 * kMs), witness)), "");
}

TEST(Claims, TimesThatDidNotPassAreRefused) {
  const Witness witness{1000 * kMs, 1200 * kMs, {}};
  EXPECT_THAT(why(check_times(answer_of({100 * kMs, 105 * kMs}, 1000 * kMs), witness)),
              HasSubstr("add up to 205.000 ms, but the answer took 200.000 ms"));
  EXPECT_THAT(why(check_times(answer_of({1}, 1100 * kMs), witness)), HasSubstr("holds 1"));
  for (const std::int64_t start : {std::int64_t{0}, 990 * kMs, 1210 * kMs, std::int64_t{1} << 62})
    EXPECT_THAT(why(check_times(answer_of({kMs}, start), witness)), HasSubstr("start_ns is"));
  Measure::Answer busy = answer_of({kMs}, 1100 * kMs);
  busy.cpu_ns = 1'000'000'000 * kMs;
  EXPECT_THAT(why(check_times(busy, witness)), HasSubstr("cpu_ns is"));
}

TEST(Claims, WorkThatTheClaimDoesNotExplain) {
  Measure request{"case"};
  request.warmup_limit_ms = 1000;
  Witness witness{0, 100'000 * kMs, {}};
  const Measure::Answer honest = answer_of({100 * kMs}, 1);
  EXPECT_EQ(why(check_work(request, honest, witness, 100.0 * kMs)), "");
  EXPECT_THAT(why(check_work(request, answer_of({99}, 1), witness, 100.0 * kMs)),
              HasSubstr("its own preflight makes that about 100000000"));
  witness.cpu_ns = 23'000 * kMs;
  EXPECT_EQ(why(check_work(request, honest, witness, 100.0 * kMs)), "");
  witness.cpu_ns = 25'000 * kMs;
  EXPECT_THAT(why(check_work(request, honest, witness, 100.0 * kMs)),
              HasSubstr("25000.000 ms of CPU time"));
  Measure::Answer threads = honest;  // four cores at work explain four times as much
  threads.cpu_ns = 400 * kMs;
  EXPECT_EQ(why(check_work(request, threads, witness, 100.0 * kMs)), "");
  // A case that warms up by its own count of steps: 40 of them are 4 s.
  request.warmup_limit_ms = 0;
  witness.cpu_ns = 60'000 * kMs;
  Measure::Answer warmed = honest;
  EXPECT_NE(why(check_work(request, warmed, witness, 100.0 * kMs)), "");
  warmed.warmup_passes = 40;
  EXPECT_EQ(why(check_work(request, warmed, witness, 100.0 * kMs)), "");
  witness.answered_ns = 1000 * kMs;  // in which 40 steps cannot have been
  EXPECT_NE(why(check_work(request, warmed, witness, 100.0 * kMs)), "");
}

}  // namespace
}  // namespace sluice::measure::claims_test
