// tests/measure/axes_test.cpp - the points of a scenario, their names, and the policy as recorded.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/axes.h"

#include "sluice/measure/policy.h"
#include "sluice/measure/record.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice::measure::axes_test {
namespace {

std::vector<std::string> names(const std::vector<Axis>& axes) {
  std::vector<std::string> result;
  for (const State& state : expand(axes))
    result.push_back(case_name("s", state));
  return result;
}

TEST(AxesTest, LastAxisIsFastest) {
  EXPECT_EQ(names({{"a", {"1", "2"}}, {"b", {"x", "y", "z"}}}),
            (std::vector<std::string>{"s/a=1/b=x", "s/a=1/b=y", "s/a=1/b=z", "s/a=2/b=x",
                                      "s/a=2/b=y", "s/a=2/b=z"}));
}

TEST(AxesTest, NoAxesAreOneStateAndAnEmptyAxisNone) {
  EXPECT_EQ(names({}), std::vector<std::string>{"s"});
  EXPECT_EQ(names({{"a", {"1"}}, {"b", {}}}), std::vector<std::string>{});
}

TEST(AxesTest, NameSortsAxesWhateverTheirOrder) {
  EXPECT_EQ(names({{"threads", {"1"}}, {"size", {"224"}}}),
            names({{"size", {"224"}}, {"threads", {"1"}}}));
  EXPECT_EQ(names({{"threads", {"1"}}, {"size", {"224"}}}),
            std::vector<std::string>{"s/size=224/threads=1"});
}

TEST(PolicyTest, JsonHoldsEveryKnob) {
  Policy policy;
  policy.runs = 7;
  policy.samples_per_run = 3;
  policy.samples_per_turn = 2;
  policy.min_sample_ms = 20;
  policy.warmup_ms = 5;
  policy.warmup_limit_ms = 500;
  policy.slow_item_s = 0.25;
  policy.step_timeout_s = 9;
  policy.single_thread_cpu_limit = 1.25;
  policy.unstable_cv = 0.5;
  policy.stop = StopKind::width;
  policy.time_budget_s = 4;
  policy.target_width = 0.125;
  policy.max_runs = 12;
  policy.seed = 18446744073709551615u;
  policy.data_seed = 7;
  policy.cpus = {0, 1, 2, 5};
  const Json expected =
      Json::parse(R"({"runs": 7, "samples_per_run": 3, "samples_per_turn": 2, "min_sample_ms": 20.0,
    "warmup_ms": 5.0, "warmup_limit_ms": 500.0, "slow_item_s": 0.25, "step_timeout_s": 9.0,
    "single_thread_cpu_limit": 1.25, "unstable_cv": 0.5, "stop": "width", "time_budget_s": 4.0,
    "target_width": 0.125, "max_runs": 12, "seed": 18446744073709551615, "data_seed": 7, "cpus": "0-2,5"})");
  EXPECT_EQ(to_json(policy), expected);
}

TEST(PolicyTest, DefaultIsAccepted) {
  EXPECT_TRUE(check(Policy{}));
}

TEST(PolicyTest, RefusesWhatWouldNeverEndOrMeansNothing) {
  struct Case {
    const char* words;  // in the error
    void (*spoil)(Policy&);
  };
  const std::vector<Case> cases{
      {"runs 0", [](Policy& p) { p.runs = 0; }},
      {"runs -1", [](Policy& p) { p.runs = -1; }},
      {"samples_per_run 0", [](Policy& p) { p.samples_per_run = 0; }},
      {"samples_per_turn 0", [](Policy& p) { p.samples_per_turn = 0; }},
      {"min_sample_ms", [](Policy& p) { p.min_sample_ms = -1; }},
      {"min_sample_ms", [](Policy& p) { p.min_sample_ms = 1e300; }},
      {"warmup_ms", [](Policy& p) { p.warmup_ms = std::nan(""); }},
      {"step_timeout_s", [](Policy& p) { p.step_timeout_s = 0; }},
      {"max_runs 4", [](Policy& p) { p.max_runs = 4, p.stop = StopKind::width; }},
  };
  for (const Case& one : cases) {
    Policy policy;
    one.spoil(policy);
    const Status status = check(policy);
    ASSERT_FALSE(status) << one.words;
    EXPECT_EQ(status.error().code, Errc::usage);
    EXPECT_NE(status.error().message.find(one.words), std::string::npos) << status.error().message;
  }
}

TEST(RecordTest, NamesOfStates) {
  EXPECT_STREQ(to_string(RowStatus::ok), "ok");
  EXPECT_STREQ(to_string(RowStatus::early_stopped), "early_stopped");
  EXPECT_STREQ(to_string(RowStatus::unsupported), "unsupported");
  EXPECT_STREQ(to_string(RowStatus::failed), "failed");
  EXPECT_STREQ(to_string(RowStatus::skipped), "skipped");
  EXPECT_STREQ(to_string(Better::higher), "higher");
  EXPECT_STREQ(to_string(Better::lower), "lower");
  EXPECT_STREQ(to_string(StopKind::count), "count");
  EXPECT_STREQ(to_string(StopKind::time), "time");
}

}  // namespace
}  // namespace sluice::measure::axes_test
