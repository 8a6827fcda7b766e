// sluice/gate/pairs/paired_simulation.cpp - the noise model, the usual designs and ours over it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/pairs/paired_simulation.h"

#include "sluice/core/rng.h"
#include "sluice/gate/pairs/paired_gate.h"
#include "sluice/stats/power.h"
#include "sluice/stats/rank.h"
#include "sluice/stats/summary.h"
#include "sluice/stats/t_test.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>

namespace sluice::gate {
namespace {

constexpr double kTestLevel = 0.01;  // of the designs that test; ours has its own

struct Trial {
  bool alarm = false;
  int runs = 0;
};

using Design =
    std::function<Result<Trial>(const SimulationOptions& options, Rng& rng, double log_change)>;

double mean_speed(NoisySession& session, int runs, double log_change) {
  double sum = 0;
  for (int i = 0; i < runs; ++i)
    sum += session.run_speed(log_change);
  return sum / runs;
}

Design stored_number(double threshold) {
  return
      [threshold](const SimulationOptions& options, Rng& rng, double log_change) -> Result<Trial> {
        constexpr int kRuns = 3;
        NoisySession before(options.noise, rng);
        const double stored = mean_speed(before, kRuns, 0);
        NoisySession now(options.noise, rng);
        const double current = mean_speed(now, kRuns, log_change);
        return Trial{current - stored < std::log1p(-threshold), kRuns};
      };
}

enum class Sequential { welch_iterations, rank_iterations, rank_medians };

/// A eight times, then B eight times, as most people do it.
Design one_after_the_other(Sequential test) {
  return [test](const SimulationOptions& options, Rng& rng, double log_change) -> Result<Trial> {
    constexpr int kRuns = 8;
    NoisySession session(options.noise, rng);
    std::array<std::vector<double>, 2> sides;  // A, B
    for (std::size_t side = 0; side < 2; ++side) {
      for (int i = 0; i < kRuns; ++i) {
        const auto& run = session.run(side == 0 ? 0 : log_change);
        if (test == Sequential::rank_medians) {
          SLUICE_TRY(const double median, stats::median(run));
          sides[side].push_back(median);
        } else {
          sides[side].insert(sides[side].end(), run.begin(), run.end());
        }
      }
    }
    double p = 1;
    if (test == Sequential::welch_iterations) {
      SLUICE_TRY(const auto t,
                 stats::welch_t(sides[1], sides[0], {stats::Alternative::less, 0.95}));
      p = t.p;
    } else {
      SLUICE_TRY(const auto u, stats::mann_whitney(sides[1], sides[0], stats::Alternative::less));
      p = u.p;
    }
    return Trial{p <= kTestLevel, 2 * kRuns};
  };
}

/// A B B A: drift within the block cancels.
double balanced_difference(NoisySession& session, double log_change) {
  const double a1 = session.run_speed(0);
  const double b1 = session.run_speed(log_change);
  const double b2 = session.run_speed(log_change);
  const double a2 = session.run_speed(0);
  return (b1 + b2 - a1 - a2) / 2;
}

Design blocks(int count, bool abba) {
  return [count, abba](const SimulationOptions& options, Rng& rng,
                       double log_change) -> Result<Trial> {
    NoisySession session(options.noise, rng);
    std::vector<double> differences;
    for (int i = 0; i < count; ++i)
      differences.push_back(abba ? balanced_difference(session, log_change)
                                 : session.pair(log_change));
    SLUICE_TRY(const auto t, stats::one_sample_t(differences, {stats::Alternative::less, 0.95}));
    const bool large = t.difference <= std::log1p(-options.gate.floor);
    return Trial{t.p <= kTestLevel && large, (abba ? 4 : 2) * count};
  };
}

Result<Trial> configured_gate(const SimulationOptions& options, Rng& rng, double log_change) {
  NoisySession session(options.noise, rng);
  const TakePair take = [&](int, bool) -> Result<std::vector<PairValue>> {
    return std::vector<PairValue>{{1, std::exp(session.pair(log_change))}};
  };
  const std::vector<PairedMetric> metrics = {
      {.name = "speed", .unit = {}, .better = measure::Better::higher}};
  SLUICE_TRY(const PairedOutcome outcome, run_pairs(metrics, options.gate, take));
  return Trial{outcome.metrics[0].status == GateStatus::fail,
               2 * (outcome.pairs + outcome.confirm_pairs)};
}

struct Named {
  std::string name;
  Design design;
  bool ours = false;
};

std::vector<Named> designs() {
  return {{"a stored number, 5 % threshold", stored_number(0.05)},
          {"a stored number, 2 % threshold", stored_number(0.02)},
          {"A..A then B..B, Welch's t on iterations",
           one_after_the_other(Sequential::welch_iterations)},
          {"A..A then B..B, Mann-Whitney on iterations",
           one_after_the_other(Sequential::rank_iterations)},
          {"A..A then B..B, Mann-Whitney on run medians",
           one_after_the_other(Sequential::rank_medians)},
          {"4 blocks A B B A, paired t and floor", blocks(4, true)},
          {"8 pairs in random order, paired t and floor", blocks(8, false)},
          {"the paired gate as configured", configured_gate, true}};
}

/// Trials of one design at one slowdown; each has its own stream, so none depends on another.
Result<Share> count_alarms(const Design& design, std::size_t index, std::size_t condition,
                           double log_change, const SimulationOptions& options, double& runs) {
  Share share;
  std::int64_t total_runs = 0;
  for (int trial = 0; trial < options.trials; ++trial) {
    Rng rng(RngKey{.seed = options.seed,
                   .epoch = condition,
                   .index = static_cast<std::uint64_t>(trial),
                   .stage = static_cast<std::uint32_t>(index)});
    SLUICE_TRY(const Trial one, design(options, rng, log_change));
    ++share.trials;
    share.count += one.alarm ? 1 : 0;
    total_runs += one.runs;
  }
  runs = static_cast<double>(total_runs) / options.trials;
  return share;
}

}  // namespace

Result<std::vector<SimulatedDesign>> simulate_gates(const SimulationOptions& options) {
  SLUICE_CHECK(check_options(options.gate));
  if (options.trials < 1 || options.noise.iterations < 2)
    return Error{Errc::usage, "simulation: expected at least 1 trial and 2 iterations"};
  std::vector<SimulatedDesign> table;
  const std::vector<Named> all = designs();
  for (std::size_t i = 0; i < all.size(); ++i) {
    SimulatedDesign row;
    row.name = all[i].name;
    row.ours = all[i].ours;
    SLUICE_TRY(row.false_alarms, count_alarms(all[i].design, i, 0, 0, options, row.runs));
    for (std::size_t s = 0; s < options.slowdowns.size(); ++s) {
      double ignored = 0;
      SLUICE_TRY(const Share found,
                 count_alarms(all[i].design, i, s + 1, std::log1p(-options.slowdowns[s]), options,
                              ignored));
      row.found.push_back(found);
    }
    table.push_back(std::move(row));
  }
  return table;
}

Json to_json(const Share& share) {
  Json out{{"count", share.count},
           {"trials", share.trials},
           {"share", nullptr},
           {"low", nullptr},
           {"high", nullptr}};
  if (const auto interval = stats::wilson(share.count, share.trials)) {
    out["share"] = interval->point;
    out["low"] = interval->low;
    out["high"] = interval->high;
  }
  return out;
}

}  // namespace sluice::gate
