// tests/gate/fence_test.cpp - the prediction fence: by hand, and its error rates by simulation.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/baseline/fence.h"

#include "sluice/core/rng.h"

#include <gmock/gmock.h>

#include <cmath>

namespace sluice::gate::fence_test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kFigure = "tokens_per_sec_p50";

Visit visit_at(double log_speed, std::optional<double> log_canary) {
  Visit visit;
  visit.figures[kFigure] = std::exp(log_speed);
  if (log_canary) visit.canary = CanarySpeed{"canary-v1", {{"gemm", std::exp(*log_canary)}}};
  return visit;
}

/// Visits whose machine differs by `session` and whose runs differ by `run` (standard deviations of
/// logarithms); the canary sees the machine, and noise of its own.
struct Machine {
  Rng rng;
  double session, run;
  Visit next(double change = 0) {
    const double machine = session * rng.normal();
    return visit_at(9 + machine + run * rng.normal() + change, 4 + machine + run * rng.normal());
  }
};

std::vector<Visit> history_of(Machine& machine, int visits) {
  std::vector<Visit> history;
  for (int i = 0; i < visits; ++i)
    history.push_back(machine.next());
  return history;
}

TEST(Fence, SaysHowManyVisitsAreMissing) {
  Machine machine{Rng(RngKey{.seed = 1}), 0.02, 0.005};
  const GateLine line = fence_line(history_of(machine, 19), machine.next(), kFigure, -1);
  EXPECT_EQ(line.status, GateStatus::skip);
  EXPECT_EQ(line.reason, "19 of 20 runs stored: no fence yet");
  EXPECT_EQ(line.metric, "fence/tokens_per_sec_p50");
  EXPECT_EQ(fence_line(history_of(machine, 20), machine.next(), kFigure, -1).status,
            GateStatus::pass);
  EXPECT_EQ(fence_line({}, Visit{}, kFigure, -1).status, GateStatus::skip);
}

TEST(Fence, ByHandWithoutACanary) {
  std::vector<Visit> history;
  for (int i = 0; i < 20; ++i)
    history.push_back(visit_at(i % 2 == 0 ? 5.01 : 4.99, std::nullopt));
  const Fence fence = *make_fence(history, kFigure, std::nullopt);
  EXPECT_EQ(fence.visits, 20U);
  EXPECT_EQ(fence.beta, 0);
  EXPECT_NEAR(fence.centre, 5, 1e-12);
  EXPECT_NEAR(fence.spread, 1.4826 * 0.01, 1e-6);
  EXPECT_NEAR(fence.half_width, 2.539483 * 0.014826 * std::sqrt(1.05), 1e-5);  // t(0.99, 19)
  EXPECT_EQ(fence.narrowed, 0);
  EXPECT_EQ(fence_line(history, visit_at(4.97, std::nullopt), kFigure, -1).status,
            GateStatus::pass);
  EXPECT_EQ(fence_line(history, visit_at(4.95, std::nullopt), kFigure, -1).status,
            GateStatus::fail);
  EXPECT_EQ(fence_line(history, visit_at(5.5, std::nullopt), kFigure, -1).status, GateStatus::pass);
  EXPECT_EQ(fence_line(history, visit_at(5.5, std::nullopt), kFigure, 1).status, GateStatus::fail);
}

TEST(Fence, AFloorKeepsTinyChangesFromCounting) {
  std::vector<Visit> history(30, visit_at(5, std::nullopt));
  EXPECT_EQ(fence_line(history, visit_at(4.995, std::nullopt), kFigure, -1).status,
            GateStatus::pass);
  EXPECT_EQ(fence_line(history, visit_at(4.98, std::nullopt), kFigure, -1).status,
            GateStatus::fail);
}

TEST(Fence, TheCanaryTakesTheMachineOut) {
  Machine machine{Rng(RngKey{.seed = 2}), 0.05, 0.002};
  const std::vector<Visit> history = history_of(machine, 40);
  const Fence fence = *make_fence(history, kFigure, "canary-v1");
  EXPECT_GT(fence.beta, 0.9);
  EXPECT_LE(fence.beta, 1);
  EXPECT_GT(fence.narrowed, 0.7);
  // 10 % slower, but so is the canary: the machine. With a canary as usual: the code.
  EXPECT_EQ(fence_line(history, visit_at(8.9, 3.9), kFigure, -1).status, GateStatus::pass);
  const GateLine slow = fence_line(history, visit_at(8.9, 4), kFigure, -1);
  EXPECT_EQ(slow.status, GateStatus::fail);
  EXPECT_THAT(slow.details["note"].get<std::string>(), HasSubstr("narrowed it by"));
}

TEST(Fence, BetaIsZeroBelowTenCanariesAndNeverLeavesZeroToOne) {
  Machine machine{Rng(RngKey{.seed = 3}), 0.05, 0.002};
  std::vector<Visit> history = history_of(machine, 30);
  for (std::size_t i = 9; i < history.size(); ++i)
    history[i].canary.reset();
  EXPECT_EQ(make_fence(history, kFigure, "canary-v1")->beta, 0);
  EXPECT_EQ(make_fence(history_of(machine, 30), kFigure, "canary-v2")->beta, 0);
  std::vector<Visit> steep;
  std::vector<Visit> against;
  for (int i = 0; i < 20; ++i) {
    steep.push_back(visit_at(0.05 * i, 0.01 * i));
    against.push_back(visit_at(0.05 * i, -0.05 * i));
  }
  EXPECT_EQ(make_fence(steep, kFigure, "canary-v1")->beta, 1);
  EXPECT_EQ(make_fence(against, kFigure, "canary-v1")->beta, 0);
}

/// Share of visits beyond the fence of 20 others.
double alarms(double change, bool with_canary, std::uint64_t seed) {
  constexpr int kTrials = 2000;
  Machine machine{Rng(RngKey{.seed = seed}), 0.015, 0.005};
  int count = 0;
  for (int i = 0; i < kTrials; ++i) {
    std::vector<Visit> history = history_of(machine, 20);
    Visit visit = machine.next(change);
    if (!with_canary) {
      visit.canary.reset();
      for (Visit& one : history)
        one.canary.reset();
    }
    if (fence_line(history, visit, kFigure, -1).status == GateStatus::fail) ++count;
  }
  return static_cast<double>(count) / kTrials;
}

TEST(Fence, ErrorRatesBySimulation) {
  EXPECT_LT(alarms(0, false, 4), 0.03);
  EXPECT_LT(alarms(0, true, 5), 0.03);
  const double plain = alarms(-0.03, false, 6);
  const double normalised = alarms(-0.03, true, 7);
  EXPECT_GT(normalised, 0.7);
  EXPECT_GT(normalised, plain + 0.2);
}

}  // namespace
}  // namespace sluice::gate::fence_test
