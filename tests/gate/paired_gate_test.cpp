// tests/gate/paired_gate_test.cpp - the paired gate on scripted pairs: verdicts, looks,
// confirmation, families, words.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/pairs/paired_gate.h"

#include "sluice/gate/pairs/paired_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace sluice::gate::paired_gate_test {
namespace {

using measure::Better;

/// B's speed over A's in pair `index`; a small, even spread around exp(centre).
double spread(double centre, double sd, int index) {
  static constexpr double kSteps[] = {1.2, -0.7, 0.4, -1.3, 0.9, -0.2, -1.1, 0.8};
  return std::exp(centre + sd * kSteps[index % 8]);
}

PairedMetric speed(const std::string& name = "speed") {
  return {.name = name, .unit = "img/s", .better = Better::higher};
}

TakePair one_series(double centre, double sd) {
  return [=](int index, bool) -> Result<std::vector<PairValue>> {
    return std::vector<PairValue>{{100, 100 * spread(centre, sd, index)}};
  };
}

PairedOutcome run(const TakePair& take, const PairedOptions& options = {}) {
  auto outcome = run_pairs({speed()}, options, take);
  EXPECT_TRUE(outcome) << outcome.error().message;
  return std::move(*outcome);
}

struct Case {
  const char* name;
  double centre;
  double sd;
  GateStatus status;
  int pairs;
  int confirming;
};

TEST(PairedGate, VerdictsInTheirOrder) {
  const Case cases[] = {
      {"no change", 0, 0.005, GateStatus::pass, 8, 0},
      {"5 % slower", -0.05, 0.005, GateStatus::fail, 8, 8},
      {"5 % faster", 0.05, 0.005, GateStatus::improved, 8, 0},
      {"0.5 % faster: real, but below the floor", 0.005, 0.001, GateStatus::pass, 8, 0},
      {"0.5 % slower: real, but below the floor", -0.005, 0.001, GateStatus::pass, 8, 0},
      {"2 % slower: PASS comes before FAIL", -0.02, 0.002, GateStatus::pass, 8, 0},
      {"2.9 % slower", -0.0295, 0.005, GateStatus::fail, 8, 8},
      {"too noisy for 8, enough at 16", 0, 0.027, GateStatus::pass, 16, 0},
      {"too noisy for 32", 0, 0.2, GateStatus::inconclusive, 32, 0},
      {"no spread at all", 0, 0, GateStatus::pass, 8, 0},
      {"no spread, slower", -0.05, 0, GateStatus::fail, 8, 8},
  };
  for (const Case& one : cases) {
    const PairedOutcome outcome = run(one_series(one.centre, one.sd));
    EXPECT_EQ(outcome.metrics[0].status, one.status)
        << one.name << ": " << report_of(outcome).lines[0].reason;
    EXPECT_EQ(outcome.pairs, one.pairs) << one.name;
    EXPECT_EQ(outcome.confirm_pairs, one.confirming) << one.name;
  }
}

TEST(PairedGate, LowerIsBetterTurnsTheSense) {
  const auto outcome =
      run_pairs({{.name = "wall", .unit = "s", .better = Better::lower}}, {},
                [](int index, bool) -> Result<std::vector<PairValue>> {
                  return std::vector<PairValue>{{0.2, 0.2 / spread(-0.05, 0.002, index)}};
                });
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->metrics[0].status, GateStatus::fail);
  const GateLine line = report_of(*outcome).lines[0];
  EXPECT_GT(*line.delta, 4.5) << "the time rose";
  EXPECT_LT(line.details["speed_change"]["point"].get<double>(), -0.045) << "the speed fell";
  EXPECT_NEAR(*line.current / *line.baseline, 1 + *line.delta / 100, 1e-9);
}

TEST(PairedGate, LevelsAreThoseOfTheLooks) {
  EXPECT_DOUBLE_EQ(run(one_series(0, 0.005)).metrics[0].evidence.level, 0.004);
  EXPECT_DOUBLE_EQ(run(one_series(0, 0.2)).metrics[0].evidence.level, 0.003);
  PairedOptions once;
  once.looks = single_look(9);
  const PairedOutcome outcome = run(one_series(0, 0.2), once);
  EXPECT_EQ(outcome.pairs, 9);
  EXPECT_DOUBLE_EQ(outcome.metrics[0].evidence.level, 0.01);
}

TEST(PairedGate, TheSignFlipTestCanSaveFromTheT) {
  // Six pairs slower beyond doubt for t, but 2^-6 is above 1 %: no number of standard errors helps.
  PairedOptions options;
  options.looks = single_look(6);
  const PairedOutcome outcome = run(one_series(-0.05, 0.001), options);
  const PairedEvidence& evidence = outcome.metrics[0].evidence;
  EXPECT_LT(evidence.p_t, 1e-6);
  EXPECT_DOUBLE_EQ(evidence.p_sign_flip, 1.0 / 64);
  EXPECT_EQ(outcome.metrics[0].status, GateStatus::inconclusive);
  EXPECT_NE(report_of(outcome).lines[0].reason.find("7 are the fewest"), std::string::npos);
  EXPECT_EQ(fewest_pairs(0.01, 1), 7);
  EXPECT_EQ(fewest_pairs(0.004, 1), 8);
  EXPECT_EQ(fewest_pairs(0.004, 2), 9);
  EXPECT_EQ(fewest_pairs(1.0 / 256, 1), 8);
}

TEST(PairedGate, AnAlarmThatIsNotConfirmedFailsNobody) {
  PairedOptions options;
  options.looks = single_look(8);
  const TakePair take = [](int index, bool confirming) -> Result<std::vector<PairValue>> {
    return std::vector<PairValue>{{100, 100 * spread(confirming ? 0 : -0.05, 0.005, index)}};
  };
  const PairedOutcome outcome = run(take, options);
  ASSERT_EQ(outcome.metrics[0].confirmations.size(), 1U);
  EXPECT_FALSE(outcome.metrics[0].confirmations[0].confirmed);
  EXPECT_GT(outcome.metrics[0].confirmations[0].p, 0.05);
  EXPECT_EQ(outcome.metrics[0].status, GateStatus::inconclusive);
  const GateReport report = report_of(outcome);
  EXPECT_EQ(report.status, GateStatus::inconclusive);
  EXPECT_NE(report.lines[0].reason.find("was not confirmed by 8 fresh ones"), std::string::npos);
}

TEST(PairedGate, ConfirmingPairsAreNotPooled) {
  const TakePair take = [](int index, bool confirming) -> Result<std::vector<PairValue>> {
    return std::vector<PairValue>{{100, 100 * spread(confirming ? -0.5 : -0.05, 0.002, index)}};
  };
  const PairedOutcome outcome = run(take);
  EXPECT_EQ(outcome.metrics[0].status, GateStatus::fail);
  EXPECT_EQ(outcome.metrics[0].evidence.pairs, 8);
  EXPECT_NEAR(outcome.metrics[0].evidence.estimate, -0.05, 0.002);
  EXPECT_NEAR(outcome.metrics[0].confirmations[0].estimate, -0.5, 0.002);
  EXPECT_EQ(outcome.metrics[0].a.size(), 8U);
  EXPECT_EQ(outcome.metrics[0].confirm_a.size(), 8U);
  EXPECT_EQ(pairs_json(outcome)["speed"]["confirm_b"].size(), 8U);
}

TEST(PairedGate, AfterAClearedAlarmTheLooksGoOn) {
  // The first eight pairs lie; everything after them is as before.
  const TakePair take = [](int index, bool) -> Result<std::vector<PairValue>> {
    return std::vector<PairValue>{{100, 100 * spread(index < 8 ? -0.03 : 0.003, 0.004, index)}};
  };
  const PairedOutcome outcome = run(take);
  EXPECT_EQ(outcome.pairs, 16) << report_of(outcome).lines[0].reason;
  EXPECT_EQ(outcome.metrics[0].status, GateStatus::pass) << report_of(outcome).lines[0].reason;
  ASSERT_EQ(outcome.metrics[0].confirmations.size(), 1U);
  EXPECT_EQ(outcome.metrics[0].confirmations[0].after_pairs, 8);
}

TEST(PairedGate, HolmAsksMoreOfAFamily) {
  // One metric of two, 8 pairs all slower: 2^-8 = 0.0039 is under 0.004, twice that is not.
  const TakePair take = [](int index, bool) -> Result<std::vector<PairValue>> {
    return std::vector<PairValue>{{100, 100 * spread(-0.05, 0.002, index)},
                                  {100, 100 * spread(0, 0.002, index)}};
  };
  const auto outcome = run_pairs({speed("one"), speed("two")}, {}, take);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->metrics[0].status, GateStatus::fail);
  EXPECT_EQ(outcome->metrics[0].evidence.pairs, 16);
  EXPECT_DOUBLE_EQ(outcome->metrics[0].evidence.p_holm, 2 * std::ldexp(1, -16));
  EXPECT_EQ(outcome->metrics[1].status, GateStatus::pass);
  EXPECT_EQ(outcome->metrics[1].evidence.pairs, 8) << "decided at the first look";
  EXPECT_EQ(report_of(*outcome).status, GateStatus::fail);
}

TEST(PairedGate, WhatDoesNotBlockOnlyWarns) {
  PairedMetric beside = speed("beside");
  beside.blocking = false;
  const TakePair take = [](int index, bool) -> Result<std::vector<PairValue>> {
    return std::vector<PairValue>{{100, 100 * spread(0, 0.002, index)},
                                  {100, 100 * spread(-0.05, 0.002, index)}};
  };
  const auto outcome = run_pairs({speed(), beside}, {}, take);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->metrics[1].status, GateStatus::warn);
  EXPECT_EQ(outcome->confirm_pairs, 0);
  EXPECT_EQ(report_of(*outcome).status, GateStatus::warn);
}

TEST(PairedGate, EachMetricMayHaveItsOwnTau) {
  PairedMetric wide = speed("wide");
  wide.tau = 0.1;
  const TakePair take = [](int index, bool) -> Result<std::vector<PairValue>> {
    return std::vector<PairValue>{{100, 100 * spread(-0.05, 0.002, index)}};
  };
  const auto outcome = run_pairs({wide}, {}, take);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->metrics[0].status, GateStatus::pass);
  EXPECT_EQ(report_of(*outcome).lines[0].threshold, "no loss of 10.0 % in speed");
}

TEST(PairedGate, BlindnessIsSaidWithThePairsNeeded) {
  const PairedOutcome outcome = run(one_series(0, 0.2));
  const GateLine line = report_of(outcome).lines[0];
  EXPECT_NE(line.reason.find("cannot detect changes under"), std::string::npos) << line.reason;
  EXPECT_GT(line.details["needed_pairs"].get<int>(), 32);
  EXPECT_GT(line.details["mde"].get<double>(), 0.03);
  const GateLine quiet = report_of(run(one_series(0, 0.002))).lines[0];
  EXPECT_LT(quiet.details["mde"].get<double>(), 0.01);
  EXPECT_EQ(quiet.details["needed_pairs"].get<int>(), 7) << "the sign-flip test's own minimum";
}

TEST(PairedGate, ValuesThatHaveNoRatioAreRefused) {
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    const auto outcome =
        run_pairs({speed()}, {}, [&](int index, bool) -> Result<std::vector<PairValue>> {
          return std::vector<PairValue>{{100, index == 3 ? bad : 100}};
        });
    ASSERT_FALSE(outcome) << bad;
    EXPECT_EQ(outcome.error().code, Errc::measurement);
    EXPECT_NE(outcome.error().message.find("speed of B"), std::string::npos);
  }
}

TEST(PairedGate, AnErrorOfAPairEndsIt) {
  int taken = 0;
  const auto outcome = run_pairs({speed()}, {}, [&](int, bool) -> Result<std::vector<PairValue>> {
    if (++taken == 3) return Error{Errc::timeout, "late"};
    return std::vector<PairValue>{{1, 1}};
  });
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::timeout);
  EXPECT_EQ(taken, 3);
}

TEST(PairedGate, OptionsOutOfRangeAreNamed) {
  const std::vector<std::pair<std::string, std::function<void(PairedOptions&)>>> bad = {
      {"tau", [](PairedOptions& o) { o.tau = 0; }},
      {"tau", [](PairedOptions& o) { o.tau = 1; }},
      {"floor", [](PairedOptions& o) { o.floor = -0.1; }},
      {"alpha", [](PairedOptions& o) { o.alpha = 0.5; }},
      {"alpha", [](PairedOptions& o) { o.alpha = std::nan(""); }},
      {"power", [](PairedOptions& o) { o.power = 1; }},
      {"confirm", [](PairedOptions& o) { o.confirm_pairs = 1; }},
      {"1 pairs", [](PairedOptions& o) { o.looks = single_look(1); }},
      {"pairs",
       [](PairedOptions& o) {
         o.looks = {{8, 0.5}, {8, 0.5}};
       }},
      {"alpha",
       [](PairedOptions& o) {
         o.looks = {{8, 0.5}, {16, 0.4}};
       }},
      {"look", [](PairedOptions& o) { o.looks.clear(); }},
  };
  for (const auto& [word, change] : bad) {
    PairedOptions options;
    change(options);
    const Status status = check_options(options);
    ASSERT_FALSE(status) << word;
    EXPECT_EQ(status.error().code, Errc::usage);
    EXPECT_NE(status.error().message.find(word), std::string::npos) << status.error().message;
  }
}

TEST(PairedGate, AReportSurvivesJson) {
  const GateReport report = report_of(run(one_series(-0.05, 0.005)));
  const auto back = gate_report_from_json(to_json(report));
  ASSERT_TRUE(back);
  EXPECT_EQ(to_json(*back), to_json(report));
  EXPECT_EQ(report.summary, "FAIL after 8 pairs and 8 to confirm");
}

}  // namespace
}  // namespace sluice::gate::paired_gate_test
