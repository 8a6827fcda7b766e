// sluice/gate/bisect/simulation.cpp - scripted histories, searched.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/bisect/simulation.h"

#include "sluice/core/rng.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace sluice::gate {
namespace {

struct Searched {
  BisectState state;
  std::map<std::size_t, std::vector<double>> ratios;  // of every revision that was measured

  [[nodiscard]] std::vector<double> ratios_of(std::size_t revision) const {
    const auto found = ratios.find(revision);
    return found == ratios.end() ? std::vector<double>{} : found->second;
  }
};

/// One history of which commit `guilty` on is slower; broken commits are drawn, BAD never.
Result<Searched> search_once(const BisectSimulationOptions& options, std::size_t guilty,
                             double log_change, Rng& rng) {
  std::vector<bool> broken(options.commits + 1, false);
  for (std::size_t i = 1; i < options.commits; ++i)
    broken[i] = rng.uniform() < options.broken_share;
  BisectOptions search = options.search;
  search.seed = rng.next_u64();
  Searched done;
  SLUICE_TRY(done.state, begin_bisect(options.commits, search));
  NoisySession session(options.noise, rng);
  while (const BisectProbe* asked = done.state.asked()) {
    if (broken[asked->revision]) {
      SLUICE_CHECK(pass_over(done.state, "does not build"));
      continue;
    }
    std::vector<double>& ratios = done.ratios[asked->revision];
    while (static_cast<int>(ratios.size()) < done.state.wanted_pairs())
      ratios.push_back(session.pair(asked->revision >= guilty ? log_change : 0));
    SLUICE_CHECK(answer(done.state, ratios));
  }
  return done;
}

void count(SimulatedBisect& sum, const BisectState& state, std::size_t guilty, bool slower) {
  for (Share* share : {&sum.right, &sum.wrong, &sum.in_range, &sum.no_verdict})
    ++share->trials;
  if (state.end == BisectEnd::not_slower || state.end == BisectEnd::not_shown) {
    ++sum.no_verdict.count;
    return;
  }
  const bool inside = slower && guilty > state.good && guilty <= state.bad;
  if (!inside) {
    ++sum.wrong.count;
  } else if (state.end == BisectEnd::found) {
    ++sum.right.count;
  } else {
    ++sum.in_range.count;
  }
}

/// Whether the interval that is printed with a commit or a range holds the change that was put
/// there.
void count_interval(Share& holds, const Searched& done, std::size_t guilty, double log_change) {
  const BisectState& state = done.state;
  if (state.end != BisectEnd::found && state.end != BisectEnd::range) return;
  const auto change = change_between(state, done.ratios_of(state.good), done.ratios_of(state.bad));
  if (!change) return;
  const double truth = guilty > state.good && guilty <= state.bad ? log_change : 0;
  ++holds.trials;
  if (change->low <= truth && truth <= change->high) ++holds.count;
}

}  // namespace

Result<std::vector<SimulatedBisect>> simulate_bisect(const BisectSimulationOptions& options) {
  if (options.trials < 1 || options.noise.iterations < 2 || options.commits < 1)
    return Error{Errc::usage, "simulation: expected at least 1 trial, 1 commit and 2 iterations"};
  std::vector<double> slowdowns{0};
  slowdowns.insert(slowdowns.end(), options.slowdowns.begin(), options.slowdowns.end());
  std::vector<SimulatedBisect> table;
  for (std::size_t condition = 0; condition < slowdowns.size(); ++condition) {
    SimulatedBisect sum;
    sum.slowdown = slowdowns[condition];
    for (int trial = 0; trial < options.trials; ++trial) {
      Rng rng(RngKey{
          .seed = options.seed, .epoch = condition, .index = static_cast<std::uint64_t>(trial)});
      const std::size_t guilty = 1 + static_cast<std::size_t>(rng.below(options.commits));
      const double log_change = std::log1p(-sum.slowdown);
      SLUICE_TRY(const Searched done, search_once(options, guilty, log_change, rng));
      count(sum, done.state, guilty, sum.slowdown > 0);
      count_interval(sum.interval_holds, done, guilty, log_change);
      const int probes = static_cast<int>(done.ratios.size());
      sum.probes += static_cast<double>(probes) / options.trials;
      sum.most_probes = std::max(sum.most_probes, probes);
      for (const auto& [revision, ratios] : done.ratios)
        sum.pairs += static_cast<double>(ratios.size()) / options.trials;
    }
    table.push_back(sum);
  }
  return table;
}

Json to_json(const SimulatedBisect& one) {
  return {{"slowdown", one.slowdown},
          {"right", to_json(one.right)},
          {"wrong", to_json(one.wrong)},
          {"range_with_it", to_json(one.in_range)},
          {"bad_not_shown_slower", to_json(one.no_verdict)},
          {"interval_holds", to_json(one.interval_holds)},
          {"mean_probes", one.probes},
          {"most_probes", one.most_probes},
          {"mean_pairs", one.pairs}};
}

}  // namespace sluice::gate
